#ifndef NORMLAB_CORE_SWEEP_SPEC_READER_H_
#define NORMLAB_CORE_SWEEP_SPEC_READER_H_

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/sweep/error_sink.h"
#include "core/sweep/source_node.h"
#include "core/sweep/sweep_spec.h"

namespace normlab {

// Reads the parts of a sweep file into a SweepSpec, each fault an error; what holds between the
// parts is SweepSpec::Check's business.
class SpecReader {
 public:
  SpecReader(SweepSpec& spec, ErrorSink& sink) : spec_(spec), sink_(sink) {}
  void Read(const SourceNode& document);
  // The part was read without an error (or is not there).
  bool base_sound() const { return base_sound_; }
  bool factors_sound() const { return factors_sound_; }

 private:
  using Field = std::function<void(const SourceNode&)>;
  using Fields = std::map<std::string_view, Field>;

  void ReadName(const SourceNode& node);
  void ReadBase(const SourceNode& node, const std::string& prefix);
  void ReadFactors(const SourceNode& node, const std::string& prefix);
  void ReadFactor(const SourceNode& key, const std::string& name, const SourceNode& node);
  void ReadZip(const SourceNode& node);
  void ReadExclude(const SourceNode& node);
  void ReadReplicates(const SourceNode& node);
  void ReadSetting(const SourceNode& node, const std::string& prefix, Setting& setting);
  void ReadStop(const SourceNode& node);
  void ReadPrimary(const SourceNode& node);
  void ReadBudget(const SourceNode& node);
  void ReadResources(const SourceNode& node);

  // Calls the field's function for every member; unknown names are errors.
  void ReadFields(const SourceNode& node, std::string_view part, const Fields& fields);
  // `name` is for messages: "budget.time".
  Field Whole(std::string_view name, int64_t& out, int64_t min);
  Field Real(std::string_view name, double& out, double min, double max);
  Field Duration(std::string_view name, double& out);
  bool ExpectMap(const SourceNode& node, std::string_view part);
  bool ExpectList(const SourceNode& node, std::string_view part);
  // The knob, or an error at `key` and null.
  const Knob* FindKnobAt(const SourceNode& key, const std::string& name);

  SweepSpec& spec_;
  ErrorSink& sink_;
  bool base_sound_ = true;
  bool factors_sound_ = true;
};

}  // namespace normlab

#endif  // NORMLAB_CORE_SWEEP_SPEC_READER_H_
