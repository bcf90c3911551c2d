#include "core/sweep/spec_reader.h"

#include <algorithm>

#include "core/check.h"
#include "core/selector.h"
#include "core/sweep/levels.h"
#include "core/sweep/units.h"

namespace normlab {

namespace {

constexpr std::string_view kSeedKeys[] = {"seed", "seed.init", "seed.data"};

bool IsSeed(std::string_view key) {
  return std::find(std::begin(kSeedKeys), std::end(kSeedKeys), key) != std::end(kSeedKeys);
}

// "norm" when there are knobs such as norm.placement.
bool IsGroup(std::string_view name) {
  const std::string prefix = Cat(name, ".");
  return std::any_of(Knobs().begin(), Knobs().end(),
                     [&prefix](const Knob& knob) { return knob.key.starts_with(prefix); });
}

}  // namespace

void SpecReader::Read(const SourceNode& document) {
  if (!document.IsMap()) {
    sink_.Add(document.position, "found ", document.Describe(),
              "; a sweep file is a map with name, base, factors …");
    return;
  }
  for (const auto& [key, value] : document.members) spec_.positions[key.text] = key.position;
  ReadFields(document, "a sweep file",
             {{"name", [this](const SourceNode& n) { ReadName(n); }},
              {"base",
               [this](const SourceNode& n) {
                 const size_t before = sink_.count();
                 ReadBase(n, "");
                 base_sound_ = sink_.count() == before;
               }},
              {"factors",
               [this](const SourceNode& n) {
                 const size_t before = sink_.count();
                 ReadFactors(n, "");
                 factors_sound_ = sink_.count() == before;
               }},
              {"zip", [this](const SourceNode& n) { ReadZip(n); }},
              {"exclude", [this](const SourceNode& n) { ReadExclude(n); }},
              {"replicates", [this](const SourceNode& n) { ReadReplicates(n); }},
              {"baseline", [this](const SourceNode& n) { ReadSetting(n, "", spec_.baseline); }},
              {"stop", [this](const SourceNode& n) { ReadStop(n); }},
              {"primary", [this](const SourceNode& n) { ReadPrimary(n); }},
              {"budget", [this](const SourceNode& n) { ReadBudget(n); }},
              {"resources", [this](const SourceNode& n) { ReadResources(n); }}});
}

void SpecReader::ReadFields(const SourceNode& node, std::string_view part, const Fields& fields) {
  if (!ExpectMap(node, part)) return;
  std::vector<std::string_view> names;
  for (const auto& [name, field] : fields) names.push_back(name);
  for (const auto& [key, value] : node.members) {
    const auto field = fields.find(key.text);
    if (field != fields.end()) {
      field->second(value);
      continue;
    }
    const std::string_view nearest = NearestName(key.text, names);
    const std::string_view knob = NearestKnob(key.text);
    if (!nearest.empty()) {
      sink_.Add(key.position, "'", key.text, "' is no part of ", part, "; did you mean '", nearest,
                "'?");
    } else if (!knob.empty() && part == "a sweep file") {
      sink_.Add(key.position, "'", key.text, "' is no part of ", part, "; the knob '", knob,
                "' belongs under base or factors");
    } else {
      sink_.Add(key.position, "'", key.text, "' is no part of ", part, ": ", Join(names, ", "));
    }
  }
}

bool SpecReader::ExpectMap(const SourceNode& node, std::string_view part) {
  if (node.IsMap()) return true;
  sink_.Add(node.position, "found ", node.Describe(), "; ", part, " should be a map");
  return false;
}

bool SpecReader::ExpectList(const SourceNode& node, std::string_view part) {
  if (node.IsList()) return true;
  sink_.Add(node.position, "found ", node.Describe(), "; ", part, " should be a list");
  return false;
}

const Knob* SpecReader::FindKnobAt(const SourceNode& key, const std::string& name) {
  const Knob* const knob = FindKnob(name);
  if (knob != nullptr) return knob;
  const std::string_view nearest = NearestKnob(name);
  if (nearest.empty()) {
    sink_.Add(key.position, "'", name, "' is no knob; `normlab config` lists them");
  } else {
    sink_.Add(key.position, "'", name, "' is no knob; did you mean '", nearest, "'?");
  }
  return nullptr;
}

void SpecReader::ReadName(const SourceNode& node) {
  if (node.IsScalar() && IsSweepName(node.text)) {
    spec_.name = node.text;
    return;
  }
  sink_.Add(node.position, "found ", node.Describe(),
            " as a name; should be letters, digits, '-', '_' or '.', and not look like an id");
}

void SpecReader::ReadBase(const SourceNode& node, const std::string& prefix) {
  if (!ExpectMap(node, prefix.empty() ? "base" : prefix.substr(0, prefix.size() - 1))) return;
  for (const auto& [key, value] : node.members) {
    const std::string name = prefix + key.text;
    if (value.IsMap() && IsGroup(name)) {
      ReadBase(value, name + ".");
      continue;
    }
    const Knob* const knob = FindKnobAt(key, name);
    if (knob == nullptr) continue;
    const auto read = ReadValue(*knob, value, sink_);
    if (!read) continue;
    if (spec_.base.IsSet(name)) sink_.Add(key.position, "'", name, "' is given twice");
    CHECK_OK(spec_.base.Set(name, *read));
    spec_.positions[name] = key.position;
  }
}

void SpecReader::ReadFactors(const SourceNode& node, const std::string& prefix) {
  // A list of maps keeps the order where a map has none (JSON).
  if (node.IsList() && prefix.empty()) {
    for (const SourceNode& item : node.items) ReadFactors(item, prefix);
    return;
  }
  if (!ExpectMap(node, "factors")) return;
  for (const auto& [key, value] : node.members) {
    const std::string name = prefix + key.text;
    if (value.IsMap() && FindKnob(name) == nullptr && IsGroup(name)) {
      ReadFactors(value, name + ".");
    } else {
      ReadFactor(key, name, value);
    }
  }
}

void SpecReader::ReadFactor(const SourceNode& key, const std::string& name,
                            const SourceNode& node) {
  const Knob* const knob = FindKnobAt(key, name);
  if (knob == nullptr) return;
  if (IsSeed(name)) {
    sink_.Add(key.position, "'", name, "' is no factor; seeds are replicates: {seed: [1, 2, 3]}");
    return;
  }
  if (knob->affects == Affects::kObservation || knob->affects == Affects::kOperation) {
    sink_.Add(key.position, "'", name, "' does not change a run's result (it affects ",
              ToString(knob->affects), "), so it is no factor; set it in base");
    return;
  }
  if (spec_.FindFactor(name) != nullptr) {
    sink_.Add(key.position, "'", name, "' is given twice");
    return;
  }
  Factor factor{name, ReadLevels(*knob, node, sink_), key.position};
  spec_.factors.push_back(std::move(factor));
}

void SpecReader::ReadZip(const SourceNode& node) {
  if (!ExpectList(node, "zip")) return;
  for (const SourceNode& group : node.items) {
    if (!group.IsList() || group.items.size() < 2) {
      sink_.Add(group.position, "found ", group.Describe(),
                "; a zip is a list of two factors or more that move together");
      continue;
    }
    std::vector<std::string> keys;
    for (const SourceNode& item : group.items) {
      if (item.IsScalar()) {
        keys.push_back(item.text);
      } else {
        sink_.Add(item.position, "found ", item.Describe(), "; should be a factor's name");
      }
    }
    spec_.zip.push_back(std::move(keys));
  }
}

void SpecReader::ReadExclude(const SourceNode& node) {
  if (!ExpectList(node, "exclude")) return;
  for (const SourceNode& item : node.items) {
    Setting setting;
    ReadSetting(item, "", setting);
    if (!setting.values.empty()) spec_.exclude.push_back(std::move(setting));
  }
}

void SpecReader::ReadSetting(const SourceNode& node, const std::string& prefix, Setting& setting) {
  if (!ExpectMap(node, prefix.empty() ? "this" : prefix)) return;
  if (prefix.empty()) setting.position = node.position;
  for (const auto& [key, value] : node.members) {
    const std::string name = prefix + key.text;
    if (value.IsMap() && IsGroup(name)) {
      ReadSetting(value, name + ".", setting);
      continue;
    }
    const Knob* const knob = FindKnobAt(key, name);
    if (knob == nullptr) continue;
    if (const auto read = ReadValue(*knob, value, sink_)) setting.values.emplace_back(name, *read);
  }
}

void SpecReader::ReadReplicates(const SourceNode& node) {
  if (!ExpectMap(node, "replicates")) return;
  if (node.members.size() != 1) {
    sink_.Add(node.position, "replicates should have one entry, such as {seed: [1, 2, 3]}");
    return;
  }
  const auto& [key, value] = node.members[0];
  if (!IsSeed(key.text)) {
    sink_.Add(key.position, "found '", key.text,
              "'; replicates are over seed, seed.init or seed.data");
    return;
  }
  if (value.IsScalar()) {
    sink_.Add(value.position, key.text, ": found '", value.text,
              "'; should be a list of seeds, such as [1, 2, 3]");
    return;
  }
  spec_.replicate_key = key.text;
  const std::vector<KnobValue> seeds = ReadLevels(*FindKnob(key.text), value, sink_);
  if (seeds.empty()) return;
  spec_.seeds.clear();
  for (const KnobValue& seed : seeds) spec_.seeds.push_back(std::get<int64_t>(seed));
}

SpecReader::Field SpecReader::Whole(std::string_view name, int64_t& out, int64_t min) {
  return [this, name, &out, min](const SourceNode& node) {
    int64_t value = 0;
    if (node.IsScalar() && ParseInt64(node.text, value) && value >= min) {
      out = value;
    } else {
      sink_.Add(node.position, name, ": found ", node.Describe(),
                "; should be a whole number from ", min);
    }
  };
}

SpecReader::Field SpecReader::Real(std::string_view name, double& out, double min, double max) {
  return [this, name, &out, min, max](const SourceNode& node) {
    double value = 0;
    if (node.IsScalar() && ParseDouble(node.text, value) && value >= min && value <= max) {
      out = value;
    } else {
      sink_.Add(node.position, name, ": found ", node.Describe(), "; should be a number from ", min,
                " to ", max);
    }
  };
}

SpecReader::Field SpecReader::Duration(std::string_view name, double& out) {
  return [this, name, &out](const SourceNode& node) {
    const auto seconds = node.IsScalar() ? ParseDuration(node.text) : std::nullopt;
    if (seconds) {
      out = *seconds;
    } else if (node.IsScalar() && node.text == "unlimited") {
      out = 0;
    } else {
      sink_.Add(node.position, name, ": found ", node.Describe(),
                "; should be a duration such as 30m, 1h30m, 45s, or unlimited");
    }
  };
}

void SpecReader::ReadStop(const SourceNode& node) {
  const auto nonfinite = [this](const SourceNode& value) {
    if (value.IsScalar() && (value.text == "true" || value.text == "false")) {
      spec_.stop.nonfinite = value.text == "true";
    } else {
      sink_.Add(value.position, "stop.nonfinite: found ", value.Describe(),
                "; should be true or false");
    }
  };
  ReadFields(node, "stop",
             {{"nonfinite", nonfinite},
              {"spikes_per_1k", Real("stop.spikes_per_1k", spec_.stop.spikes_per_1k, 0, 1000)},
              {"after_step", Whole("stop.after_step", spec_.stop.after_step, 0)}});
}

void SpecReader::ReadPrimary(const SourceNode& node) {
  static const std::vector<std::string_view>* const metrics = new std::vector<std::string_view>{
      "val_loss", "best_val_loss", "train_loss", "ppl_of_mean", "mean_seq_ppl"};
  spec_.primary.emplace();
  const auto metric = [this](const SourceNode& value) {
    if (std::find(metrics->begin(), metrics->end(), value.text) != metrics->end()) {
      spec_.primary->metric = value.text;
      return;
    }
    sink_.Add(value.position, "primary.metric: found ", value.Describe(), "; should be one of ",
              Join(*metrics, ", "));
  };
  const auto contrast = [this](const SourceNode& value) {
    spec_.primary->contrast = value.text;
    spec_.positions["primary.contrast"] = value.position;
  };
  ReadFields(node, "primary",
             {{"metric", metric},
              {"contrast", contrast},
              {"alpha", Real("primary.alpha", spec_.primary->alpha, 0, 1)}});
}

void SpecReader::ReadBudget(const SourceNode& node) {
  const auto preemptions = [this](const SourceNode& value) {
    if (value.IsScalar() && value.text == "unlimited") {
      spec_.budget.preemptions = -1;
    } else {
      Whole("budget.preemptions", spec_.budget.preemptions, 0)(value);
    }
  };
  ReadFields(node, "budget",
             {{"failures", Whole("budget.failures", spec_.budget.failures, 0)},
              {"preemptions", preemptions},
              {"time", Duration("budget.time", spec_.budget.time_s)},
              {"stall", Duration("budget.stall", spec_.budget.stall_s)}});
}

void SpecReader::ReadResources(const SourceNode& node) {
  const auto memory = [this](const SourceNode& value) {
    const auto bytes = value.IsScalar() ? ParseSize(value.text) : std::nullopt;
    if (bytes) {
      spec_.resources.memory_bytes = *bytes;
    } else {
      sink_.Add(value.position, "resources.memory: found ", value.Describe(),
                "; should be a size such as 2GiB or 512MiB");
    }
  };
  ReadFields(node, "resources",
             {{"gpus", Whole("resources.gpus", spec_.resources.gpus, 0)},
              {"cpus", Whole("resources.cpus", spec_.resources.cpus, 1)},
              {"memory", memory}});
}

}  // namespace normlab
