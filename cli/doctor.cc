#include <sys/statvfs.h>

#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "cli/client.h"
#include "cli/program_output.h"
#include "cli/siblings.h"
#include "cli/verbs.h"
#include "core/data_folder.h"
#include "core/file.h"
#include "core/network_file_system.h"
#include "core/strings.h"
#include "core/version.h"
#include "nlohmann/json.hpp"

namespace normlab::cli {
namespace {

using nlohmann::json;

// What one check found. "fail" means that normlab cannot work here, "warn" that it will be slow or
// lacks something, "info" is a fact.
struct Finding {
  std::string check;
  std::string state;
  std::string detail;
  std::string cure;
};

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

Finding CheckProcessor() {
  const absl::StatusOr<std::string> text = ReadFile("/proc/cpuinfo");
  const std::string info = text.ok() ? *text : "";
  const auto has = [&](const char* flag) { return absl::StrContains(info, Cat(" ", flag)); };
  std::vector<std::string> sets;
  for (const char* flag : {"avx2", "fma", "avx512f", "avx512_bf16", "amx_bf16"}) {
    if (has(flag)) sets.emplace_back(flag);
  }
  const std::string detail = Cat(std::thread::hardware_concurrency(), " cores, ",
                                 sets.empty() ? "no vector extensions" : Join(sets, " "));
  if (!has("avx2")) {
    return {"processor", "warn", detail, "training uses the portable kernels: slow"};
  }
  if (!has("avx512_bf16") && !has("amx_bf16")) {
    return {"processor", "info", detail, "keep train.precision at fp32: bf16 would be far slower"};
  }
  return {"processor", "ok", detail, ""};
}

Finding CheckMemory() {
  const absl::StatusOr<std::string> text = ReadFile("/proc/meminfo");
  int64_t available_kib = 0;
  std::istringstream words(text.ok() ? *text : "");
  for (std::string word; words >> word;) {
    if (word == "MemAvailable:") words >> available_kib;
  }
  const double gib = static_cast<double>(available_kib) / (1024.0 * 1024.0);
  const std::string detail = absl::StrFormat("%.1f GiB available", gib);
  if (gib < 1) return {"memory", "warn", detail, "a trainer needs about 0.5 GiB even for nano"};
  return {"memory", "ok", detail, ""};
}

Finding CheckTrainer(const Context& context) {
  const std::string path = TrainerPath(context.program);
  if (!FileExists(path)) {
    return {"trainer", "fail", Cat(path, " is not there"),
            "build it (deploy/setup, then cmake --build), or set NORMLAB_TRAINER"};
  }
  absl::StatusOr<std::string> version = ProgramOutput({path, "--version"});
  if (!version.ok()) {
    return {"trainer", "fail", std::string(version.status().message()),
            "run it by hand: a missing library is the usual cause"};
  }
  return {"trainer", "ok", *version, ""};
}

Finding CheckGpus() {
  const absl::StatusOr<std::vector<std::string>> gpus = ListDir("/proc/driver/nvidia/gpus");
  if (!gpus.ok() || gpus->empty()) {
    return {"GPU", "info", "none: runs train on the CPU", "sweeps with resources.gpus > 0 wait"};
  }
  return {"GPU", "ok", Cat(gpus->size(), " NVIDIA"), ""};
}

std::vector<Finding> CheckDataFolder(const Context& context) {
  const absl::StatusOr<std::string> dir = DataFolderPath(context.data, ProcessEnv());
  if (!dir.ok()) {
    return {{"data folder", "fail", std::string(dir.status().message()), "--data DIR"}};
  }
  if (!IsDir(*dir)) {
    return {{"data folder", "info", Cat(*dir, " (made by normlab serve)"), ""}};
  }
  struct statvfs space = {};
  std::vector<Finding> findings;
  if (const auto network = NetworkFileSystemAt(*dir)) {
    findings.push_back({"data folder", "fail", Cat(*dir, " is on ", *network),
                        "choose a local disk: the database needs working locks"});
  } else {
    findings.push_back({"data folder", "ok", *dir, ""});
  }
  if (statvfs(dir->c_str(), &space) == 0) {
    const double gib =
        static_cast<double>(space.f_bavail) * static_cast<double>(space.f_frsize) / kGib;
    findings.push_back({"disk", gib < 1 ? "warn" : "ok", absl::StrFormat("%.1f GiB free", gib),
                        gib < 1 ? "attempt logs and checkpoints need room" : ""});
  }
  return findings;
}

Finding CheckServer(const Context& context) {
  absl::StatusOr<std::unique_ptr<Client>> client = Client::Find(context);
  if (!client.ok()) {
    return {"server", "info", std::string(client.status().message()), "normlab serve starts one"};
  }
  absl::StatusOr<json> workers = (*client)->Read("/api/v1/workers", {});
  const size_t count = workers.ok() ? workers->at("workers").size() : 0;
  return {"server", count > 0 ? "ok" : "warn",
          Cat("answers; ", count, count == 1 ? " worker" : " workers"),
          count > 0 ? "" : "normlab worker --connect FILE adds one"};
}

void RunDoctor(Context& context) {
  std::vector<Finding> findings = {{"version", "ok", kVersion, ""},
                                   CheckProcessor(),
                                   CheckMemory(),
                                   CheckGpus(),
                                   CheckTrainer(context)};
  for (Finding& finding : CheckDataFolder(context)) findings.push_back(std::move(finding));
  findings.push_back(CheckServer(context));
  json rows = json::array();
  for (const Finding& finding : findings) {
    if (finding.state == "fail") context.exit_code = kExitRunsFailed;
    rows.push_back({{"check", finding.check},
                    {"state", finding.state},
                    {"detail", finding.detail},
                    {"cure", finding.cure}});
  }
  const json document = {{"schema", "normlab.doctor.v1"}, {"checks", rows}};
  Print(context, document, rows,
        {{"check", "check"}, {"state", "state"}, {"detail", "found"}, {"cure", "what to do"}},
        "check");
}

}  // namespace

void AddDoctor(CLI::App& app, Context& context) {
  CLI::App* verb = AddSubcommand(app, "doctor", "Look for what is missing on this machine",
                                 {"normlab doctor", "normlab doctor --json"});
  AddServerOptions(verb, context);
  AddOutputOptions(verb, context);
  verb->callback([&context] { RunDoctor(context); });
}

}  // namespace normlab::cli
