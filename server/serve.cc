#include "server/serve.h"

#include <sys/resource.h>
#include <unistd.h>

#include <iostream>
#include <memory>
#include <utility>

#include "core/clock.h"
#include "core/connect_file.h"
#include "core/data_folder.h"
#include "core/file.h"
#include "core/loopback.h"
#include "core/random.h"
#include "core/status.h"
#include "core/strings.h"
#include "core/version.h"
#include "nlohmann/json.hpp"
#include "server/dispatch/dispatcher.h"
#include "server/grpc_door.h"
#include "server/http/http_server.h"
#include "server/ingest/ingest.h"
#include "server/listen_address.h"
#include "server/local_workers.h"
#include "server/query/query_api.h"
#include "server/rpc/rpc_server.h"
#include "server/shutdown_signal.h"
#include "server/store/store.h"
#include "web/assets.h"

namespace normlab::server {
namespace {

constexpr char kDefaultHttp[] = "127.0.0.1:7421";
constexpr absl::Duration kTickPeriod = absl::Seconds(1);
constexpr absl::Duration kStopPoll = absl::Milliseconds(50);
constexpr int kTokenBytes = 32;
constexpr int kInstanceBytes = 8;

// What stays the same over restarts: read from the last connect file, made the first time.
absl::StatusOr<ConnectInfo> KeptIdentity(const DataFolder& data, RandomSource& random) {
  auto read = ReadConnectFile(data.ConnectFile());
  // Anything but a missing file: a new identity would cut off every worker that has the old one.
  if (!read.ok() && !absl::IsNotFound(read.status())) return read.status();
  ConnectInfo info = read.value_or(ConnectInfo());
  if (info.token.empty()) info.token = random.HexToken(kTokenBytes);
  if (info.instance.empty()) info.instance = random.HexToken(kInstanceBytes);
  return info;
}

// Every live stream and worker holds a descriptor; the usual soft limit is meant for programs that
// use select().
void RaiseFileLimit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

std::vector<StaticFile> Dashboard() {
  std::vector<StaticFile> files;
  for (const web::EmbeddedFile& file : web::EmbeddedFiles()) {
    files.push_back({file.path, file.bytes});
  }
  return files;
}

// Runs by state and workers by state, for /metrics.
std::vector<GaugeSample> Gauges(const QueryApi& query) {
  struct Gauge {
    const char* name;
    const char* help;
    const char* sql;
  };
  static constexpr Gauge kGauges[] = {
      {"normlab_runs", "Runs, by state", "SELECT state, count(*) FROM run_v GROUP BY 1"},
      {"normlab_workers", "Workers, by state", "SELECT state, count(*) FROM worker_v GROUP BY 1"},
      {"normlab_attempts", "Attempts, by state",
       "SELECT state, count(*) FROM attempt_v GROUP BY 1"}};
  std::vector<GaugeSample> samples;
  for (const Gauge& gauge : kGauges) {
    const auto answer = query.Get("/api/v1/query", {{"sql", gauge.sql}});
    if (!answer.ok()) continue;
    for (const nlohmann::json& row : answer->at("rows")) {
      samples.push_back({gauge.name, gauge.help, {{"state", row.at(0)}}, row.at(1)});
    }
  }
  return samples;
}

absl::StatusOr<std::unique_ptr<HttpServer>> StartHttp(const ServeOptions& options,
                                                      const ConnectInfo& kept,
                                                      SiteBackends backends) {
  HttpServerOptions http;
  http.token = kept.token;
  http.instance = kept.instance;
  http.hosts = options.http_hosts;
  http.files = Dashboard();
  const std::string first = ChooseAddress(options.http, kept.http, kDefaultHttp);
  ASSIGN_OR_RETURN(const std::vector<std::string> candidates, AddressCandidates(first));
  if (!IsLoopbackAddress(first)) {
    return FailedPrecondition("HTTP listens on loopback only, not on ", first,
                              "; reach it through `ssh -L`");
  }
  return StartOnFreePort(candidates, [&](const std::string& address) {
    http.address = address;
    return HttpServer::Start(http, backends, SystemClock(), OsRandom());
  });
}

absl::StatusOr<std::unique_ptr<RpcServer>> StartRpc(RpcServerOptions rpc, const Door& door,
                                                    const RpcBackends& backends) {
  ASSIGN_OR_RETURN(const std::vector<std::string> candidates, AddressCandidates(door.listen));
  if (door.certificate.certificate.empty() && !IsLoopbackAddress(door.listen)) {
    return FailedPrecondition(door.listen, " can be reached from other machines: that needs TLS. ",
                              "Add --tls (the server makes a certificate, which connect.json lets ",
                              "workers trust), or --cert and --key with one of your own");
  }
  rpc.certificate_file = door.certificate.certificate;
  rpc.key_file = door.certificate.key;
  return StartOnFreePort(candidates, [&](const std::string& address) {
    rpc.address = address;
    return RpcServer::Start(rpc, backends);
  });
}

LocalWorkersOptions ChooseWorkers(const ServeOptions& options) {
  LocalWorkersOptions workers;
  workers.count = options.local_workers < 0 ? 1 : options.local_workers;
  workers.gpus = LocalGpus();
  workers.program = options.program;
  workers.trainer_path = options.trainer_path;
  workers.cpus = LocalCpus();
  return workers;
}

// Until a signal asks for the end (OK), or the store has failed.
absl::Status TickUntilSignal(ShutdownSignal& signals, Dispatcher& dispatcher, const Ingest& ingest,
                             const Store& store) {
  while (!signals.WaitFor(kTickPeriod)) {
    RETURN_IF_ERROR(dispatcher.Tick());
    RETURN_IF_ERROR(store.Health());
    RETURN_IF_ERROR(ingest.Health());
  }
  return absl::OkStatus();
}

// Local workers hand their logs over before anything else ends. A second signal hurries them.
void StopWorkers(ShutdownSignal& signals, LocalWorkers& workers) {
  workers.Stop();
  while (!workers.Ended()) {
    if (signals.WaitFor(kStopPoll)) workers.Stop();
  }
}

absl::Status Run(const ServeOptions& options) {
  ShutdownSignal signals;
  RaiseFileLimit();
  Clock& clock = SystemClock();
  const DataFolder data(options.data_dir);
  RETURN_IF_ERROR(MakeDirs(data.root(), 0700));

  ASSIGN_OR_RETURN(const std::unique_ptr<Store> store,
                   Store::Open({data.Database(), data.LockFile()}));
  ASSIGN_OR_RETURN(const ConnectInfo kept, KeptIdentity(data, OsRandom()));

  DispatcherOptions dispatcher_options;
  dispatcher_options.datasets_dir = data.Datasets();
  ASSIGN_OR_RETURN(const std::unique_ptr<Dispatcher> dispatcher,
                   Dispatcher::Open(dispatcher_options, store->runs(), clock, OsRandom()));

  ASSIGN_OR_RETURN(
      const std::unique_ptr<QueryApi> query,
      QueryApi::Open(data.Database(), clock, {kept.instance, data.root(), FormatUtc(clock.Now())}));
  const auto read = [&query](const std::string& path, const Params& params) {
    return query->Get(path, params);
  };

  const auto ready = [&] {
    const absl::Status health = store->Health();
    return health.ok() ? dispatcher->Health() : health;
  };
  ASSIGN_OR_RETURN(const std::unique_ptr<HttpServer> http,
                   StartHttp(options, kept, {read, ready, [&query] { return Gauges(*query); }}));

  const auto announce = [&http](const std::set<SweepId>& sweeps, const std::set<RunId>& runs) {
    http->Announce(sweeps, runs);
  };
  dispatcher->SetChangeListener(announce);
  Ingest ingest(
      store->metrics(), clock,
      {[&](const std::vector<AttemptNews>& news) { return dispatcher->OnAttemptNews(news); },
       announce,
       [](const std::string& what) { std::cerr << "normlab serve: " << what << std::endl; }});

  ASSIGN_OR_RETURN(Door door, ChooseDoor(options, kept, data));
  ASSIGN_OR_RETURN(
      const std::unique_ptr<RpcServer> rpc,
      StartRpc({"", kept.token, "", "", data.Datasets(), OsRandom().HexToken(kInstanceBytes),
                kept.instance},
               door, {dispatcher.get(), &ingest, read, [&http]() -> absl::StatusOr<std::string> {
                        return http->OneTimeKey();
                      }}));

  const std::string http_address =
      WithPort(ChooseAddress(options.http, kept.http, kDefaultHttp), http->port());
  door.listen = WithPort(door.listen, rpc->port());
  ASSIGN_OR_RETURN(const ConnectInfo info, Described(kept, options, door, http_address));
  RETURN_IF_ERROR(WriteConnectFile(data.ConnectFile(), info));
  std::cout << "normlab " << kVersion << " serves " << data.root() << ": dashboard http://"
            << http_address << " (`normlab open` lets a browser in), gRPC " << door.listen
            << (door.certificate.ca.empty() ? "" : " with TLS") << std::endl;

  LocalWorkers workers(ChooseWorkers(options), data, clock);
  const absl::Status ended = TickUntilSignal(signals, *dispatcher, ingest, *store);
  StopWorkers(signals, workers);
  return ended;
}

int ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return 0;
  if (absl::IsInvalidArgument(status)) return 2;
  return absl::IsFailedPrecondition(status) ? 4 : 1;
}

}  // namespace

int Serve(const ServeOptions& options) {
  const absl::Status status = Run(options);
  if (!status.ok()) std::cerr << "normlab serve: " << status.message() << std::endl;
  return ExitCodeOf(status);
}

}  // namespace normlab::server
