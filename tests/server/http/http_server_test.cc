#include "server/http/http_server.h"

#include <string>

#include "core/check.h"
#include "core/json.h"
#include "core/random.h"
#include "core/strings.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/builders/status_matchers.h"
#include "tests/fakes/fake_clock.h"
#include "tests/server/http/loopback_client.h"

namespace normlab::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kToken[] = "the-token";
constexpr size_t kLong = 20'000'000;  // more than any socket takes at once
const Headers kBearer = {{"Authorization", "Bearer the-token"}};

// A server on a free port whose documents say which path and parameters were asked for.
class HttpServerTest : public ::testing::Test {
 protected:
  HttpServerTest() {
    HttpServerOptions options;
    options.address = "127.0.0.1:0";
    options.token = kToken;
    options.instance = "0123456789abcdef0123";
    options.hosts = {"Lab.Example", "box.example:8080"};
    options.files = {{"/index.html", "<!doctype html><title>normlab</title>"},
                     {"/assets/app-1.js", kScript}};
    options.live_interval = absl::Milliseconds(1);
    options.heartbeat = absl::Milliseconds(20);
    SiteBackends backends;
    backends.read =
        [](const std::string& path,
           const std::map<std::string, std::string>& params) -> absl::StatusOr<nlohmann::json> {
      if (path == "/api/v1/long") return nlohmann::json(std::string(kLong, 'x'));
      if (path == "/api/v1/missing") return NotFound("no such thing");
      if (path == "/api/v1/bug") throw std::runtime_error("a bug");
      return nlohmann::json{{"path", path}, {"params", params}};
    };
    backends.ready = [this] { return ready_; };
    backends.gauges = [] {
      return std::vector<GaugeSample>{{"normlab_runs", "Runs", {{"state", "done"}}, 3},
                                      {"normlab_runs", "Runs", {{"state", "failed"}}, 1}};
    };
    auto server = HttpServer::Start(options, backends, clock_, *random_);
    CHECK_OK(server.status());
    server_ = *std::move(server);
  }

  RawReply Fetch(const std::string& target, const Headers& headers = kBearer) {
    return Get(server_->port(), target, headers);
  }

  const std::string kScript = std::string(5000, 'x') + " // end";
  absl::Status ready_;
  FakeClock clock_;
  std::unique_ptr<RandomSource> random_ = SeededRandom(1);
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, ADocumentIsStrictJsonAndNotKept) {
  const RawReply reply = Fetch("/api/v1/runs/s1%2Fc2%2F1/scalars?key=train_loss&from=3");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.Header("content-type"), "application/json");
  EXPECT_EQ(reply.Header("cache-control"), "no-store");
  const auto document = ParseJson(reply.body);
  ASSERT_THAT(document, IsOk());
  EXPECT_EQ(document->at("path"), "/api/v1/runs/s1%2Fc2%2F1/scalars");
  EXPECT_EQ(document->at("params"), (nlohmann::json{{"key", "train_loss"}, {"from", "3"}}));
}

TEST_F(HttpServerTest, ALongDocumentComesWhole) {
  const RawReply reply = Fetch("/api/v1/long");
  EXPECT_EQ(reply.status, 200);
  EXPECT_TRUE(reply.body == '"' + std::string(kLong, 'x') + '"');
}

TEST_F(HttpServerTest, ErrorsAreDocuments) {
  const RawReply reply = Fetch("/api/v1/missing");
  EXPECT_EQ(reply.status, 404);
  const auto document = ParseJson(reply.body);
  ASSERT_THAT(document, IsOk());
  EXPECT_EQ(document->at("error").at("code"), "NOT_FOUND");
  EXPECT_EQ(document->at("error").at("message"), "no such thing");
}

TEST_F(HttpServerTest, ABugInOneDocumentLeavesTheServerUp) {
  EXPECT_EQ(Fetch("/api/v1/bug").status, 500);
  EXPECT_EQ(Fetch("/api/v1/sweeps").status, 200);
}

