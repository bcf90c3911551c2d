#include "tests/server/dispatch/server_lab.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/dataset.h"
#include "core/envelope.h"
#include "core/file.h"
#include "core/json.h"
#include "core/strings.h"
#include "core/sweep/sweep_spec.h"
#include "core/version.h"
#include "nlohmann/json.hpp"

namespace normlab::server {

ServerLab::ServerLab(uint64_t seed) : random_(SeededRandom(seed)) {
  DatasetMeta meta;
  meta.name = "kjv";
  meta.vocab = 256;
  meta.train_tokens = 100000;
  meta.val_tokens = 10000;
  meta.tokenizer = "bytes";
  meta.train_sha256 = std::string(64, 'a');
  meta.val_sha256 = std::string(64, 'b');
  meta.sha256 = DatasetSha256(meta.train_sha256, meta.val_sha256);
  meta.unigram_entropy = 3.1;
  CHECK_OK(MakeDirs(dir_.File("datasets/kjv")));
  CHECK_OK(WriteFileDurably(dir_.File("datasets/kjv/meta.json"), DumpStrict(ToJson(meta))));
  Restart();
}

ServerLab::~ServerLab() = default;

void ServerLab::Restart() {
  ingest_.reset();
  dispatcher_.reset();
  store_.reset();
  store_ = *Store::Open({dir_.File("normlab.db"), dir_.File("LOCK")});
  DispatcherOptions options;
  options.datasets_dir = dir_.File("datasets");
  dispatcher_ = *Dispatcher::Open(options, store_->runs(), clock_, *random_);
  IngestListeners listeners;
  listeners.news = [this](const std::vector<AttemptNews>& news) {
    return dispatcher_->OnAttemptNews(news);
  };
  listeners.changed = [](const std::set<SweepId>&, const std::set<RunId>&) {};
  ingest_ = std::make_unique<Ingest>(store_->metrics(), clock_, listeners);
}

std::string ServerLab::Spec(const std::vector<std::string>& placements, int seeds,
                            const std::string& base) {
  std::string text = Cat("name: lab\nbase: ", base, "\nfactors:\n  norm.placement: [",
                         Join(placements, ", "), "]\n");
  std::vector<SpecError> errors;
  auto spec = SweepSpec::ParseYaml(text, "lab.yaml", errors);
  for (const SpecError& error : errors) ADD_FAILURE() << error.ToString();
  CHECK_OK(spec->SetSeeds(seeds));
  return DumpStrict(spec->ToJson());
}

SubmitReply ServerLab::Submit(const std::string& spec, const std::string& key, bool fresh,
                              bool dry_run) {
  SubmitRequest request;
  request.spec_json = spec;
  request.client_key = key;
  request.fresh = fresh;
  request.dry_run = dry_run;
  const auto reply = dispatcher_->Submit(request);
  EXPECT_TRUE(reply.ok()) << reply.status();
  return reply.value_or(SubmitReply());
}

SqlValue ServerLab::Ask(const std::string& sql) {
  const auto reader = *ReadOnlyStore::Open(dir_.File("normlab.db"));
  const auto rows = reader->Query(sql);
  EXPECT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(rows->rows.size(), 1u) << sql;
  return rows->rows.empty() ? SqlValue() : rows->rows[0][0];
}

LabWorker::LabWorker(ServerLab& lab, std::string name, int slots)
    : lab_(lab), name_(std::move(name)), slots_(slots) {}

double LabWorker::Loss(int64_t run, int64_t step) {
  return 2 + std::exp(-static_cast<double>(step) / 20) + 0.001 * static_cast<double>(run);
}

bool LabWorker::Call() {
  SyncRequest request;
  request.worker = WorkerId(name_);
  request.incarnation = Incarnation(Cat(name_, "-", starts_));
  request.versions.protocol = kProtocolVersion;
  request.versions.trainer_math = kTrainerMath;
  request.versions.isa = isa_;
  request.resources = {"host", slots_, 8, int64_t{16} << 30, {}};
  request.store_id = "shared";
  for (const auto& [token, log] : logs_) {
    request.held.push_back(
        {log.run, log.attempt, token, log.finished, log.records.size(), log.step});
  }
  const auto reply = lab_.dispatcher().Synchronize(request);
  if (!reply.ok()) return false;
  for (const LeaseToken token : reply->confirmed) logs_.erase(token);
  for (const StopOrder& stop : reply->stop) {
    const auto found = logs_.find(stop.token);
    if (found != logs_.end()) End(found->second, std::string(ToString(stop.reason)));
  }
  for (const DesiredAttempt& desired : reply->desired) {
    if (!logs_.contains(desired.token)) Begin(desired);
  }
  return true;
}

void LabWorker::Begin(const DesiredAttempt& desired) {
  ASSERT_FALSE(desired.envelope_json.empty());
  const auto envelope = EnvelopeFromJson(*ParseJson(desired.envelope_json));
  ASSERT_TRUE(envelope.ok()) << envelope.status();
  ASSERT_EQ(envelope->token, desired.token);
  Log log{desired.run, desired.attempt, desired.token, {}, 0, false};
  HelloRecord hello;
  if (envelope->resume.has_value()) {
    const auto& ancestors = envelope->resume->ancestors;
    log.step =
        parents_lost_ && !ancestors.empty() ? ancestors.front().step - 10 : envelope->resume->step;
    hello.resumed_from_step = log.step;
  }
  log.records.push_back(EncodeRecord(hello));
  logs_.emplace(desired.token, std::move(log));
}

void LabWorker::Train(int steps, int64_t total_steps) {
  for (auto& [token, log] : logs_) {
    for (int i = 0; i < steps && !log.finished; ++i) {
      ++log.step;
      ScalarsRecord scalars{log.step,
                            {{"train_loss", Loss(log.run.value(), log.step)}, {"grad_norm", 1}}};
      log.records.push_back(EncodeRecord(scalars));
      if (log.step % 10 == 0) {
        log.records.push_back(EncodeRecord(CheckpointRecord{log.step, "/c", "", 1}));
      }
      if (log.step >= total_steps) {
        log.records.push_back(EncodeRecord(EvalRecord{log.step, 2.0, 7.4, 7.5}));
        End(log, "");
      }
    }
  }
}

void LabWorker::End(Log& log, const std::string& reason) {
  if (log.finished) return;
  ExitRecord exit;
  exit.reason = reason;
  exit.last_step = log.step;
  exit.wall_s = 1;
  log.records.push_back(EncodeRecord(exit));
  log.finished = true;
}

bool LabWorker::Send(int max_records) {
  bool sent = true;
  for (const auto& [token, log] : logs_) {
    const auto acked = lab_.ingest().Append({token, log.run, log.attempt, 1, {}});
    if (!acked.ok()) {
      sent = false;
      continue;
    }
    AppendRequest request{token, log.run, log.attempt, *acked + 1, {}};
    const size_t end = std::min(log.records.size(), *acked + static_cast<size_t>(max_records));
    request.records.assign(log.records.begin() + static_cast<std::ptrdiff_t>(*acked),
                           log.records.begin() + static_cast<std::ptrdiff_t>(end));
    sent = lab_.ingest().Append(request).ok() && sent;
  }
  return sent;
}

void LabWorker::Crash() {
  ++starts_;
  for (auto& [token, log] : logs_) End(log, "lost_worker");
}

}  // namespace normlab::server
