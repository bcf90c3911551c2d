#include "tests/kernels/device_backend.h"

#include <cmath>
#include <cstring>
#include <deque>
#include <utility>

namespace normlab::kernels {
namespace {

std::int64_t RealSize(normlab_dtype stream) { return stream == NORMLAB_F64 ? 8 : 4; }
std::int64_t ElementSize(normlab_dtype dtype) {
  return dtype == NORMLAB_BF16 ? 2 : RealSize(dtype);
}

// Moves the pointers of arguments into the memory of the device.
class Mover {
 public:
  explicit Mover(DeviceMemory& memory) : memory_(memory) {}

  void Matrix(normlab_matrix& m) {
    if (m.rows < 1) return;  // some shapes are there to be refused
    Bytes(m.data, ((m.rows - 1) * m.row_stride + m.cols) * ElementSize(m.dtype));
  }
  template <class Pointer>
  void Bytes(Pointer& data, std::int64_t bytes) {
    if (data != nullptr && bytes > 0) data = static_cast<Pointer>(memory_.Use(data, bytes));
  }
  void Stage(normlab_norm_stage& stage, std::int64_t rows, std::int64_t cols, normlab_dtype type) {
    if (stage.present == 0) return;
    const std::int64_t real = RealSize(type);
    Bytes(stage.gain, cols * real);
    Bytes(stage.bias, cols * real);
    Bytes(stage.saved, rows * NORMLAB_NORM_SAVED * real);
    Bytes(stage.dgain, cols * real);
    Bytes(stage.dbias, cols * real);
  }
  void Form(normlab_residual_form& form, const normlab_matrix& stream) {
    Bytes(form.b_columns, stream.cols * RealSize(stream.dtype));
    for (normlab_norm_stage* stage : {&form.branch, &form.post, &form.next}) {
      Stage(*stage, stream.rows, stream.cols, stream.dtype);
    }
  }
  // A learned number as kernels find it, a Real; null where there is none.
  const void* Number(std::optional<double> number, normlab_dtype stream) {
    if (!number.has_value()) return nullptr;
    const auto narrow = static_cast<float>(*number);
    Packet& packet = numbers_.emplace_back();
    const bool wide = stream == NORMLAB_F64;
    std::memcpy(packet.bytes, wide ? static_cast<const void*>(&*number) : &narrow,
                RealSize(stream));
    return memory_.Use(packet.bytes, RealSize(stream));
  }
  // Scratch memory, 16-byte aligned whatever the allocator does; nobody looks at what is left. Null
  // where none is asked for.
  void* Workspace(std::int64_t bytes) {
    if (bytes < 1) return nullptr;
    workspace_.resize(static_cast<std::size_t>(bytes / 16 + 1));
    return memory_.Use(workspace_.data(), bytes);
  }

 private:
  struct alignas(16) Packet {
    char bytes[16];
  };
  DeviceMemory& memory_;
  std::vector<Packet> workspace_;
  std::deque<Packet> numbers_;  // stay where they are
};

normlab_cuda_learned_angle Learned(Mover& move, const LearnedNumbers& learned,
                                   normlab_dtype stream) {
  return {move.Number(learned.scale, stream), move.Number(learned.bias, stream)};
}

// The numbers of the options that learned ones win over are not to be read.
normlab_geonorm_options Without(normlab_geonorm_options options, const LearnedNumbers& learned) {
  if (learned.scale.has_value()) options.scale = std::nan("");
  if (learned.bias.has_value()) options.bias = std::nan("");
  return options;
}

class DeviceBackend : public Backend {
 public:
  DeviceBackend(std::string name, const DeviceFunctions& functions, std::int64_t most_elements,
                std::function<std::unique_ptr<DeviceMemory>()> new_memory)
      : name_(std::move(name)),
        call_(functions),
        most_elements_(most_elements),
        new_memory_(std::move(new_memory)) {}

  std::string Name() const override { return name_; }
  std::int64_t MostElements() const override { return most_elements_; }

