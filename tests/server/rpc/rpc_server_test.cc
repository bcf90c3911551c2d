#include "server/rpc/rpc_server.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "core/version.h"
#include "nlohmann/json.hpp"
#include "proto/channel.h"
#include "proto/client.grpc.pb.h"
#include "proto/control.grpc.pb.h"
#include "server/rpc/access.h"
#include "server/rpc/own_certificate.h"
#include "tests/server/dispatch/server_lab.h"
#include "worker/grpc_server_link.h"

namespace normlab::server {
namespace {

using ::testing::HasSubstr;

// A real server on a free port, and a connect file that leads to it.
class RpcServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto server = RpcServer::Start(Options("127.0.0.1:0"), Backends());
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  RpcServerOptions Options(const std::string& address,
                           const CertificateFiles& certificate = {}) const {
    RpcServerOptions options;
    options.address = address;
    options.token = "right";
    options.certificate_file = certificate.certificate;
    options.key_file = certificate.key;
    options.datasets_dir = dir_.path();
    options.server_instance = "start-1";
    options.instance = "data-1";
    return options;
  }

  RpcBackends Backends() {
    RpcBackends backends;
    backends.dispatcher = &lab_.dispatcher();
    backends.ingest = &lab_.ingest();
    backends.read = [](const std::string& path, const std::map<std::string, std::string>& params) {
      return absl::StatusOr<nlohmann::json>({{"path", path}, {"params", params}});
    };
    backends.one_time_key = [] { return absl::StatusOr<std::string>("key-7"); };
    return backends;
  }

  ConnectInfo Info(const std::string& token = "right") const {
    ConnectInfo info;
    info.instance = "data-1";
    info.grpc = "127.0.0.1:" + std::to_string(server_->port());
    info.http = "http://127.0.0.1:1";
    info.token = token;
    return info;
  }

  // Calls one method of the Client service.
  template <typename Request, typename Reply>
  absl::StatusOr<Reply> Call(grpc::Status (v1::Client::Stub::*method)(grpc::ClientContext*,
                                                                      const Request&, Reply*),
                             const Request& request, const std::string& token = "right") {
    const auto channel = ServerChannel::Open(Info(token));
    grpc::ClientContext context;
    channel->Prepare(context, absl::Seconds(30));
    Reply reply;
    const auto stub = v1::Client::NewStub(channel->channel());
    const absl::Status status = channel->ToStatus((stub.get()->*method)(&context, request, &reply));
    if (!status.ok()) return status;
    return reply;
  }

  worker::GrpcServerLink Link(const ConnectInfo& info) {
    CHECK_OK(WriteConnectFile(dir_.File("connect.json"), info));
    return worker::GrpcServerLink(dir_.File("connect.json"));
  }

  static v1::SynchronizeRequest Hello() {
    v1::SynchronizeRequest request;
    request.set_worker_id("w");
    request.set_incarnation("i");
    request.set_instance("data-1");
    request.mutable_hello()->set_protocol(kProtocolVersion);
    request.mutable_hello()->set_trainer_math(kTrainerMath);
    request.mutable_resources()->set_slots(1);
    request.mutable_resources()->set_cpus(1);
    return request;
  }