TEST_F(HttpServerTest, WhoMayRead) {
  struct Case {
    std::string target;
    Headers headers;
    int status;
  };
  const Headers bad = {{"Authorization", "Bearer the-tokem"}};
  const Headers short_one = {{"Authorization", "Bearer the"}};
  const Headers foreign_host = {{"Authorization", "Bearer the-token"}, {"Host", "evil.example"}};
  const Headers named_host = {{"Authorization", "Bearer the-token"}, {"Host", "lab.example:80"}};
  const Headers other_port = {{"Authorization", "Bearer the-token"}, {"Host", "box.example"}};
  const Headers tunnel = {{"Authorization", "Bearer the-token"}, {"Host", "127.0.0.1:9999"}};
  const Headers loopback = {{"Authorization", "Bearer the-token"}, {"Host", "127.1.2.3:80"}};
  const Headers v6 = {{"Authorization", "Bearer the-token"}, {"Host", "[::1]:1"}};
  const Headers foreign_origin = {{"Authorization", "Bearer the-token"},
                                  {"Origin", "http://evil.example"}};
  const Headers own_origin = {{"Authorization", "Bearer the-token"},
                              {"Origin", "http://localhost"}};
  const Headers cookie = {{"Cookie", "normlab-0123456789abcdef=guessed"}};
  for (const Case& c : {Case{"/api/v1/sweeps", {}, 401},
                        Case{"/api/v1/sweeps", bad, 401},
                        Case{"/api/v1/sweeps", short_one, 401},
                        Case{"/api/v1/sweeps", cookie, 401},
                        Case{"/api/v1/sweeps", kBearer, 200},
                        Case{"/api/v1/live", {}, 401},
                        Case{"/metrics", {}, 401},
                        Case{"/metrics", kBearer, 200},
                        Case{"/api/v1/sweeps", foreign_host, 403},
                        Case{"/", foreign_host, 403},
                        Case{"/api/v1/sweeps", named_host, 200},
                        Case{"/api/v1/sweeps", other_port, 200},
                        Case{"/api/v1/sweeps", tunnel, 200},
                        Case{"/api/v1/sweeps", loopback, 200},
                        Case{"/api/v1/sweeps", v6, 200},
                        Case{"/api/v1/sweeps", foreign_origin, 403},
                        Case{"/api/v1/sweeps", own_origin, 200},
                        Case{"/", {}, 200},
                        Case{"/healthz", {}, 200},
                        Case{"/open", {}, 403},
                        Case{"/open?key=guessed", {}, 403}}) {
    EXPECT_EQ(Fetch(c.target, c.headers).status, c.status)
        << c.target << " " << ::testing::PrintToString(c.headers);
  }
}

TEST_F(HttpServerTest, AOneTimeKeyLetsOneBrowserIn) {
  const std::string key = server_->OneTimeKey();
  const RawReply opened = Fetch("/open?key=" + key, {});
  EXPECT_EQ(opened.status, 302);
  EXPECT_EQ(opened.Header("location"), "/");
  const std::string cookie = opened.Header("set-cookie");
  EXPECT_THAT(cookie, HasSubstr("normlab-0123456789abcdef="));
  for (const char* part : {"HttpOnly", "SameSite=Strict", "Path=/"}) {
    EXPECT_THAT(cookie, HasSubstr(part));
  }
  const std::string pair = cookie.substr(0, cookie.find(';'));
  EXPECT_EQ(Fetch("/api/v1/sweeps", {{"Cookie", "a=b; " + pair}}).status, 200);
  EXPECT_EQ(Fetch("/metrics", {{"Cookie", pair}}).status, 401);
  EXPECT_EQ(Fetch("/open?key=" + key, {}).status, 403) << "a key works once";
}

// What looks at an address without a person (a link checker, a browser that fetches ahead) must not
// use up what the person was given.
TEST_F(HttpServerTest, OnlyAPersonsRequestChangesAnything) {
  const std::string query = "?key=" + server_->OneTimeKey();
  for (const char* path : {"/", "/open", "/healthz", "/readyz", "/metrics", "/nothing",
                           "/api/v1/sweeps", "/api/v1/live"}) {
    Get(server_->port(), path + query, kBearer, "HEAD");
  }
  for (const Headers& ahead :
       {Headers{{"Purpose", "prefetch"}}, Headers{{"Sec-Purpose", "prefetch;prerender"}}}) {
    const RawReply reply = Fetch("/open" + query, ahead);
    EXPECT_EQ(reply.status, 503) << ::testing::PrintToString(ahead);
    EXPECT_EQ(reply.Header("set-cookie"), "");
  }
  const RawReply head = Get(server_->port(), "/open" + query, {}, "HEAD");
  EXPECT_EQ(head.status, 405);
  EXPECT_EQ(head.Header("allow"), "GET");
  EXPECT_EQ(Fetch("/open" + query, {}).status, 302);
}

