#include "core/run_config.h"

#include "core/check.h"
#include "core/presets.h"
#include "core/status.h"
#include "core/strings.h"

namespace normlab {

namespace {

const Knob& KnobOf(std::string_view key) {
  const Knob* const knob = FindKnob(key);
  CHECK(knob != nullptr) << "no knob is called " << key;
  return *knob;
}

absl::Status NoSuchKnob(std::string_view key) {
  const std::string_view nearest = NearestKnob(key);
  if (nearest.empty()) return NotFound("'", key, "' is no knob; `normlab config` lists them");
  return NotFound("'", key, "' is no knob; did you mean '", nearest, "'?");
}

template <typename T>
T ValueAs(std::string_view key, const KnobValue& value) {
  const T* const held = std::get_if<T>(&value);
  CHECK(held != nullptr) << key << " is read as another type than it has";
  return *held;
}

// The limit is the whole run, so that every learning rate of the schedule occurs.
void CheckWarmup(const RunConfig& config, std::vector<ConfigError>& errors) {
  if (!config.Applies("train.warmup")) return;
  if (config.Int("train.warmup") > config.Int("train.steps")) {
    errors.push_back({"train.warmup",
                      Cat(config.Int("train.warmup"), " steps of warm-up are more than the ",
                          config.Int("train.steps"), " steps of train.steps"),
                      "train.steps"});
  }
}

void CheckHeads(const RunConfig& config, std::vector<ConfigError>& errors) {
  const int64_t width = config.Int("model.width");
  const int64_t heads = config.Int("model.heads");
  if (width % heads != 0) {
    errors.push_back(
        {"model.heads", Cat(heads, " heads do not divide a width of ", width), "model.width"});
  } else if (config.Text("model.positions") == "rotary" && (width / heads) % 2 != 0) {
    errors.push_back({"model.positions",
                      Cat("rotary positions need an even head width, not ", width, "/", heads,
                          " = ", width / heads),
                      "model.width"});
  }
}

}  // namespace

absl::Status RunConfig::Set(std::string_view key, const KnobValue& value) {
  const Knob* const knob = FindKnob(key);
  if (knob == nullptr) return NoSuchKnob(key);
  auto checked = CheckValue(*knob, value);
  if (!checked.ok()) return AddContext(checked.status(), key);
  values_.insert_or_assign(std::string(key), *std::move(checked));
  return absl::OkStatus();
}

absl::Status RunConfig::Parse(std::string_view key, std::string_view text) {
  const Knob* const knob = FindKnob(key);
  if (knob == nullptr) return NoSuchKnob(key);
  auto parsed = ParseValue(*knob, text);
  if (!parsed.ok()) return AddContext(parsed.status(), key);
  values_.insert_or_assign(std::string(key), *std::move(parsed));
  return absl::OkStatus();
}

void RunConfig::Unset(std::string_view key) {
  const auto it = values_.find(key);
  if (it != values_.end()) values_.erase(it);
}

KnobValue RunConfig::Value(std::string_view key) const {
  const Knob& knob = KnobOf(key);
  const auto it = values_.find(key);
  if (it != values_.end()) return it->second;
  return knob.default_of != nullptr ? knob.default_of(*this) : knob.default_value;
}

bool RunConfig::Bool(std::string_view key) const { return ValueAs<bool>(key, Value(key)); }
int64_t RunConfig::Int(std::string_view key) const { return ValueAs<int64_t>(key, Value(key)); }
std::string RunConfig::Text(std::string_view key) const {
  return ValueAs<std::string>(key, Value(key));
}

double RunConfig::Real(std::string_view key) const {
  const KnobValue value = Value(key);
  if (const auto* whole = std::get_if<int64_t>(&value)) return static_cast<double>(*whole);
  return ValueAs<double>(key, value);
}

std::string RunConfig::ValueText(std::string_view key) const {
  return FormatValue(KnobOf(key), Value(key));
}

bool RunConfig::IsSet(std::string_view key) const {
  KnobOf(key);
  return values_.find(key) != values_.end();
}

bool RunConfig::Applies(std::string_view key) const {
  const Knob& knob = KnobOf(key);
  return knob.applies == nullptr || knob.applies(*this);
}

int64_t RunConfig::VocabFor(int64_t dataset_vocab) const {
  const int64_t given = Int("model.vocab");
  if (given != 0) return given;
  if (!FindPreset(Text("model.preset")).padded_vocab) return dataset_vocab;
  constexpr int64_t kMultiple = 128;
  return (dataset_vocab + kMultiple - 1) / kMultiple * kMultiple;
}

std::vector<ConfigError> RunConfig::Validate() const {
  std::vector<ConfigError> errors;
  CheckHeads(*this, errors);
  CheckWarmup(*this, errors);
  if (Int("train.micro_batch") > Int("train.batch")) {
    errors.push_back({"train.micro_batch",
                      Cat(Int("train.micro_batch"), " sequences at once are more than the ",
                          Int("train.batch"), " of train.batch"),
                      "train.batch"});
  }
  return errors;
}

std::string JoinErrors(const std::vector<ConfigError>& errors) {
  std::vector<std::string> lines;
  for (const ConfigError& error : errors) lines.push_back(Cat(error.key, ": ", error.message));
  return Join(lines, "\n");
}

}  // namespace normlab
