#include "core/connect_file.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "core/data_folder.h"
#include "core/file.h"
#include "core/json.h"
#include "core/status.h"
#include "core/strings.h"

namespace normlab {

namespace {

using nlohmann::json;

absl::StatusOr<ConnectInfo> FromJson(std::string_view text) {
  ASSIGN_OR_RETURN(const json document, ParseJson(text));
  ConnectInfo info;
  RETURN_IF_ERROR(ReadMembers(document, {{"instance", &info.instance},
                                         {"grpc", &info.grpc},
                                         {"http", &info.http},
                                         {"token", &info.token},
                                         {"ca", &info.ca},
                                         {"pid", &info.pid}}));
  if (document.contains("listen")) {
    RETURN_IF_ERROR(ReadMembers(document, {{"listen", &info.listen}}));
  }
  return info;
}

}  // namespace

absl::Status WriteConnectFile(const std::string& path, const ConnectInfo& info) {
  json document = {{"instance", info.instance}, {"grpc", info.grpc}, {"http", info.http},
                   {"token", info.token},       {"ca", info.ca},     {"pid", info.pid}};
  if (!info.listen.empty()) document["listen"] = info.listen;
  return WriteFileDurably(path, document.dump(2) + "\n", 0600);
}

absl::StatusOr<ConnectInfo> ReadConnectFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  auto info = FromJson(text);
  if (!info.ok()) return AddContext(info.status(), path);
  return info;
}

GetEnv ProcessEnv() {
  return [](const char* name) -> std::optional<std::string> {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
  };
}

absl::StatusOr<std::string> ConnectFilePath(const FindConnectOptions& options, const GetEnv& env) {
  if (!options.connect.empty()) return options.connect;
  if (const auto connect = env("NORMLAB_CONNECT")) return *connect;
  ASSIGN_OR_RETURN(const std::string data, DataFolderPath(options.data, env));
  return DataFolder(data).ConnectFile();
}

absl::StatusOr<ConnectInfo> FindConnect(const FindConnectOptions& options, const GetEnv& env) {
  ASSIGN_OR_RETURN(const std::string path, ConnectFilePath(options, env));
  auto info = ReadConnectFile(path);
  if (absl::IsNotFound(info.status())) {
    return NotFound("no server is known: there is no ", path,
                    " (start one with `normlab serve`, or name its file with --connect)");
  }
  return info;
}

}  // namespace normlab
