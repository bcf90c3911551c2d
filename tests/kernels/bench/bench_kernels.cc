// bench-kernels: our operations against torch.add on the same bytes, PyTorch's own norms and
// GeoNorm composed of tensor operations, in one run on the same buffers. Before anything is timed,
// both sides must compute the same. `bench-kernels --help` tells the options.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>
#include <c10/util/Exception.h>

#include <cstdio>

#include "CLI/CLI.hpp"
#include "core/clock.h"
#include "kernels/torch/norm_ops.h"
#include "kernels/torch/residual_ops.h"
#include "kernels/torch/tensor_access.h"
#include "kernels/torch/torch_threads.h"
#include "tests/kernels/bench/paired_timing.h"
#include "tests/kernels/bench/report.h"
#include "tests/kernels/bench/torch_peers.h"

namespace normlab::kernels {
namespace {

using bench::Estimate;
using bench::MedianOf;
using bench::RatioOf;
using bench::Report;

struct Arguments {
  bool json = false;
  std::int64_t rows = 8192;
  int rounds = 15;
  int threads = 0;
  std::string filter;
};

// One size and storage type.
struct Setting {
  const Arguments& arguments;
  std::int64_t cols;
  at::ScalarType type;
  std::string suffix;  // "/8192x768/f32/"

  bool Wants(const std::string& group) const {
    return group.find(arguments.filter) != std::string::npos;
  }
  std::vector<std::vector<double>> Time(const std::vector<std::function<void()>>& functions) const {
    return bench::TimeInTurn(SystemClock(), functions, {arguments.rounds});
  }
  double BytesPerTensor() const {
    return static_cast<double>(arguments.rows * cols) * static_cast<double>(elementSize(type));
  }
  at::Tensor Leaf() const { return RandomLeaf({arguments.rows, cols}, type); }
};

Estimate Speed(const std::vector<double>& seconds, double bytes) {
  std::vector<double> values;
  for (const double entry : seconds) values.push_back(bytes / entry / 1e9);
  return MedianOf(std::move(values));
}

// The six matrices of a GeoNorm side by side, so that torch.add can be given the very bytes of a
// pass: how much of them the caches hold decides how fast either is.
struct GeoNormMemory {
  explicit GeoNormMemory(const Setting& setting)
      : rows(setting.arguments.rows), cols(setting.cols) {
    all = at::empty({6 * rows * cols}, setting.type);
    for (const at::Tensor& input : {x(), v(), g()}) input.copy_(setting.Leaf());
  }
  at::Tensor At(std::int64_t which) const {
    return all.narrow(0, which * rows * cols, rows * cols).view({rows, cols});
  }
  at::Tensor y() const { return At(0); }
  at::Tensor x() const { return At(1); }
  at::Tensor v() const { return At(2); }
  at::Tensor g() const { return At(3); }
  at::Tensor dx() const { return At(4); }
  at::Tensor dv() const { return At(5); }

  // The five matrices of the backward pass as three: the third, which begins within dx, is written.
  at::Tensor BackwardThird(std::int64_t which) const {
    constexpr std::int64_t kLine = 64;  // begins at a line of the cache, whatever the type
    const std::int64_t third = 5 * rows * cols / 3 / kLine * kLine;
    return all.narrow(0, rows * cols + which * third, third);
  }