  ServerLab lab_;
  TempDir dir_;
  std::unique_ptr<RpcServer> server_;
};

TEST_F(RpcServerTest, EveryCallWantsTheToken) {
  EXPECT_EQ(Call(&v1::Client::Stub::Read, v1::ReadRequest(), "wrong").status().code(),
            absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(Call(&v1::Client::Stub::Submit, v1::SubmitRequest(), "righ").status().code(),
            absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(Call(&v1::Client::Stub::Cancel, v1::CancelRequest(), "").status().code(),
            absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(Call(&v1::Client::Stub::OneTimeKey, v1::OneTimeKeyRequest(), "right!").status().code(),
            absl::StatusCode::kUnauthenticated);
  worker::GrpcServerLink link = Link(Info("wrong"));
  EXPECT_EQ(link.Synchronize(Hello()).status().code(), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(link.AppendRecords({}).status().code(), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(link.FetchDataset("", [](const auto&) { return absl::OkStatus(); }).code(),
            absl::StatusCode::kUnauthenticated);
}

TEST_F(RpcServerTest, ReadPassesPathAndParametersOn) {
  v1::ReadRequest request;
  request.set_path("/api/v1/runs/r1/scalars");
  (*request.mutable_params())["key"] = "train_loss";
  EXPECT_EQ(Call(&v1::Client::Stub::Read, request)->json(),
            R"({"params":{"key":"train_loss"},"path":"/api/v1/runs/r1/scalars"})");
}

TEST_F(RpcServerTest, OneTimeKeyComesFromItsMaker) {
  EXPECT_EQ(Call(&v1::Client::Stub::OneTimeKey, v1::OneTimeKeyRequest())->key(), "key-7");
}

TEST_F(RpcServerTest, SubmittedTwiceIsOneSweepAndCancelEndsIt) {
  v1::SubmitRequest request;
  request.set_spec_json(ServerLab::Spec({"pre", "geo"}));
  request.set_client_key("once");
  const auto first = Call(&v1::Client::Stub::Submit, request);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->sweep(), "s1");
  EXPECT_EQ(Call(&v1::Client::Stub::Submit, request)->json(), first->json());
  EXPECT_EQ(lab_.Number("SELECT count(*) FROM run"), 2);
  v1::CancelRequest cancel;
  cancel.set_selector("s1");
  ASSERT_TRUE(Call(&v1::Client::Stub::Cancel, cancel).ok());
  EXPECT_EQ(lab_.Number("SELECT count(*) FROM run WHERE state = 'cancelled'"), 2);
}

TEST_F(RpcServerTest, WorkerGetsWorkAndItsRecordsAreCommitted) {
  lab_.Submit(ServerLab::Spec({"pre"}), "key");
  worker::GrpcServerLink link = Link(Info());
  v1::SynchronizeRequest request = Hello();
  const auto reply = link.Synchronize(request);
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->server_instance(), "start-1");
  EXPECT_EQ(reply->datasets_dir(), dir_.path());
  ASSERT_EQ(reply->desired_size(), 1);
  EXPECT_THAT(reply->desired(0).envelope_json(), HasSubstr(R"("placement":"pre")"));
  // Not listed: it comes again, with the same token. Listed: without an envelope.
  EXPECT_EQ(link.Synchronize(request)->desired(0).token(), reply->desired(0).token());
  v1::HeldAttempt* held = request.add_held();
  held->set_run(reply->desired(0).run());
  held->set_attempt(1);
  held->set_token(reply->desired(0).token());
  held->set_state(v1::HeldAttempt::RUNNING);
  EXPECT_EQ(link.Synchronize(request)->desired(0).envelope_json(), "");

  v1::AppendRequest append;
  append.set_run(held->run());
  append.set_attempt(1);
  append.set_token(held->token());
  append.set_first_seq(1);
  append.add_records(EncodeRecord(HelloRecord{}));
  append.add_records(EncodeRecord(ScalarsRecord{1, {{"train_loss", 5.5}}}));
  EXPECT_EQ(link.AppendRecords(append)->acked_seq(), 2u);
  EXPECT_EQ(link.AppendRecords(append)->acked_seq(), 2u);
  append.set_first_seq(9);
  EXPECT_EQ(link.AppendRecords(append)->acked_seq(), 2u) << "a hole is not taken";
  EXPECT_EQ(lab_.Number("SELECT step FROM run_summary"), 1);
  append.set_token(1);
  EXPECT_EQ(link.AppendRecords(append).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(RpcServerTest, OtherProtocolsAndOtherDataAreRefused) {
  worker::GrpcServerLink link = Link(Info());
  v1::SynchronizeRequest request = Hello();
  request.mutable_hello()->set_protocol(kProtocolVersion + 1);
  EXPECT_THAT(link.Synchronize(request).status().ToString(), HasSubstr("speaks protocol 2"));
  request = Hello();
  request.set_instance("data-2");
  EXPECT_EQ(link.Synchronize(request).status().code(), absl::StatusCode::kFailedPrecondition);
  request = Hello();
  request.add_held()->set_run(1);  // no token
  EXPECT_EQ(link.Synchronize(request).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(RpcServerTest, UnknownDataSetIsNotFound) {
  worker::GrpcServerLink link = Link(Info());
  EXPECT_EQ(link.FetchDataset("00", [](const auto&) { return absl::OkStatus(); }).code(),
            absl::StatusCode::kNotFound);
}

// A server that moved is found: the link reads the connect file again when nobody answers.
TEST_F(RpcServerTest, LinkFollowsTheConnectFile) {
  ConnectInfo elsewhere = Info();
  elsewhere.grpc = "127.0.0.1:1";
  worker::GrpcServerLink link = Link(elsewhere);
  EXPECT_EQ(link.Synchronize(Hello()).status().code(), absl::StatusCode::kUnavailable);
  CHECK_OK(WriteConnectFile(dir_.File("connect.json"), Info()));
  EXPECT_EQ(link.Synchronize(Hello()).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(link.Synchronize(Hello()).ok());
  EXPECT_EQ(link.Instance(), "data-1");
}

TEST_F(RpcServerTest, TakenPortIsRefused) {
  RpcServerOptions options;
  options.address = Info().grpc;
  const auto second = RpcServer::Start(options, {});
  EXPECT_EQ(second.status().code(), absl::StatusCode::kFailedPrecondition);
}

// Certificates are made when the test runs. What the connect file holds is all that the other side
// has.
TEST_F(RpcServerTest, TlsByTheCaOfTheConnectFile) {
  const auto own = MakeOwnCertificate(dir_.File("tls"), {"localhost", "127.0.0.1"});
  ASSERT_TRUE(own.ok()) << own.status();
  server_ = *RpcServer::Start(Options("0.0.0.0:0", *own), Backends());
  ConnectInfo info = Info();
  info.ca = *ReadFile(own->ca);
  EXPECT_TRUE(Link(info).Synchronize(Hello()).ok());
  info.grpc = "localhost:" + std::to_string(server_->port());
  EXPECT_TRUE(Link(info).Synchronize(Hello()).ok()) << "every name in the certificate will do";

  ConnectInfo plain = Info();
  EXPECT_EQ(Link(plain).Synchronize(Hello()).status().code(), absl::StatusCode::kUnavailable);
  const auto stranger = MakeOwnCertificate(dir_.File("other"), {"127.0.0.1"});
  info.ca = *ReadFile(stranger->ca);
  EXPECT_EQ(Link(info).Synchronize(Hello()).status().code(), absl::StatusCode::kUnavailable);
}

// A restarted server has another certificate; who trusts its CA need not hear of it.
TEST_F(RpcServerTest, TheCaStaysOverRestarts) {
  const auto first = MakeOwnCertificate(dir_.File("tls"), {"127.0.0.1"});
  const std::string ca = *ReadFile(first->ca);
  const std::string certificate = *ReadFile(first->certificate);
  const auto second = MakeOwnCertificate(dir_.File("tls"), {"127.0.0.1", "10.0.0.5", "::1", "box"});
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(*ReadFile(second->ca), ca);
  EXPECT_NE(*ReadFile(second->certificate), certificate);
  server_ = *RpcServer::Start(Options("127.0.0.1:0", *second), Backends());
  ConnectInfo info = Info();
  info.ca = ca;
  EXPECT_TRUE(Link(info).Synchronize(Hello()).ok());
}

TEST_F(RpcServerTest, ADamagedCaIsNotReplacedInSecret) {
  const auto own = MakeOwnCertificate(dir_.File("tls"), {"127.0.0.1"});
  CHECK_OK(WriteFileDurably(own->ca, "no certificate"));
  EXPECT_EQ(MakeOwnCertificate(dir_.File("tls"), {"127.0.0.1"}).status().code(),
            absl::StatusCode::kDataLoss);
}

TEST_F(RpcServerTest, AWorkerThatWaitsIsGivenARunAtOnce) {
  worker::GrpcServerLink link = Link(Info());
  v1::SynchronizeRequest request = Hello();
  ASSERT_TRUE(link.Synchronize(request).ok());  // connected
  request.set_wait_ms(15'000);
  absl::StatusOr<v1::SynchronizeReply> reply = absl::UnknownError("not answered");
  std::thread worker([&] { reply = link.Synchronize(request); });
  lab_.clock().AwaitWaiters(1);
  lab_.Submit(ServerLab::Spec({"pre"}), "key");
  worker.join();
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(reply->desired_size(), 1);

  // Whoever ends the wait for a reason of its own hears of nothing.
  request.set_worker_id("another");
  std::thread second([&] { reply = link.Synchronize(request); });
  lab_.clock().AwaitWaiters(1);
  link.EndWait();
  second.join();
  EXPECT_EQ(reply.status().code(), absl::StatusCode::kCancelled);
}

TEST_F(RpcServerTest, AServerThatEndsAnswersWhoWaits) {
  worker::GrpcServerLink link = Link(Info());
  v1::SynchronizeRequest request = Hello();
  request.set_wait_ms(15'000);
  absl::StatusOr<v1::SynchronizeReply> reply = absl::UnknownError("not answered");
  std::thread worker([&] { reply = link.Synchronize(request); });
  lab_.clock().AwaitWaiters(1);
  server_.reset();
  worker.join();
  EXPECT_TRUE(reply.ok()) << reply.status();
}

TEST(RpcAccessTest, OnlyLoopbackGoesWithoutTls) {
  for (const char* address : {"0.0.0.0:0", "[::]:0", "10.0.0.5:1", "127.evil.com:1"}) {
    RpcServerOptions options;
    options.address = address;
    EXPECT_EQ(RpcServer::Start(options, {}).status().code(), absl::StatusCode::kFailedPrecondition)
        << address;
  }
}

}  // namespace
}  // namespace normlab::server
