// Calls the operations of passes.h through LibTorch's dispatcher; for *_op.cc.
#ifndef NORMLAB_KERNELS_TORCH_DISPATCH_H_
#define NORMLAB_KERNELS_TORCH_DISPATCH_H_

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>

namespace normlab::kernels {

// The operation "normlab::_geonorm_forward" of the type of `like`, below autograd: whoever calls it
// is a node of autograd and sees to gradients.
template <class Signature>
class Pass {
 public:
  Pass(const char* name, Signature*)
      : handle_(c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>()) {}

  template <class... Arguments>
  auto operator()(Arguments&&... arguments) const {
    const at::AutoDispatchBelowAutograd below;
    return handle_.call(std::forward<Arguments>(arguments)...);
  }

 private:
  c10::TypedOperatorHandle<Signature> handle_;
};

}  // namespace normlab::kernels

#endif  // NORMLAB_KERNELS_TORCH_DISPATCH_H_
