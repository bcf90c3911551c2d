#include "cli/watch.h"

#include <algorithm>
#include <memory>
#include <sstream>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_format.h"
#include "cli/poll.h"
#include "cli/verbs.h"
#include "core/strings.h"
#include "nlohmann/json.hpp"

namespace normlab::cli {
namespace {

using nlohmann::json;

constexpr absl::Duration kPeriod = absl::Milliseconds(500);
constexpr int kBarWidth = 30;

std::string Bar(double share) {
  const int full = static_cast<int>(std::clamp(share, 0.0, 1.0) * kBarWidth);
  return Cat("[", std::string(full, '#'), std::string(kBarWidth - full, '.'), "]");
}

std::string HeadLine(const json& sweep) {
  const json& counts = sweep.at("counts");
  std::string text = absl::StrFormat(
      "%s %s  %s %3.0f %%  %d done, %d running, %d waiting, %d failed",
      sweep.at("id").get<std::string>(), sweep.at("name").get<std::string>(),
      Bar(sweep.at("progress").get<double>()), 100 * sweep.at("progress").get<double>(),
      counts.at("done").get<int>(), counts.at("running").get<int>(),
      counts.at("queued").get<int>() + counts.at("waiting").get<int>(),
      counts.at("failed").get<int>());
  const int cancelled = counts.at("cancelled").get<int>();
  if (cancelled > 0) text += Cat(", ", cancelled, " cancelled");
  const int diverged = sweep.at("outcomes").at("diverged").get<int>();
  if (diverged > 0) text += Cat(", ", diverged, " diverged");
  const json& eta = sweep.at("eta_s");
  if (eta.is_number() && sweep.at("state") == "running") {
    text +=
        Cat(", about ",
            absl::FormatDuration(absl::Seconds(static_cast<int64_t>(eta.get<double>()))), " left");
  }
  return text;
}

bool HasEnded(const json& sweep) {
  const std::string state = sweep.at("state");
  return state == "done" || state == "failed" || state == "cancelled";
}

int ExitCodeAtEnd(const json& sweep, bool fail_on_diverged) {
  if (sweep.at("counts").at("failed").get<int>() > 0) return kExitRunsFailed;
  if (sweep.at("counts").at("cancelled").get<int>() > 0) return kExitRunsFailed;
  const bool diverged = sweep.at("outcomes").at("diverged").get<int>() > 0;
  return fail_on_diverged && diverged ? kExitRunsFailed : kExitFine;
}

// Draws the state over the lines that the last call drew.
class Screen {
 public:
  explicit Screen(std::ostream& out) : out_(out) {}

  void Draw(const json& sweep, const json& runs) {
    std::ostringstream text;
    text << HeadLine(sweep) << "\n";
    json rows = json::array();
    for (const json& run : runs) {
      if (run.at("state") == "running") rows.push_back(run);
    }
    if (!rows.empty()) {
      Listing listing;
      listing.rows = &rows;
      listing.columns = {{"id", "run"},
                         {"label", "arm"},
                         {"seed", "seed", Align::kRight},
                         {"step", "step", Align::kRight},
                         {"steps", "of", Align::kRight},
                         {"train_loss", "train loss", Align::kRight},
                         {"val_loss", "val loss", Align::kRight},
                         {"tokens_per_s", "tokens/s", Align::kRight}};
      PrintListing(listing, OutputMode::kTable, text);
    }
    Replace(text.str());
  }

 private:
  void Replace(const std::string& text) {
    if (lines_ > 0) out_ << "\x1b[" << lines_ << "A\x1b[J";
    out_ << text;
    out_.flush();
    lines_ = std::count(text.begin(), text.end(), '\n');
  }

  std::ostream& out_;
  int64_t lines_ = 0;
};

// One line whenever a count or a tenth of the progress changes.
class Ticker {
 public:
  explicit Ticker(std::ostream& out) : out_(out) {}

  void Report(const json& sweep) {
    const std::string mark =
        Cat(sweep.at("counts").dump(), static_cast<int>(10 * sweep.at("progress").get<double>()));
    if (mark == last_) return;
    last_ = mark;
    out_ << HeadLine(sweep) << std::endl;
  }

 private:
  std::ostream& out_;
  std::string last_;
};

// Progress goes to people: on the error stream when standard output carries a document.
std::ostream& ProgressStream(Context& context) {
  return context.mode == OutputMode::kTable ? *context.out : *context.err;
}

void RunWatch(Context& context, const WatchOptions& options) {
  absl::StatusOr<Source> source = Source::Find(context);
  if (!source.ok()) return Fail(context, source.status());
  WatchSweep(context, *source, options);
}

}  // namespace

void WatchSweep(Context& context, const Source& source, const WatchOptions& options) {
  CatchInterrupt();
  const absl::Time end = context.clock->MonotonicNow() + options.timeout;
  const bool in_place = context.out_is_terminal && context.mode == OutputMode::kTable;
  Screen screen(*context.out);
  Ticker ticker(ProgressStream(context));
  while (true) {
    absl::StatusOr<json> document = source.Get(SweepPath(options.sweep));
    if (!document.ok()) return Fail(context, document.status());
    const json& sweep = document->at("sweep");
    if (options.show_progress && in_place) {
      absl::StatusOr<json> runs = source.Get(SweepPath(options.sweep, "/runs"));
      screen.Draw(sweep, runs.ok() ? runs->at("runs") : json::array());
    } else if (options.show_progress) {
      ticker.Report(sweep);
    }
    if (HasEnded(sweep) || source.offline()) {
      context.exit_code = ExitCodeAtEnd(sweep, options.fail_on_diverged);
      if (context.mode == OutputMode::kJson) PrintDocument(*document, *context.out);
      return;
    }
    if (context.clock->MonotonicNow() >= end) {
      return Fail(context, absl::DeadlineExceededError(
                               Cat("sweep ", sweep.at("id").get<std::string>(),
                                   " has not ended within the time-out; it goes on")));
    }
    if (WaitOrInterrupted(*context.clock, kPeriod)) {
      context.exit_code = kExitInterrupted;
      return;
    }
  }
}

void AddWatch(CLI::App& app, Context& context) {
  CLI::App* verb = AddSubcommand(app, "watch", "Follow a sweep until it ends",
                                 {"normlab watch last", "normlab watch s3 --timeout 2h"});
  AddServerOptions(verb, context);
  AddOutputOptions(verb, context);
  auto options = std::make_shared<WatchOptions>();
  verb->add_option("SWEEP", options->sweep, "last, s3, or a name or its unique prefix");
  verb->add_flag("--fail-on-diverged", options->fail_on_diverged,
                 "exit with 1 when a run diverged");
  verb->add_option_function<std::string>(
          "--timeout",
          [options](const std::string& text) {
            if (!absl::ParseDuration(text, &options->timeout) ||
                options->timeout <= absl::ZeroDuration()) {
              throw CLI::ValidationError("--timeout", "a duration such as 90s, 30m or 2h");
            }
          },
          "give up after this long (exit code 124)")
      ->type_name("DURATION");
  verb->callback([&context, options] { RunWatch(context, *options); });
}

}  // namespace normlab::cli
