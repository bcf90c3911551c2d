// Registers the operations of passes.h with LibTorch's dispatcher; for *_passes.cc.
#ifndef NORMLAB_KERNELS_TORCH_REGISTER_PASS_H_
#define NORMLAB_KERNELS_TORCH_REGISTER_PASS_H_

#include <torch/library.h>

#include <string>

namespace normlab::kernels {

// The operation of `schema`: `pass` on every device, and `outputs`, which makes the same tensors
// without their numbers, for the key Meta.
template <class Signature>
void RegisterPass(torch::Library& library, const std::string& schema, Signature* pass,
                  Signature* outputs) {
  const std::string name = schema.substr(0, schema.find('('));
  library.def(schema.c_str());
  for (const c10::DispatchKey key : {c10::DispatchKey::CPU, c10::DispatchKey::CUDA}) {
    library.impl(name.c_str(), key, pass);
  }
  library.impl(name.c_str(), c10::DispatchKey::Meta, outputs);
}

}  // namespace normlab::kernels

#endif  // NORMLAB_KERNELS_TORCH_REGISTER_PASS_H_