  std::int64_t rows, cols;
  at::Tensor all;
};

// The kernels alone, on buffers that exist, against torch.add on the same bytes.
void GeoNormAgainstAdd(const Setting& setting, Report& report) {
  const std::string group = "geonorm" + setting.suffix;
  if (!setting.Wants(group)) return;
  c10::NoGradGuard no_grad;
  const GeoNormMemory memory(setting);
  at::Tensor x = memory.x(), v = memory.v(), g = memory.g();
  at::Tensor y = memory.y(), dx = memory.dx(), dv = memory.dv();
  at::Tensor third = memory.BackwardThird(2);
  at::Tensor saved = at::empty({x.size(0), NORMLAB_GEONORM_SAVED}, at::kFloat);
  const normlab_geonorm_options options{NORMLAB_EXP, 0.5, 1, 0, 0, 0, 0};
  const normlab_geonorm_forward_args forward{AsMatrix("x", x), AsMatrix("v", v), AsMatrix("y", y),
                                             saved.data_ptr(), nullptr,          nullptr};
  const normlab_geonorm_backward_args backward{
      AsMatrix("g", g),   AsMatrix("x", x),   AsMatrix("v", v), saved.data_ptr(),
      AsMatrix("dx", dx), AsMatrix("dv", dv), nullptr};
  const auto run_forward = [&] {
    ThrowUnlessOk(normlab_geonorm_forward(&options, &forward, TorchExecutor()));
  };
  const auto run_backward = [&] {
    ThrowUnlessOk(normlab_geonorm_backward(&options, &backward, TorchExecutor()));
  };
  const auto add_forward = [&] { at::add_out(y, x, v); };
  const auto add_backward = [&] {
    at::add_out(third, memory.BackwardThird(0), memory.BackwardThird(1));
  };
  const auto seconds = setting.Time({add_forward, run_forward, add_backward, run_backward,
                                     [&] { add_forward(), add_backward(); },
                                     [&] { run_forward(), run_backward(); }});
  const double bytes = setting.BytesPerTensor();
  const double backward_bytes = 3.0 * static_cast<double>(third.nbytes());
  report.Add("add" + setting.suffix + "gb_per_s", Speed(seconds[0], 3 * bytes), "GB/s");
  const std::tuple<const char*, double, double> directions[] = {
      {"fwd", 3 * bytes, 3 * bytes},
      {"bwd", 5 * bytes, backward_bytes},
      {"fwd+bwd", 8 * bytes, 3 * bytes + backward_bytes}};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto& [name, ours, peers] = directions[i];
    report.Add(group + name + "/gb_per_s", Speed(seconds[2 * i + 1], ours), "GB/s");
    report.Add(group + name + "/vs_add_bytes",
               RatioOf(seconds[2 * i + 1], seconds[2 * i], ours / peers), "ratio");
  }
}

void Pair(const Setting& setting, Report& report, const std::string& name, const Computation& ours,
          const Computation& peer) {
  const auto difference = Difference(ours(), peer());
  TORCH_CHECK(!difference.has_value(), name, ": ", difference.value_or(""));
  const auto seconds = setting.Time({[&] { ours(); }, [&] { peer(); }});
  report.Add(name, RatioOf(seconds[0], seconds[1], 1), "ratio");
}

void GeoNormAgainstComposed(const Setting& setting, Report& report) {
  const std::string group = "geonorm" + setting.suffix;
  if (!setting.Wants(group)) return;
  const at::Tensor x = setting.Leaf(), v = setting.Leaf(), g = setting.Leaf().detach();
  GeoNormOptions options;
  options.alpha = 0.5;
  Pair(setting, report, group + "fwd+bwd/vs_composed",
       BothWays([=] { return GeoNorm(x, v, options); }, {x, v}, g),
       BothWays([=] { return ComposedGeoNorm(x, v, 0.5); }, {x, v}, g));
}

void NormsAgainstTorch(const Setting& setting, Report& report) {
  const at::Tensor x = setting.Leaf(), g = setting.Leaf().detach();
  const at::Tensor gain = RandomLeaf({setting.cols}, setting.type);
  const at::Tensor bias = RandomLeaf({setting.cols}, setting.type);
  const std::int64_t width = setting.cols;
  const auto layer = [=] { return LayerNorm(x, gain, bias, 1e-5); };
  const auto torch_layer = [=] { return at::layer_norm(x, {width}, gain, bias, 1e-5); };
  const auto rms = [=] { return RmsNorm(x, gain, 1e-5); };
  const auto torch_rms = [=] { return at::rms_norm(x, {width}, gain, 1e-5); };
  if (setting.Wants("layernorm" + setting.suffix)) {
    const std::string group = "layernorm" + setting.suffix;
    Pair(setting, report, group + "fwd/vs_torch", ForwardOnly(layer), ForwardOnly(torch_layer));
    Pair(setting, report, group + "fwd+bwd/vs_torch", BothWays(layer, {x, gain, bias}, g),
         BothWays(torch_layer, {x, gain, bias}, g));
  }
  if (setting.Wants("rmsnorm" + setting.suffix)) {
    const std::string group = "rmsnorm" + setting.suffix;
    Pair(setting, report, group + "fwd/vs_torch", ForwardOnly(rms), ForwardOnly(torch_rms));
    Pair(setting, report, group + "fwd+bwd/vs_torch", BothWays(rms, {x, gain}, g),
         BothWays(torch_rms, {x, gain}, g));
  }
}

// The pre-norm update: stream = x + g and the next sublayer's LayerNorm of it.
void ResidualAgainstTorch(const Setting& setting, Report& report) {
  const std::string group = "residual-pre" + setting.suffix;
  if (!setting.Wants(group)) return;
  const at::Tensor x = setting.Leaf(), g = setting.Leaf(), up = setting.Leaf().detach();
  const at::Tensor gain = RandomLeaf({setting.cols}, setting.type);
  const std::int64_t width = setting.cols;
  ResidualSpec spec;
  spec.next_norm = NormSpec{NORMLAB_LAYERNORM, gain, {}, 1e-5, false};
  Pair(setting, report, group + "fwd+bwd/vs_torch",
       BothWays([=] { return Residual(x, g, spec).next; }, {x, g, gain}, up),
       BothWays([=] { return at::layer_norm(x + g, {width}, gain, {}, 1e-5); }, {x, g, gain}, up));
}

void Measure(const Arguments& arguments, Report& report) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    for (const std::int64_t cols : {128, 768, 1600}) {
      const Setting setting{arguments, cols, type,
                            "/" + std::to_string(arguments.rows) + "x" + std::to_string(cols) +
                                (type == at::kFloat ? "/f32/" : "/bf16/")};
      GeoNormAgainstAdd(setting, report);
      GeoNormAgainstComposed(setting, report);
      NormsAgainstTorch(setting, report);
      ResidualAgainstTorch(setting, report);
    }
  }
}

