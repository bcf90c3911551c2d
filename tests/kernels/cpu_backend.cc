#include "kernels/common/past_caches.h"
#include "tests/kernels/backends.h"

namespace normlab::kernels {
namespace {

// The CPU interface takes learned numbers as it takes the others.
normlab_residual_form WithB(normlab_residual_form form, std::optional<double> learned_b) {
  form.b *= learned_b.value_or(1);
  return form;
}

// One instruction set of the CPU, in force as long as this lives.
class CpuBackend : public Backend {
 public:
  CpuBackend(const std::string& isa, bool past_caches) : isa_(isa) {
    normlab_force_cpu_isa(isa.c_str());
    if (past_caches) SetPastCachesFrom(0);
  }
  ~CpuBackend() override {
    normlab_force_cpu_isa(nullptr);
    SetPastCachesFrom(-1);
  }
  std::string Name() const override { return isa_; }

  int GeoNormForward(const normlab_geonorm_options& options,
                     const normlab_geonorm_forward_args& args,
                     const LearnedNumbers& learned) override {
    const normlab_geonorm_options numbers = WithNumbers(options, learned);
    return normlab_geonorm_forward(&numbers, &args, nullptr);
  }
  int GeoNormBackward(const normlab_geonorm_options& options,
                      const normlab_geonorm_backward_args& args,
                      const LearnedNumbers& learned) override {
    const normlab_geonorm_options numbers = WithNumbers(options, learned);
    return normlab_geonorm_backward(&numbers, &args, nullptr);
  }
  int NormForward(const normlab_norm_options& options,
                  const normlab_norm_forward_args& args) override {
    return normlab_norm_forward(&options, &args, nullptr);
  }
  int NormBackward(const normlab_norm_options& options, normlab_norm_backward_args args) override {
    const std::int64_t bytes =
        normlab_norm_backward_workspace(args.x.rows, args.x.cols, args.x.dtype);
    std::vector<double> workspace(static_cast<std::size_t>(bytes / 8 + 1));
    args.workspace = bytes > 0 ? workspace.data() : nullptr;
    return normlab_norm_backward(&options, &args, nullptr);
  }
  int ResidualForward(const normlab_residual_form& form, const normlab_residual_forward_args& given,
                      std::optional<double> learned_b) override {
    const normlab_residual_form numbers = WithB(form, learned_b);
    normlab_residual_forward_args args = given;
    const std::int64_t bytes =
        normlab_residual_forward_workspace(args.x.rows, args.x.cols, args.x.dtype);
    std::vector<double> workspace(static_cast<std::size_t>(bytes / 8 + 1));
    args.workspace = workspace.data();
    return normlab_residual_forward(&numbers, &args, nullptr);
  }
  int ResidualBackward(const normlab_residual_form& form, normlab_residual_backward_args args,
                       std::optional<double> learned_b) override {
    const normlab_residual_form numbers = WithB(form, learned_b);
    const std::int64_t bytes =
        normlab_residual_backward_workspace(args.dx.rows, args.dx.cols, args.dx.dtype);
    std::vector<double> workspace(static_cast<std::size_t>(bytes / 8 + 1));
    args.workspace = bytes > 0 ? workspace.data() : nullptr;
    return normlab_residual_backward(&numbers, &args, nullptr);
  }

 private:
  std::string isa_;
};

}  // namespace

std::unique_ptr<Backend> MakeCpuBackend(const std::string& isa, bool past_caches) {
  return std::make_unique<CpuBackend>(isa, past_caches);
}

}  // namespace normlab::kernels