TEST_F(HttpServerTest, AOneTimeKeyEndsAfterAMinute) {
  const std::string key = server_->OneTimeKey();
  clock_.Advance(absl::Seconds(60));
  EXPECT_EQ(Fetch("/open?key=" + key, {}).status, 403);
}

TEST_F(HttpServerTest, NothingIsChangedByABrowser) {
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS"}) {
    const RawReply reply = Get(server_->port(), "/api/v1/sweeps", kBearer, method);
    EXPECT_EQ(reply.status, 405) << method;
    EXPECT_EQ(reply.Header("allow"), "GET, HEAD");
  }
}

TEST_F(HttpServerTest, HeadHasTheLengthButNoBody) {
  LoopbackClient client(server_->port());
  client.Send(
      "HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\nGET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(client.ReadReply(true).Header("content-length"), "37");
  EXPECT_EQ(client.ReadReply().body, "ok\n");
}

TEST_F(HttpServerTest, EveryReplyForbidsOtherHosts) {
  for (const char* target : {"/", "/api/v1/sweeps", "/nothing", "/healthz"}) {
    const RawReply reply = Fetch(target);
    EXPECT_THAT(reply.Header("content-security-policy"), HasSubstr("default-src 'self'"));
    EXPECT_THAT(reply.Header("content-security-policy"), HasSubstr("frame-ancestors 'none'"));
    EXPECT_EQ(reply.Header("x-content-type-options"), "nosniff");
    EXPECT_EQ(reply.Header("access-control-allow-origin"), "");
  }
}

TEST_F(HttpServerTest, FilesAreCompressedForThoseWhoTakeIt) {
  const RawReply plain = Fetch("/assets/app-1.js", {});
  EXPECT_EQ(plain.body, kScript);
  EXPECT_THAT(plain.Header("content-type"), HasSubstr("text/javascript"));
  EXPECT_THAT(plain.Header("cache-control"), HasSubstr("immutable"));
  const RawReply small = Fetch("/assets/app-1.js", {{"Accept-Encoding", "br, gzip"}});
  EXPECT_EQ(small.Header("content-encoding"), "gzip");
  EXPECT_LT(small.body.size(), 200u);
  EXPECT_EQ(small.body.substr(0, 2), "\x1f\x8b");
  EXPECT_EQ(Fetch("/assets/none.js", {}).status, 404);
}

TEST_F(HttpServerTest, NobodyGetsAnEncodingThatTheyDoNotTake) {
  for (const char* takes : {"gzip", "br , gzip", "gzip;q=0.5", "br, gzip ; q=1.000"}) {
    const RawReply reply = Fetch("/assets/app-1.js", {{"Accept-Encoding", takes}});
    EXPECT_EQ(reply.Header("content-encoding"), "gzip") << takes;
  }
  for (const char* refuses : {"", "br", "gzip;q=0", "br, gzip; q=0.000", "gzip-2", "*;q=0"}) {
    const RawReply reply = Fetch("/assets/app-1.js", {{"Accept-Encoding", refuses}});
    EXPECT_EQ(reply.Header("content-encoding"), "") << refuses;
    EXPECT_EQ(reply.body.size(), kScript.size()) << refuses;
  }
}

TEST_F(HttpServerTest, AnUnchangedFileIsNotSentAgain) {
  const RawReply first = Fetch("/", {});
  EXPECT_EQ(first.Header("cache-control"), "no-cache");
  const RawReply second = Fetch("/", {{"If-None-Match", first.Header("etag")}});
  EXPECT_EQ(second.status, 304);
  EXPECT_EQ(second.headers.count("content-length"), 0u) << "0 would be the file's length";
  EXPECT_EQ(Fetch("/", {{"If-None-Match", "\"other\""}}).status, 200);
}

TEST_F(HttpServerTest, ReadyFollowsTheBackend) {
  EXPECT_EQ(Fetch("/readyz", {}).status, 200);
  ready_ = absl::UnavailableError("the disk is full");
  const RawReply reply = Fetch("/readyz", {});
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.body, "the disk is full\n");
}

