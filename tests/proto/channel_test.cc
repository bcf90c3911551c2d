#include "proto/channel.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "core/check.h"
#include "proto/client.grpc.pb.h"

namespace normlab {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Answers with what it was sent: the token in its metadata and the path.
class EchoService : public v1::Client::Service {
 public:
  grpc::Status Read(grpc::ServerContext* context, const v1::ReadRequest* request,
                    v1::ReadReply* reply) override {
    const auto token = context->client_metadata().find("authorization");
    if (token != context->client_metadata().end()) {
      reply->set_json(std::string(token->second.data(), token->second.size()) + request->path());
    }
    return grpc::Status::OK;
  }

  grpc::Status Cancel(grpc::ServerContext* context, const v1::CancelRequest*,
                      v1::CancelReply*) override {
    while (!context->IsCancelled()) std::this_thread::yield();
    return grpc::Status::CANCELLED;
  }

  grpc::Status Submit(grpc::ServerContext*, const v1::SubmitRequest*, v1::SubmitReply*) override {
    return {grpc::StatusCode::INVALID_ARGUMENT, "sweep.yaml:3:5: no"};
  }
};

class ChannelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    grpc::ServerBuilder builder;
    builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }

  ServerChannel Open() {
    ConnectInfo info;
    info.grpc = "127.0.0.1:" + std::to_string(port_);
    info.token = "secret";
    auto channel = ServerChannel::Open(info);
    CHECK_OK(channel.status());
    return *channel;
  }

  absl::StatusOr<std::string> Read(const ServerChannel& channel, const std::string& path) {
    grpc::ClientContext context;
    channel.Prepare(context, absl::Seconds(30));
    v1::ReadRequest request;
    request.set_path(path);
    v1::ReadReply reply;
    const auto stub = v1::Client::NewStub(channel.channel());
    absl::Status status = channel.ToStatus(stub->Read(&context, request, &reply));
    if (!status.ok()) return status;
    return reply.json();
  }

  EchoService service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(ChannelTest, CarriesTheToken) { EXPECT_EQ(*Read(Open(), "/api"), "Bearer secret/api"); }

TEST_F(ChannelTest, LongDocumentsPass) {
  const std::string path(20 << 20, 'x');  // five times gRPC's own limit
  EXPECT_EQ(Read(Open(), path)->size(), path.size() + std::string("Bearer secret").size());
}

TEST_F(ChannelTest, StatusesKeepCodeAndMessage) {
  const ServerChannel channel = Open();
  grpc::ClientContext context;
  channel.Prepare(context, absl::Seconds(30));
  v1::SubmitReply reply;
  const absl::Status status =
      channel.ToStatus(v1::Client::NewStub(channel.channel())->Submit(&context, {}, &reply));
  EXPECT_EQ(status, absl::InvalidArgumentError("sweep.yaml:3:5: no"));
}

TEST_F(ChannelTest, DeadlineEndsACallThatHangs) {
  const ServerChannel channel = Open();
  grpc::ClientContext context;
  channel.Prepare(context, absl::Milliseconds(50));
  v1::CancelReply reply;
  const absl::Status status =
      channel.ToStatus(v1::Client::NewStub(channel.channel())->Cancel(&context, {}, &reply));
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(ChannelTest, NobodyThereNamesTheAddress) {
  const ServerChannel channel = Open();
  server_->Shutdown();
  server_.reset();
  const absl::Status status = Read(channel, "/").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("no normlab server answers at 127.0.0.1:" + std::to_string(port_)));
  EXPECT_THAT(std::string(status.message()), Not(HasSubstr("failed to connect to all")));
}

// A server that refuses for the moment answers: nobody should look for it elsewhere.
TEST_F(ChannelTest, AServersOwnWordIsPassedOn) {
  const grpc::Status busy(grpc::StatusCode::UNAVAILABLE, "a commit failed: disk full", kFromServer);
  EXPECT_EQ(Open().ToStatus(busy), absl::UnavailableError("a commit failed: disk full"));
}

TEST(ChannelOpenTest, NoAddressIsAnError) {
  EXPECT_EQ(ServerChannel::Open({}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace normlab
