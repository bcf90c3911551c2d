#include "server/rpc/control_service.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "core/version.h"
#include "server/dispatch/dispatcher.h"
#include "server/ingest/ingest.h"
#include "server/rpc/access.h"
#include "server/rpc/convert.h"
#include "server/rpc/dataset_stream.h"

namespace normlab::server {
namespace {

// Our own and the one before.
constexpr int kOldestProtocol = std::max(1, kProtocolVersion - 1);
// Below every caller's deadline.
constexpr absl::Duration kLongestWait = absl::Seconds(15);

absl::Status CheckPeer(const v1::SynchronizeRequest& request, const std::string& instance) {
  const int protocol = request.hello().protocol();
  if (protocol < kOldestProtocol || protocol > kProtocolVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("worker ", request.worker_id(), " (normlab ", request.hello().build(),
                     ") speaks protocol ", protocol, "; this server (normlab ", kVersion,
                     ") speaks ", kOldestProtocol, " to ", kProtocolVersion));
  }
  if (request.instance() != instance) {
    return absl::FailedPreconditionError(
        "another server's data was meant; read the connect file again");
  }
  return absl::OkStatus();
}

}  // namespace

grpc::Status ControlService::Synchronize(grpc::ServerContext* context,
                                         const v1::SynchronizeRequest* request,
                                         v1::SynchronizeReply* reply) {
  if (grpc::Status access = CheckToken(*context, options_.token); !access.ok()) return access;
  if (absl::Status peer = CheckPeer(*request, options_.instance); !peer.ok()) return ToGrpc(peer);
  const auto report = FromWire(*request);
  if (!report.ok()) return ToGrpc(report.status());
  Patience patience;
  patience.wait =
      std::clamp(absl::Milliseconds(request->wait_ms()), absl::ZeroDuration(), kLongestWait);
  patience.gone = [context] { return context->IsCancelled(); };
  const auto answer = backends_.dispatcher->Synchronize(*report, patience);
  if (!answer.ok()) return ToGrpc(answer.status());
  *reply = ToWire(*answer);
  reply->set_server_instance(options_.server_instance);
  reply->set_datasets_dir(options_.datasets_dir);
  return grpc::Status::OK;
}

grpc::Status ControlService::AppendRecords(grpc::ServerContext* context,
                                           const v1::AppendRequest* request,
                                           v1::AppendReply* reply) {
  if (grpc::Status access = CheckToken(*context, options_.token); !access.ok()) return access;
  auto append = FromWire(*request);
  if (!append.ok()) return ToGrpc(append.status());
  const auto acked = backends_.ingest->Append(*std::move(append));
  if (!acked.ok()) return ToGrpc(acked.status());
  reply->set_acked_seq(*acked);
  return grpc::Status::OK;
}

grpc::Status ControlService::FetchDataset(grpc::ServerContext* context,
                                          const v1::FetchDatasetRequest* request,
                                          grpc::ServerWriter<v1::DatasetChunk>* writer) {
  if (grpc::Status access = CheckToken(*context, options_.token); !access.ok()) return access;
  return ToGrpc(
      StreamDataset(options_.datasets_dir, request->sha256(),
                    [writer](const v1::DatasetChunk& chunk) { return writer->Write(chunk); }));
}

}  // namespace normlab::server
