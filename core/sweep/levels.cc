#include "core/sweep/levels.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/check.h"

namespace normlab {

namespace {

constexpr int64_t kMaxLevels = 10000;
constexpr std::string_view kForms =
    "should be a list, {log: [lo, hi], n: N}, {linear: [lo, hi], n: N} or {range: [lo, hi, step]}";

// Twelve digits: 0.1 + 2 · 0.1 is 0.3, not 0.30000000000000004.
double Rounded(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof(buffer), "%.12g", value);
  double rounded = value;
  CHECK(ParseDouble(buffer, rounded)) << buffer;
  return rounded;
}

// A generator such as {log: [0.1, 1], n: 3} while it is read.
struct Generator {
  std::string form;  // log, linear or range; empty: none found
  SourcePosition position;
  std::vector<double> numbers;
  std::optional<int64_t> n;
};

std::optional<Generator> ReadGenerator(const Knob& knob, const SourceNode& node, ErrorSink& sink) {
  Generator generator;
  bool sound = true;
  for (const auto& [key, value] : node.members) {
    if (key.text == "n") {
      int64_t n = 0;
      if (!value.IsScalar() || !ParseInt64(value.text, n) || n < 2 || n > kMaxLevels) {
        sink.Add(value.position, knob.key, ": found ", value.Describe(),
                 " for n; should be a whole number from 2 to ", kMaxLevels);
        sound = false;
      }
      generator.n = n;
      continue;
    }
    if (key.text != "log" && key.text != "linear" && key.text != "range") {
      sink.Add(key.position, knob.key, ": found '", key.text, "'; ", kForms);
      return std::nullopt;
    }
    const size_t wanted = key.text == "range" ? 3 : 2;
    generator.form = key.text;
    generator.position = value.position;
    for (const SourceNode& item : value.items) {
      double number = 0;
      if (item.IsScalar() && ParseDouble(item.text, number)) generator.numbers.push_back(number);
    }
    if (value.items.size() != wanted || generator.numbers.size() != wanted) {
      sink.Add(value.position, knob.key, ": ", key.text, " takes ",
               wanted == 3 ? "[lo, hi, step]" : "[lo, hi]", ", numbers all");
      sound = false;
    }
  }
  if (!sound) return std::nullopt;
  return generator;
}

std::vector<double> Spread(const Generator& g) {
  const double lo = g.numbers[0];
  const double hi = g.numbers[1];
  std::vector<double> values;
  if (g.form == "range") {
    const double step = g.numbers[2];
    const auto count = static_cast<int64_t>(std::floor((hi - lo) / step + 1e-9)) + 1;
    for (int64_t i = 0; i < count; ++i) {
      values.push_back(Rounded(lo + step * static_cast<double>(i)));
    }
    return values;
  }
  for (int64_t i = 0; i < *g.n; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(*g.n - 1);
    values.push_back(
        Rounded(g.form == "log" ? lo * std::pow(hi / lo, share) : lo + (hi - lo) * share));
  }
  values.back() = hi;  // not a rounding beside it
  return values;
}

// The message of what keeps the generator from making levels, or "".
std::string Fault(const Generator& g) {
  if (g.form.empty()) return std::string(kForms);
  const double lo = g.numbers[0];
  const double hi = g.numbers[1];
  if (g.form != "range" && !g.n) return Cat(g.form, " needs n, the number of levels");
  if (g.form == "range" && g.n) return "range has no n; its third number is the step";
  if (lo >= hi) return Cat(g.form, " goes from ", lo, " to ", hi, "; the second should be larger");
  if (g.form == "log" && lo <= 0) return Cat("log starts at ", lo, "; should be above 0");
  if (g.form == "range" && g.numbers[2] <= 0) return "the step of range should be above 0";
  if (g.form == "range" && (hi - lo) / g.numbers[2] > static_cast<double>(kMaxLevels)) {
    return Cat("range makes more than ", kMaxLevels, " levels");
  }
  return "";
}

std::vector<KnobValue> GeneratedLevels(const Knob& knob, const SourceNode& node, ErrorSink& sink) {
  if (knob.type != KnobType::kInt && knob.type != KnobType::kReal) {
    sink.Add(node.position, knob.key, ": found a map; should be a list of ", DescribeRange(knob));
    return {};
  }
  const auto generator = ReadGenerator(knob, node, sink);
  if (!generator) return {};
  const std::string fault = Fault(*generator);
  if (!fault.empty()) {
    sink.Add(node.position, knob.key, ": ", fault);
    return {};
  }
  std::vector<KnobValue> levels;
  for (double value : Spread(*generator)) {
    const auto level = CheckValue(knob, knob.type == KnobType::kInt ? std::round(value) : value);
    if (!level.ok()) {
      sink.Add(generator->position, knob.key, ": ", level.status().message());
      return {};
    }
    levels.push_back(*level);
  }
  return levels;
}

void AddLevel(const Knob& knob, const KnobValue& level, SourcePosition position,
              std::vector<KnobValue>& levels, ErrorSink& sink) {
  if (std::find(levels.begin(), levels.end(), level) == levels.end()) {
    levels.push_back(level);
  } else {
    sink.Add(position, knob.key, ": ", FormatValue(knob, level), " is there twice");
  }
}

}  // namespace

std::optional<KnobValue> ReadValue(const Knob& knob, const SourceNode& node, ErrorSink& sink) {
  if (!node.IsScalar()) {
    sink.Add(node.position, knob.key, ": found ", node.Describe(), "; should be ",
             DescribeRange(knob));
    return std::nullopt;
  }
  auto value = ParseValue(knob, node.text);
  if (!value.ok()) {
    sink.Add(node.position, knob.key, ": ", value.status().message());
    return std::nullopt;
  }
  return *std::move(value);
}

std::vector<KnobValue> ReadLevels(const Knob& knob, const SourceNode& node, ErrorSink& sink) {
  std::vector<KnobValue> levels;
  if (node.IsMap()) {
    for (const KnobValue& level : GeneratedLevels(knob, node, sink)) {
      AddLevel(knob, level, node.position, levels, sink);
    }
  } else if (node.IsList() && !node.items.empty()) {
    for (const SourceNode& item : node.items) {
      const auto level = ReadValue(knob, item, sink);
      if (level) AddLevel(knob, *level, item.position, levels, sink);
    }
  } else if (node.IsScalar()) {
    if (const auto level = ReadValue(knob, node, sink)) levels.push_back(*level);
  } else if (node.IsList()) {
    sink.Add(node.position, knob.key, ": found an empty list; should have a level at least");
  } else {
    sink.Add(node.position, knob.key, ": found nothing; ", kForms);
  }
  return levels;
}

}  // namespace normlab
