// A residual update with its next norm, and the update and the norm apart: the same bits, in both
// directions. Steps of a training run whose stream gradients are observed take them apart.
#include <gtest/gtest.h>

#include <utility>

#include "tests/kernels/backend.h"
#include "tests/kernels/residual_cases.h"
#include "tests/kernels/residual_run.h"

namespace normlab::kernels {
namespace {

// A bf16 stream would be rounded between the two; no model has one.
const TypePair kTypes[] = {kF32, kF64, kMixed};

// The next norm alone: what it writes, and what its gradients become.
struct NormAlone {
  NormAlone(normlab_dtype dtype, std::int64_t rows, std::int64_t cols)
      : y(dtype, rows, cols),
        g(dtype, rows, cols),
        dx(dtype, rows, cols),
        dgain(dtype, 1, cols),
        dbias(dtype, 1, cols),
        saved(static_cast<std::size_t>(NORMLAB_NORM_SAVED * rows + 1)) {}
  HostMatrix y, g, dx, dgain, dbias;
  std::vector<double> saved;
};

// An update, with or without its next norm, and what it writes.
struct Update {
  Update(const FormChoice& choice, TypePair types, const ResidualInputs& in)
      : form(choice, types, in.x.rows(), in.x.cols()), out(in) {}
  TestForm form;
  Results out;
};

class ApartTest : public testing::TestWithParam<std::string> {
 protected:
  ApartTest() : backend_(MakeBackend(GetParam())) {}

  void Forward(const ResidualInputs& in, Update& update) {
    ASSERT_EQ(backend_->ResidualForward(update.form.kernel(),
                                        ForwardArgs(update.form, in, update.out, {.probes = true}),
                                        update.form.learned_b()),
              NORMLAB_OK)
        << normlab_last_error();
  }

  void Backward(const ResidualInputs& in, const HostMatrix& dstream, Update& update) {
    normlab_residual_backward_args args = BackwardArgs(update.form, in, update.out);
    args.dstream = dstream.View();
    ASSERT_EQ(backend_->ResidualBackward(update.form.kernel(), args, update.form.learned_b()),
              NORMLAB_OK)
        << normlab_last_error();
  }

  // The norm of `stage` of the stream as stored, kept in the stream's type as a model keeps it.
  void Norm(const normlab_norm_stage& stage, const ResidualInputs& in, const HostMatrix& stream,
            NormAlone& norm) {
    for (std::int64_t r = 0; r < stream.rows(); ++r) {
      for (std::int64_t c = 0; c < stream.cols(); ++c) norm.g.Set(r, c, in.dnext.Get(r, c));
    }
    ASSERT_EQ(backend_->NormForward(stage.options, {stream.View(), stage.gain, stage.bias,
                                                    norm.y.View(), norm.saved.data()}),
              NORMLAB_OK)
        << normlab_last_error();
    ASSERT_EQ(backend_->NormBackward(
                  stage.options,
                  {norm.g.View(), stream.View(), stage.gain, norm.saved.data(), norm.dx.View(),
                   stage.dgain != nullptr ? norm.dgain.View().data : nullptr,
                   stage.dbias != nullptr ? norm.dbias.View().data : nullptr, nullptr}),
              NORMLAB_OK)
        << normlab_last_error();
  }

  void Check(const FormChoice& choice, TypePair types, std::int64_t rows, std::int64_t cols);

