#include "server/rpc/client_service.h"

#include <map>

#include "core/ids.h"
#include "core/json.h"
#include "nlohmann/json.hpp"
#include "server/dispatch/dispatcher.h"
#include "server/rpc/access.h"
#include "server/rpc/convert.h"

namespace normlab::server {

grpc::Status ClientService::Read(grpc::ServerContext* context, const v1::ReadRequest* request,
                                 v1::ReadReply* reply) {
  if (grpc::Status access = CheckToken(*context, token_); !access.ok()) return access;
  const std::map<std::string, std::string> params(request->params().begin(),
                                                  request->params().end());
  const auto document = backends_.read(request->path(), params);
  if (!document.ok()) return ToGrpc(document.status());
  reply->set_json(DumpStrict(*document));
  return grpc::Status::OK;
}

grpc::Status ClientService::Submit(grpc::ServerContext* context, const v1::SubmitRequest* request,
                                   v1::SubmitReply* reply) {
  if (grpc::Status access = CheckToken(*context, token_); !access.ok()) return access;
  const auto submitted = backends_.dispatcher->Submit(FromWire(*request));
  if (!submitted.ok()) return ToGrpc(submitted.status());
  if (submitted->sweep) reply->set_sweep(ToString(submitted->sweep));
  reply->set_json(submitted->json);
  return grpc::Status::OK;
}

grpc::Status ClientService::Cancel(grpc::ServerContext* context, const v1::CancelRequest* request,
                                   v1::CancelReply* reply) {
  if (grpc::Status access = CheckToken(*context, token_); !access.ok()) return access;
  const auto document = backends_.dispatcher->Cancel(request->selector(), request->reason());
  if (!document.ok()) return ToGrpc(document.status());
  reply->set_json(DumpStrict(*document));
  return grpc::Status::OK;
}

grpc::Status ClientService::OneTimeKey(grpc::ServerContext* context,
                                       const v1::OneTimeKeyRequest* request,
                                       v1::OneTimeKeyReply* reply) {
  static_cast<void>(request);
  if (grpc::Status access = CheckToken(*context, token_); !access.ok()) return access;
  const auto key = backends_.one_time_key();
  if (!key.ok()) return ToGrpc(key.status());
  reply->set_key(*key);
  return grpc::Status::OK;
}

}  // namespace normlab::server