  int GeoNormForward(const normlab_geonorm_options& options,
                     const normlab_geonorm_forward_args& given,
                     const LearnedNumbers& learned) override {
    const auto memory = new_memory_();
    Mover move(*memory);
    normlab_geonorm_forward_args args = given;
    const std::int64_t real = RealSize(args.x.dtype);
    for (normlab_matrix* m : {&args.x, &args.v, &args.y}) move.Matrix(*m);
    move.Bytes(args.saved, args.x.rows * NORMLAB_GEONORM_SAVED * real);
    move.Bytes(args.probes, args.x.rows * NORMLAB_ROW_PROBES * real);
    move.Bytes(args.zero_rows, 8);
    const normlab_cuda_learned_angle numbers = Learned(move, learned, args.x.dtype);
    const normlab_geonorm_options others = Without(options, learned);
    return memory->Run(
        [&](void* stream) { return call_.geonorm_forward(&others, &args, &numbers, stream); });
  }
  int GeoNormBackward(const normlab_geonorm_options& options,
                      const normlab_geonorm_backward_args& given,
                      const LearnedNumbers& learned) override {
    const auto memory = new_memory_();
    Mover move(*memory);
    normlab_geonorm_backward_args args = given;
    for (normlab_matrix* m : {&args.g, &args.x, &args.v, &args.dx, &args.dv}) move.Matrix(*m);
    move.Bytes(args.saved, args.x.rows * NORMLAB_GEONORM_SAVED * RealSize(args.x.dtype));
    move.Bytes(args.dangle, 24);
    void* workspace = move.Workspace(call_.geonorm_workspace(args.x.rows));
    const normlab_cuda_learned_angle numbers = Learned(move, learned, args.x.dtype);
    const normlab_geonorm_options others = Without(options, learned);
    return memory->Run([&](void* stream) {
      return call_.geonorm_backward(&others, &args, &numbers, workspace, stream);
    });
  }
  int NormForward(const normlab_norm_options& options,
                  const normlab_norm_forward_args& given) override {
    const auto memory = new_memory_();
    Mover move(*memory);
    normlab_norm_forward_args args = given;
    const std::int64_t real = RealSize(args.x.dtype), cols = args.x.cols;
    for (normlab_matrix* m : {&args.x, &args.y}) move.Matrix(*m);
    move.Bytes(args.gain, cols * real);
    move.Bytes(args.bias, cols * real);
    move.Bytes(args.saved, args.x.rows * NORMLAB_NORM_SAVED * real);
    return memory->Run([&](void* stream) { return call_.norm_forward(&options, &args, stream); });
  }
  int NormBackward(const normlab_norm_options& options, normlab_norm_backward_args args) override {
    const auto memory = new_memory_();
    Mover move(*memory);
    const std::int64_t real = RealSize(args.x.dtype), cols = args.x.cols;
    for (normlab_matrix* m : {&args.g, &args.x, &args.dx}) move.Matrix(*m);
    move.Bytes(args.gain, cols * real);
    move.Bytes(args.saved, args.x.rows * NORMLAB_NORM_SAVED * real);
    move.Bytes(args.dgain, cols * real);
    move.Bytes(args.dbias, cols * real);
    args.workspace = move.Workspace(call_.norm_workspace(args.x.rows, cols, args.x.dtype));
    return memory->Run([&](void* stream) { return call_.norm_backward(&options, &args, stream); });
  }
  int ResidualForward(const normlab_residual_form& given_form,
                      const normlab_residual_forward_args& given,
                      std::optional<double> learned_b) override {
    const auto memory = new_memory_();
    Mover move(*memory);
    normlab_residual_form form = given_form;
    normlab_residual_forward_args args = given;
    move.Form(form, args.x);
    for (normlab_matrix* m : {&args.x, &args.g, &args.stream, &args.next}) move.Matrix(*m);
    move.Bytes(args.probes, args.x.rows * NORMLAB_ROW_PROBES * RealSize(args.x.dtype));
    const void* number = move.Number(learned_b, args.x.dtype);
    return memory->Run(
        [&](void* stream) { return call_.residual_forward(&form, &args, number, stream); });
  }
  int ResidualBackward(const normlab_residual_form& given_form, normlab_residual_backward_args args,
                       std::optional<double> learned_b) override {
    const auto memory = new_memory_();
    Mover move(*memory);
    normlab_residual_form form = given_form;
    move.Form(form, args.dx);
    for (normlab_matrix* m :
         {&args.dstream, &args.dnext, &args.x, &args.g, &args.stream, &args.dx, &args.dg}) {
      move.Matrix(*m);
    }
    move.Bytes(args.db, 8);
    move.Bytes(args.db_columns, args.dx.cols * RealSize(args.dx.dtype));
    args.workspace =
        move.Workspace(call_.residual_workspace(args.dx.rows, args.dx.cols, args.dx.dtype));
    const void* number = move.Number(learned_b, args.dx.dtype);
    return memory->Run(
        [&](void* stream) { return call_.residual_backward(&form, &args, number, stream); });
  }

 private:
  std::string name_;
  DeviceFunctions call_;
  std::int64_t most_elements_;
  std::function<std::unique_ptr<DeviceMemory>()> new_memory_;
};

}  // namespace

std::unique_ptr<Backend> MakeDeviceBackend(
    const std::string& name, const DeviceFunctions& functions, std::int64_t most_elements,
    std::function<std::unique_ptr<DeviceMemory>()> new_memory) {
  return std::make_unique<DeviceBackend>(name, functions, most_elements, std::move(new_memory));
}

}  // namespace normlab::kernels
