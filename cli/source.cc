#include "cli/source.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "cli/client.h"
#include "core/connect_file.h"
#include "core/data_folder.h"
#include "core/file.h"
#include "core/status.h"
#include "core/strings.h"
#include "nlohmann/json.hpp"
#include "server/offline.h"

namespace normlab::cli {
namespace {

std::string PercentEncode(const std::string& text) {
  std::string encoded;
  for (const char c : text) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.') {
      encoded += c;
    } else {
      absl::StrAppendFormat(&encoded, "%%%02X", static_cast<unsigned char>(c));
    }
  }
  return encoded;
}

}  // namespace

Source::Source() = default;
Source::Source(Source&&) noexcept = default;
Source& Source::operator=(Source&&) noexcept = default;
Source::~Source() = default;

absl::StatusOr<Source> Source::Find(const Context& context) {
  Source source;
  absl::StatusOr<std::unique_ptr<Client>> client = Client::Find(context);
  if (client.ok()) {
    source.client_ = *std::move(client);
    return source;
  }
  // A refused token, say, must not be papered over by reading the files.
  if (!absl::IsUnavailable(client.status()) || !context.connect.empty()) return client.status();
  absl::StatusOr<std::string> dir = DataFolderPath(context.data, ProcessEnv());
  if (!dir.ok() || !FileExists(DataFolder(*dir).Database())) return client.status();
  source.data_dir_ = *dir;
  return source;
}

absl::StatusOr<nlohmann::json> Source::Get(const std::string& path, const Params& params) const {
  if (client_ != nullptr) return client_->Read(path, params);
  return server::ReadOffline(data_dir_, path, params);
}

std::string SweepPath(const std::string& selector, const std::string& rest) {
  return Cat("/api/v1/sweeps/", PercentEncode(selector), rest);
}

std::string RunPath(const std::string& selector, const std::string& rest) {
  return Cat("/api/v1/runs/", PercentEncode(selector), rest);
}

}  // namespace normlab::cli