TEST_F(HttpServerTest, MetricsArePrometheusText) {
  Fetch("/api/v1/missing");
  const std::string text = Fetch("/metrics").body;
  EXPECT_THAT(text, HasSubstr("normlab_runs{state=\"done\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("normlab_runs{state=\"failed\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("normlab_http_replies_total{status=\"404\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("normlab_live_streams 0\n"));
}

TEST_F(HttpServerTest, BadRequestsAreRefused) {
  struct Case {
    std::string bytes;
    int status;
  };
  for (const Case& c :
       {Case{"nonsense\r\n\r\n", 400}, Case{"GET / HTTP/1.1\r\n\r\n", 400},
        Case{"GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", 400},
        Case{"GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", 404},
        Case{"GET /api/v1/x?key=%z HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
        Case{"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(20000, 'a') + "\r\n\r\n",
             431},
        Case{"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9999999\r\n\r\n", 405}}) {
    LoopbackClient client(server_->port());
    client.Send(c.bytes);
    EXPECT_EQ(client.ReadReply().status, c.status) << c.bytes.substr(0, 60);
  }
}

TEST_F(HttpServerTest, ALiveStreamTellsWhatChanged) {
  LoopbackClient client(server_->port());
  client.Send(
      "GET /api/v1/live HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer the-token\r\n\r\n");
  const std::string head = client.ReadUntil("\r\n\r\n");
  EXPECT_THAT(head, HasSubstr("200 OK"));
  EXPECT_THAT(head, HasSubstr("text/event-stream"));
  client.ReadUntil("\n\n");  // how soon to connect again
  server_->Announce({SweepId(1)}, {RunId(2), RunId(3)});
  client.ReadUntil("event: change\n");
  EXPECT_EQ(client.ReadUntil("\n\n"), "data: {\"runs\":[\"r2\",\"r3\"],\"sweeps\":[\"s1\"]}\n\n");
  client.ReadUntil(": \n\n");  // a heartbeat when nothing happens
}

TEST_F(HttpServerTest, ChangesOfAMomentAreOneEvent) {
  LoopbackClient client(server_->port());
  client.Send(
      "GET /api/v1/live HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer the-token\r\n\r\n");
  client.ReadUntil("retry: 1000\n\n");
  client.ReadUntil(": \n\n");
  for (int run = 1; run <= 200; ++run) server_->Announce({}, {RunId(run)});
  server_->Announce({SweepId(9)}, {});
  const std::string all = client.ReadUntil("\"s9\"]}\n\n");
  size_t events = 0;
  for (size_t at = all.find("event:"); at != std::string::npos; at = all.find("event:", at + 1)) {
    ++events;
  }
  EXPECT_LT(events, 100u);
  for (int run = 1; run <= 200; ++run) EXPECT_THAT(all, HasSubstr(Cat("\"r", run, "\"")));
}

TEST_F(HttpServerTest, TheEndOfTheServerEndsItsStreams) {
  LoopbackClient client(server_->port());
  client.Send(
      "GET /api/v1/live HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer the-token\r\n\r\n");
  client.ReadUntil("retry: 1000\n\n");
  server_.reset();
  client.ReadUntil("");
  EXPECT_TRUE(client.AtEnd());
}

TEST_F(HttpServerTest, ListensOnEveryLoopbackAddress) {
  for (const char* address : {"127.0.0.2:0", "LOCALHOST:0"}) {
    HttpServerOptions options;
    options.address = address;
    EXPECT_THAT(HttpServer::Start(options, SiteBackends(), clock_, *random_), IsOk()) << address;
  }
}

TEST_F(HttpServerTest, RefusesOtherAddresses) {
  struct Case {
    std::string address;
    absl::StatusCode code;
  };
  for (const Case& c :
       {Case{"0.0.0.0:0", absl::StatusCode::kFailedPrecondition},
        Case{"127.0.0.1:80:0", absl::StatusCode::kFailedPrecondition},
        Case{"localhost", absl::StatusCode::kInvalidArgument},
        Case{Cat("127.0.0.1:", server_->port()), absl::StatusCode::kFailedPrecondition}}) {
    HttpServerOptions options;
    options.address = c.address;
    const auto server = HttpServer::Start(options, SiteBackends(), clock_, *random_);
    EXPECT_EQ(server.status().code(), c.code) << c.address;
  }
}

}  // namespace
}  // namespace normlab::server
