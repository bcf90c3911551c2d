#include <fstream>
#include <memory>

#include "CLI/CLI.hpp"
#include "cli/source.h"
#include "cli/verbs.h"
#include "core/json.h"
#include "core/status.h"
#include "core/strings.h"
#include "nlohmann/json.hpp"

namespace normlab::cli {
namespace {

using nlohmann::json;

struct ExportOptions {
  std::string selector = "last";
  std::string format = "csv";
  std::string file;
  bool profiles = false;
};

// Writes one point at a time: a sweep's series do not fit into memory.
class PointWriter {
 public:
  PointWriter(std::ostream& out, bool csv, bool profiles)
      : out_(out), csv_(csv), columns_({"run", "cell", "arm", "seed", "key", "step"}) {
    if (profiles) columns_.emplace_back("depth");
    columns_.insert(columns_.end(), {"value", "attempt"});
    if (csv_) out_ << Join(columns_, ",") << "\n";
  }

  void Write(const json& point) {
    if (!csv_) {
      out_ << DumpStrict(point) << "\n";
      return;
    }
    std::vector<std::string> fields;
    for (const std::string& column : columns_) {
      fields.push_back(CsvField(ExactText(point.at(column))));
    }
    out_ << Join(fields, ",") << "\n";
  }

 private:
  std::ostream& out_;
  const bool csv_;
  std::vector<std::string> columns_;
};

void WriteScalars(const json& series, json point, PointWriter& writer) {
  for (size_t i = 0; i < series.at("step").size(); ++i) {
    point["step"] = series.at("step").at(i);
    point["value"] = series.at("value").at(i);
    point["attempt"] = series.at("attempt").at(i);
    writer.Write(point);
  }
}

void WriteProfiles(const json& series, json point, PointWriter& writer) {
  for (size_t i = 0; i < series.at("step").size(); ++i) {
    point["step"] = series.at("step").at(i);
    point["attempt"] = series.at("attempt").at(i);
    int64_t depth = series.at("first_index").get<int64_t>();
    for (const json& value : series.at("values").at(i)) {
      point["depth"] = depth++;
      point["value"] = value;
      writer.Write(point);
    }
  }
}

absl::Status ExportRun(const Source& source, const json& run, bool profiles, PointWriter& writer) {
  const std::string id = run.at("id").get<std::string>();
  ASSIGN_OR_RETURN(const json detail, source.Get(RunPath(id)));
  json point = {
      {"run", id}, {"cell", run.at("cell")}, {"arm", run.at("label")}, {"seed", run.at("seed")}};
  for (const json& key : detail.at("run").at(profiles ? "profile_keys" : "scalar_keys")) {
    point["key"] = key;
    const Params params = {{"key", key.get<std::string>()}};
    ASSIGN_OR_RETURN(const json series,
                     source.Get(RunPath(id, profiles ? "/profiles" : "/scalars"), params));
    profiles ? WriteProfiles(series, point, writer) : WriteScalars(series, point, writer);
  }
  return absl::OkStatus();
}

absl::Status Export(const Source& source, const ExportOptions& options, std::ostream& out) {
  ASSIGN_OR_RETURN(const json runs, source.Get(SweepPath(options.selector, "/runs")));
  PointWriter writer(out, options.format == "csv", options.profiles);
  for (const json& run : runs.at("runs")) {
    RETURN_IF_ERROR(ExportRun(source, run, options.profiles, writer));
  }
  out.flush();
  return out.good() ? absl::OkStatus() : absl::ResourceExhaustedError("cannot write all of it");
}

void RunExport(Context& context, const ExportOptions& options) {
  absl::StatusOr<Source> source = Source::Find(context);
  if (!source.ok()) return Fail(context, source.status());
  std::ofstream file;
  if (!options.file.empty()) {
    file.open(options.file);
    if (!file) return Fail(context, InvalidArgument("cannot write ", options.file));
  }
  const absl::Status status = Export(*source, options, file.is_open() ? file : *context.out);
  if (!status.ok()) Fail(context, AddContext(status, "export"));
}

}  // namespace

void AddExport(CLI::App& app, Context& context) {
  CLI::App* verb = AddSubcommand(
      app, "export", "Write every measured number of a sweep, one a line",
      {"normlab export last > curves.csv", "normlab export s3/c4 --format jsonl -o c4.jsonl",
       "normlab export placements --profiles -o depth.csv"});
  AddServerOptions(verb, context);
  auto options = std::make_shared<ExportOptions>();
  verb->add_option("SWEEP", options->selector,
                   "last, s3, a name or its unique prefix, or a cell s3/c4");
  verb->add_option("--format", options->format, "csv (default) or jsonl")
      ->check(CLI::IsMember({"csv", "jsonl"}));
  verb->add_option("-o,--output", options->file, "file to write (default: standard output)")
      ->type_name("FILE");
  verb->add_flag("--profiles", options->profiles, "the vectors over depth instead of the scalars");
  verb->callback([&context, options] { RunExport(context, *options); });
}

}  // namespace normlab::cli
