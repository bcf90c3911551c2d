#include "kernels/residual/residual_check.h"

#include "kernels/common/check_args.h"
#include "kernels/norm/norm_check.h"

namespace normlab::kernels {
namespace {

int CheckForm(const normlab_residual_form& form, normlab_dtype stream) {
  // a and b may be anything: a learned scale that diverged is data, and its NaN must flow on.
  NORMLAB_RETURN_IF_FAULT(CheckPointer("b_columns", form.b_columns, stream));
  for (const normlab_norm_stage* stage : {&form.branch, &form.post, &form.next}) {
    if (stage->present == 0) continue;
    NORMLAB_RETURN_IF_FAULT(CheckNormOptions(stage->options));
    NORMLAB_RETURN_IF_FAULT(CheckPointer("gain", stage->gain, stream));
    NORMLAB_RETURN_IF_FAULT(CheckPointer("bias", stage->bias, stream));
    NORMLAB_RETURN_IF_FAULT(CheckPointer("saved", stage->saved, stream));
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
  NORMLAB_RETURN_IF_FAULT(CheckPointer("workspace", args.workspace, args.dx.dtype));
  return CheckForm(form, args.dx.dtype);
}

}  // namespace normlab::kernels
