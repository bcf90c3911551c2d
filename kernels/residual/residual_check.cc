#include "kernels/residual/residual_check.h"

#include <initializer_list>
#include <string>
#include <utility>

#include "kernels/common/check_args.h"
#include "kernels/norm/norm_check.h"

namespace normlab::kernels {
namespace {

int CheckForm(const normlab_residual_form& form, normlab_dtype stream) {
  // a and b may be anything: a learned scale that diverged is data, and its NaN must flow on.
  NORMLAB_RETURN_IF_FAULT(CheckPointer("b_columns", form.b_columns, stream));
  const std::pair<std::string, const normlab_norm_stage*> stages[] = {
      {"branch ", &form.branch}, {"post ", &form.post}, {"next ", &form.next}};
  for (const auto& [name, stage] : stages) {
    if (stage->present == 0) continue;
    NORMLAB_RETURN_IF_FAULT(CheckNormOptions(stage->options));
    const std::pair<const char*, const void*> pointers[] = {{"gain", stage->gain},
                                                            {"bias", stage->bias},
                                                            {"saved", stage->saved},
                                                            {"dgain", stage->dgain},
                                                            {"dbias", stage->dbias}};
    for (const auto& [part, pointer] : pointers) {
      NORMLAB_RETURN_IF_FAULT(CheckPointer((name + part).c_str(), pointer, stream));
    }
  }
  return NORMLAB_OK;
}

// Rows are read after others of their outputs were written, so outputs must lie apart.
int CheckOutputs(std::initializer_list<Named> outputs, std::initializer_list<Named> inputs) {
  for (const Named* out = outputs.begin(); out != outputs.end(); ++out) {
    if (out->matrix.data == nullptr) continue;
    for (const Named& in : inputs) {
      if (in.matrix.data == nullptr) continue;
      NORMLAB_RETURN_IF_FAULT(CheckApart(*out, in, InPlace::kRefused));
    }
    for (const Named* other = outputs.begin(); other != out; ++other) {
      if (other->matrix.data == nullptr) continue;
      NORMLAB_RETURN_IF_FAULT(CheckApart(*out, *other, InPlace::kRefused));
    }
  }
  return NORMLAB_OK;
}

// Shape and type of one operand against the one that it must be like.
int CheckLike(const Named& named, const Named& like, int alignment) {
  NORMLAB_RETURN_IF_FAULT(CheckMatrix(named, alignment));
  NORMLAB_RETURN_IF_FAULT(CheckSameShape(like, named));
  return CheckSameType(like, named);
}

}  // namespace

int CheckResidualForward(const normlab_residual_form& form,
                         const normlab_residual_forward_args& args, int alignment) {
  const Named x{"x", args.x}, g{"g", args.g};
  NORMLAB_RETURN_IF_FAULT(CheckMatrix(x, alignment));
  NORMLAB_RETURN_IF_FAULT(CheckMatrix(g, alignment));
  NORMLAB_RETURN_IF_FAULT(CheckSameShape(x, g));
  NORMLAB_RETURN_IF_FAULT(CheckTypePair(x, g));
  NORMLAB_RETURN_IF_FAULT(CheckLike({"stream", args.stream}, x, alignment));
  if (form.next.present != 0) {
    NORMLAB_RETURN_IF_FAULT(CheckLike({"next", args.next}, g, alignment));
  }
  const normlab_matrix none{};
  const Named next{"next", form.next.present != 0 ? args.next : none};
  NORMLAB_RETURN_IF_FAULT(CheckOutputs({{"stream", args.stream}, next}, {x, g}));
  NORMLAB_RETURN_IF_FAULT(CheckPointer("probes", args.probes, args.x.dtype));
  return CheckForm(form, args.x.dtype);
}

int CheckResidualBackward(const normlab_residual_form& form,
                          const normlab_residual_backward_args& args, int alignment) {
  const Named dx{"dx", args.dx}, g{"g", args.g};
  NORMLAB_RETURN_IF_FAULT(CheckMatrix(dx, alignment));
  NORMLAB_RETURN_IF_FAULT(CheckMatrix(g, alignment));
  NORMLAB_RETURN_IF_FAULT(CheckSameShape(dx, g));
  NORMLAB_RETURN_IF_FAULT(CheckTypePair(dx, g));
  if (args.dstream.data != nullptr) {
    NORMLAB_RETURN_IF_FAULT(CheckLike({"dstream", args.dstream}, dx, alignment));
  }
  if (form.next.present != 0) {
    NORMLAB_RETURN_IF_FAULT(CheckLike({"stream", args.stream}, dx, alignment));
    if (args.dnext.data != nullptr) {
      NORMLAB_RETURN_IF_FAULT(CheckLike({"dnext", args.dnext}, g, alignment));
    }
  }
  if (form.post.present != 0) NORMLAB_RETURN_IF_FAULT(CheckLike({"x", args.x}, dx, alignment));
  if (args.dg.data != nullptr) {
    NORMLAB_RETURN_IF_FAULT(CheckLike({"dg", args.dg}, g, alignment));
  } else if (args.dx.rows > 0 && (form.a != form.b || form.branch.present != 0 ||
                                  form.b_columns != nullptr || args.dx.dtype != args.g.dtype)) {
    return Fail("residual: dg may be left out only where it equals dx");
  }
  for (const normlab_norm_stage* stage : {&form.branch, &form.post, &form.next}) {
    if (stage->present != 0 && stage->saved == nullptr && args.dx.rows > 0) {
      return Fail("residual: the backward pass needs what the forward pass saved");
    }
  }
  if (args.workspace == nullptr && args.dx.rows > 0) {
    return Fail("residual: the backward pass needs a workspace");
  }
  const normlab_matrix none{};
  const bool next = form.next.present != 0;
  NORMLAB_RETURN_IF_FAULT(
      CheckOutputs({dx, {"dg", args.dg}}, {g,
                                           {"dstream", args.dstream},
                                           {"dnext", next ? args.dnext : none},
                                           {"stream", next ? args.stream : none},
                                           {"x", form.post.present != 0 ? args.x : none}}));
  NORMLAB_RETURN_IF_FAULT(CheckPointer("db_columns", args.db_columns, args.dx.dtype));
  NORMLAB_RETURN_IF_FAULT(CheckPointer("workspace", args.workspace, args.dx.dtype));
  return CheckForm(form, args.dx.dtype);
}

}  // namespace normlab::kernels