  std::unique_ptr<Backend> backend_;
};

// dL/dstream as automatic differentiation adds it up: one rounding.
HostMatrix Added(const HostMatrix& one, const HostMatrix& other) {
  HostMatrix sum(one.dtype(), one.rows(), one.cols());
  for (std::int64_t r = 0; r < one.rows(); ++r) {
    for (std::int64_t c = 0; c < one.cols(); ++c) sum.Set(r, c, one.Get(r, c) + other.Get(r, c));
  }
  return sum;
}

void ExpectSameParameters(const Update& fused, const Update& apart, const NormAlone& norm) {
  for (std::int64_t c = 0; c < norm.dgain.cols(); ++c) {
    for (const std::size_t stage : {0, 1}) {
      ASSERT_EQ(fused.form.Gain(stage, c), apart.form.Gain(stage, c)) << stage << " " << c;
      ASSERT_EQ(fused.form.Bias(stage, c), apart.form.Bias(stage, c)) << stage << " " << c;
    }
    if (!fused.form.HasParameters(2)) continue;
    ASSERT_EQ(fused.form.Gain(2, c), norm.dgain.Get(0, c)) << "dgain of next " << c;
    ASSERT_EQ(fused.form.Bias(2, c), norm.dbias.Get(0, c)) << "dbias of next " << c;
  }
}

void ApartTest::Check(const FormChoice& choice, TypePair types, std::int64_t rows,
                      std::int64_t cols) {
  SCOPED_TRACE(testing::Message() << Name(choice) << " " << rows << "x" << cols << " "
                                  << Name(types.stream) << "+" << Name(types.branch));
  const ResidualInputs in = MakeResidualInputs(types, rows, cols, 73);
  FormChoice without = choice;
  without.next = NormChoice::kNone;
  Update fused(choice, types, in), apart(without, types, in);
  NormAlone norm(types.stream, rows, cols);
  Forward(in, fused);
  Forward(in, apart);
  Norm(fused.form.kernel().next, in, apart.out.stream, norm);
  if (HasFatalFailure()) return;
  Backward(in, in.dstream, fused);
  Backward(in, Added(in.dstream, norm.dx), apart);

  HostMatrix next(types.branch, rows, cols);  // rounded where a matrix product would round it
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < cols; ++c) next.Set(r, c, norm.y.Get(r, c));
  }
  EXPECT_EQ(fused.out.stream.bytes(), apart.out.stream.bytes());
  EXPECT_EQ(fused.out.next.bytes(), next.bytes());
  EXPECT_EQ(fused.out.dx.bytes(), apart.out.dx.bytes());
  EXPECT_EQ(fused.out.dg.bytes(), apart.out.dg.bytes());
  EXPECT_EQ(fused.out.columns.bytes(), apart.out.columns.bytes());
  EXPECT_EQ(fused.out.db, apart.out.db);
  ExpectSameParameters(fused, apart, norm);
}

TEST_P(ApartTest, SameBitsForEveryForm) {
  const auto subnormal = static_cast<std::int64_t>(ResidualRegime::kSubnormal);
  for (const FormChoice& choice : FormChoices()) {
    if (choice.next == NormChoice::kNone) continue;
    const bool both = choice.branch != NormChoice::kNone && choice.post != NormChoice::kNone;
    for (const TypePair types : kTypes) {
      for (const std::int64_t cols : {100, 128, 136}) {
        // On CUDA this form has the kernel for any width at every width, which the norm has not.
        if (both && cols == 128) continue;
        Check(choice, types, choice.pb_relax != 0 ? subnormal : 9, cols);
        if (HasFailure()) return;
      }
    }
  }
}

const FormChoice kPreNorm{
    1, 1, false, NormChoice::kNone, NormChoice::kNone, NormChoice::kLayerNorm};

TEST_P(ApartTest, SameBitsAtEveryWidth) {
  const FormChoice choices[] = {
      kPreNorm, {1, 0.7, true, NormChoice::kNone, NormChoice::kRmsNorm, NormChoice::kRmsNorm}};
  for (const FormChoice& choice : choices) {
    for (const TypePair types : kTypes) {
      for (const std::int64_t cols : kWidths) {
        Check(choice, types, 3, cols);
        if (HasFailure()) return;
      }
    }
  }
}

// Column sums too, where every row group has several rows.
TEST_P(ApartTest, SameBitsBeyondTheGrid) {
  for (const auto& [rows, cols] : {std::pair<std::int64_t, std::int64_t>{2300, 128}, {720, 768}}) {
    Check(kPreNorm, kF32, rows, cols);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, ApartTest, testing::ValuesIn(BackendNames()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace normlab::kernels
