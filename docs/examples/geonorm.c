// GeoNorm and a residual update from C, forward and backward, on one row of four numbers.
#include <stdio.h>

#include "kernels/include/normlab_kernels.h"

static normlab_matrix Row(float* data) { return (normlab_matrix){data, 1, 4, 4, NORMLAB_F32}; }

static void Print(const char* name, const float* row) {
  printf("%s = %.4f %.4f %.4f %.4f\n", name, row[0], row[1], row[2], row[3]);
}

// A quarter turn of x towards the part of v that is tangent to it.
static int Turn(float* x, float* v, float* g) {
  float y[4], dx[4], dv[4], saved[NORMLAB_GEONORM_SAVED];
  const normlab_geonorm_options options = {.alpha = 1, .scale = 1};  // the rest: exp, no limits
  const normlab_geonorm_forward_args forward = {
      .x = Row(x), .v = Row(v), .y = Row(y), .saved = saved};
  if (normlab_geonorm_forward(&options, &forward, NULL) != NORMLAB_OK) return 1;
  const normlab_geonorm_backward_args backward = {
      .g = Row(g), .x = Row(x), .v = Row(v), .saved = saved, .dx = Row(dx), .dv = Row(dv)};
  if (normlab_geonorm_backward(&options, &backward, NULL) != NORMLAB_OK) return 1;
  Print("y", y);
  Print("dx", dx);
  Print("dv", dv);
  return 0;
}

// stream = x + v and its RMSNorm, in one pass. What a form does not name is zero: no norm there.
static int Update(float* x, float* v, float* g) {
  float stream[4], next[4], dx[4], kept[NORMLAB_NORM_SAVED];
  float workspace[64];  // of the backward pass, which needs more than the forward pass
  normlab_residual_form form = {.a = 1, .b = 1};
  form.next = (normlab_norm_stage){
      .present = 1, .options = {.kind = NORMLAB_RMSNORM, .eps = 1e-5}, .saved = kept};
  if (normlab_residual_backward_workspace(1, 4, NORMLAB_F32) > (int64_t)sizeof(workspace)) return 1;
  const normlab_residual_forward_args forward = {
      .x = Row(x), .g = Row(v), .stream = Row(stream), .next = Row(next), .workspace = workspace};
  if (normlab_residual_forward(&form, &forward, NULL) != NORMLAB_OK) return 1;
  const normlab_residual_backward_args backward = {
      .dnext = Row(g), .g = Row(v), .stream = Row(stream), .dx = Row(dx), .workspace = workspace};
  if (normlab_residual_backward(&form, &backward, NULL) != NORMLAB_OK) return 1;
  Print("stream", stream);
  Print("next", next);
  Print("dx and dv", dx);  // one and the same: a = b, and no norm of the branch
  return 0;
}

int main(void) {
  float x[4] = {2, 0, 0, 0}, v[4] = {5, 3.14159265f, 0, 0}, g[4] = {0, 0, 1, 0};
  const int failed = Turn(x, v, g) || Update(x, v, g);
  if (failed) fprintf(stderr, "%s\n", normlab_last_error());
  return failed;
}
