// The precompiled header of this folder: what LibTorch costs to parse, paid once. Never included by
// name; every file still includes what it uses.
#ifndef NORMLAB_MODEL_TORCH_PCH_H_
#define NORMLAB_MODEL_TORCH_PCH_H_

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

// LibTorch's logging defines macros of the same names; core/check.h means ours.
#undef CHECK
#undef CHECK_EQ
#undef CHECK_NE
#undef CHECK_LT
#undef CHECK_LE
#undef CHECK_GT
#undef CHECK_GE

#endif  // NORMLAB_MODEL_TORCH_PCH_H_