int Main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app(
      "Times normlab's operations at 8192 x {128, 768, 1600} in fp32 and bf16 against torch.add on "
      "the\n"
      "same bytes, PyTorch's own norms, and GeoNorm composed of tensor operations. Ratios above 1 "
      "mean\n"
      "that ours is faster; spread is half the distance between the quartiles over the rounds.",
      "bench-kernels");
  app.add_flag("--json", arguments.json,
               "print an array of {name, value, unit, spread}, at the end");
  app.add_option("--rows", arguments.rows, "rows of the matrices, instead of 8192")
      ->check(CLI::Range(1, 1 << 28));
  app.add_option("--rounds", arguments.rounds, "rounds in which ours and the peers take turns (15)")
      ->check(CLI::Range(1, 100000));
  app.add_option("--threads", arguments.threads, "threads of both sides (those of LibTorch)")
      ->check(CLI::Range(1, 4096));
  app.add_option("--filter", arguments.filter,
                 "only groups whose name has this in it, such as geonorm/8192x768/f32");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (arguments.threads > 0) at::set_num_threads(arguments.threads);
  Report report(arguments.json);
  try {
    Measure(arguments, report);
  } catch (const c10::Error& error) {
    std::fprintf(stderr, "bench-kernels: could not measure: %s\n", error.what_without_backtrace());
    return 1;
  }
  report.Print();
  if (report.empty()) std::fprintf(stderr, "bench-kernels: the filter matches no bench\n");
  return report.empty() ? 1 : 0;
}

}  // namespace
}  // namespace normlab::kernels

int main(int argc, char** argv) { return normlab::kernels::Main(argc, argv); }
