// C interface of normlab's residual norms on the CPU: GeoNorm, LayerNorm, RMSNorm, and their
// fused residual forms. The CUDA interface (normlab_kernels_cuda.h) takes the same structs.
//
// Every function returns NORMLAB_OK, or NORMLAB_INVALID_ARGUMENT with nothing written; the
// sentence is then in normlab_last_error(), which belongs to the calling thread. Pointers to
// options, forms and arguments must not be NULL. Buffers belong to the caller, and nothing is
// allocated. Outputs are written (never added to, but for zero_rows) and lie apart from each other
// and from inputs; but y, dx and dv of GeoNorm and of the norms may be an input matrix itself (same
// data, row stride and dtype). Functions are thread-safe. Results do not depend on the executor or
// on the number of threads.
//
// Range: an F32 or BF16 row may have any finite values; rows whose sums leave the range of fp32 are
// worked out again. F64 rows have no wider arithmetic to turn to: |x|^2 and |u|^2 must be normal
// numbers, say 1e-150 < |x| < 1e150, or digits are lost, at last all of them. Where a thread
// flushes subnormal numbers to zero (FTZ, DAZ), a row of nothing else counts as a row of zeros; all
// threads of an executor must then do so. NaN and Inf stay in their row.
//
// Sources: GeoNorm is arXiv 2601.22095, its definition and options docs/science.md, section 2; the
// retractions are those of SpheretNorm, arXiv 2608.02668. LayerNorm is arXiv 1607.06450,
// RMSNorm arXiv 1910.07467, PB-relax CogView, arXiv 2105.13290. The forms of residual updates with
// their sources are the table of docs/science.md, section 1.
#ifndef NORMLAB_KERNELS_INCLUDE_NORMLAB_KERNELS_H_
#define NORMLAB_KERNELS_INCLUDE_NORMLAB_KERNELS_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define NORMLAB_API __attribute__((visibility("default")))
#else
#define NORMLAB_API
#endif

enum { NORMLAB_OK = 0, NORMLAB_INVALID_ARGUMENT = 1, NORMLAB_DEVICE_ERROR = 2 };

// Storage types. Arithmetic is fp64 for F64 and fp32 otherwise. In every function the first
// ("stream") and the second ("branch") matrix may be F32+F32, BF16+BF16, F32+BF16 or F64+F64.
// "Real" below is double for F64 and float otherwise.
typedef enum { NORMLAB_F32 = 0, NORMLAB_F64 = 1, NORMLAB_BF16 = 2 } normlab_dtype;

// A row-major matrix. Columns lie side by side; rows start row_stride elements apart.
typedef struct {
  void* data;
  int64_t rows;
  int64_t cols;
  int64_t row_stride;
  normlab_dtype dtype;
} normlab_matrix;

// Runs task(argument, i) for every i in [0, count), in any order and on any threads, and returns
// when all are done. A NULL executor pointer runs them one after the other on this thread.
typedef struct {
  void (*run)(void* context, int64_t count, void (*task)(void* argument, int64_t index),
              void* argument);
  void* context;
} normlab_executor;

// ---- GeoNorm: y = cos(t)·x + |x|·sin(t)·u/|u|, u the part of v that is tangent to x ----------

typedef enum {
  NORMLAB_EXP = 0,         // t as it is: the exponential map
  NORMLAB_PROJECTION = 1,  // arctan(t): x + w, rescaled to |x|
  NORMLAB_CAYLEY = 2       // 2·arctan(t/2)
} normlab_retraction;

// The angle of a row: t = (scale·min(|u|/|x|, clamp) + bias)·alpha, limited to ±clamp, and then
// through the retraction. With has_fixed_angle the angle is fixed_angle, whatever u is.
// Where the angle does not vanish with u (fixed angle, or bias != 0), rows with |u| <= 1e-6·|v|
// count as u = 0: y = x, dx = g, dv = 0.
typedef struct {
  normlab_retraction retraction;
  double alpha;        // step of this layer, decay included
  double scale;        // factor on the branch; 1 for none
  double bias;         // 0 for none
  double angle_clamp;  // radians; 0 for none
  int has_fixed_angle;
  double fixed_angle;  // radians
} normlab_geonorm_options;

// Reals that the forward pass saves per row for the backward pass: |x|^2, <x,v>/|x|^2, |u|^2 and
// t^2 before clamp and retraction (0 for a fixed angle).
enum { NORMLAB_GEONORM_SAVED = 4 };
// Reals per row for probes: mean |y_i|, sum y_i^2, and the angle between x and y in radians. A sum
// beyond the Real's range is Inf. The angle is NaN where a residual update's row is zero or has a
// sum of squares beyond that range (for fp32, beyond |y| = 1.8e19); GeoNorm's is right there too.
enum { NORMLAB_ROW_PROBES = 3 };

typedef struct {
  normlab_matrix x;    // stream, in
  normlab_matrix v;    // branch, in
  normlab_matrix y;    // out, dtype of x
  void* saved;         // Real[rows][NORMLAB_GEONORM_SAVED], out; NULL when not wanted
  void* probes;        // Real[rows][NORMLAB_ROW_PROBES], out; NULL when not wanted
  int64_t* zero_rows;  // the number of rows with x = 0 (there y = x) is added; NULL: not wanted
} normlab_geonorm_forward_args;

typedef struct {
  normlab_matrix g;   // dL/dy, in, dtype of x
  normlab_matrix x;   // stream, in
  normlab_matrix v;   // branch, in
  const void* saved;  // from the forward pass
  normlab_matrix dx;  // out, dtype of x
  normlab_matrix dv;  // out, dtype of v
  double* dangle;     // out: dL/dalpha, dL/dscale, dL/dbias, over all rows; NULL when not wanted
} normlab_geonorm_backward_args;

NORMLAB_API int normlab_geonorm_forward(const normlab_geonorm_options* options,
                                        const normlab_geonorm_forward_args* args,
                                        const normlab_executor* executor);
NORMLAB_API int normlab_geonorm_backward(const normlab_geonorm_options* options,
                                         const normlab_geonorm_backward_args* args,
                                         const normlab_executor* executor);

// ---- LayerNorm and RMSNorm: y = (x - mean)·rstd·gain + bias ----------------------------------

typedef enum { NORMLAB_LAYERNORM = 0, NORMLAB_RMSNORM = 1 } normlab_norm_kind;

// rstd = 1/sqrt(variance + eps), biased variance, or 1/sqrt(mean x^2 + eps) with mean := 0. With
// eps = 0 a row without any deviation (for RMSNorm: a zero row) becomes NaN, as in PyTorch.
// pb_relax divides the row by max|x|/8 first (no gradient through the maximum; a zero row is left
// as it is).
typedef struct {
  normlab_norm_kind kind;
  double eps;
  int pb_relax;
} normlab_norm_options;

// Reals that the forward pass saves per row: mean and rstd.
enum { NORMLAB_NORM_SAVED = 2 };

typedef struct {
  normlab_matrix x;  // stream, in
  const void* gain;  // Real[cols]; NULL for ones
  const void* bias;  // Real[cols]; NULL for zeros
  normlab_matrix y;  // out; its dtype is the "branch" type
  void* saved;       // Real[rows][NORMLAB_NORM_SAVED], out; NULL when not wanted
} normlab_norm_forward_args;

typedef struct {
  normlab_matrix g;   // dL/dy, in, dtype of y
  normlab_matrix x;   // stream, in
  const void* gain;   // Real[cols]; NULL for ones
  const void* saved;  // from the forward pass
  normlab_matrix dx;  // out, dtype of x
  void* dgain;        // Real[cols], out; NULL when not wanted
  void* dbias;        // Real[cols], out; NULL when not wanted
  void* workspace;    // normlab_norm_backward_workspace bytes; NULL without dgain, dbias or rows
} normlab_norm_backward_args;

// Bytes of scratch memory that the column sums of a backward pass need.
NORMLAB_API int64_t normlab_norm_backward_workspace(int64_t rows, int64_t cols,
                                                    normlab_dtype stream);
NORMLAB_API int normlab_norm_forward(const normlab_norm_options* options,
                                     const normlab_norm_forward_args* args,
                                     const normlab_executor* executor);
NORMLAB_API int normlab_norm_backward(const normlab_norm_options* options,
                                      const normlab_norm_backward_args* args,
                                      const normlab_executor* executor);

// ---- Residual updates: stream = post(a·x + b·branch(g)), next = next(stream) --------------------

// A norm inside a residual update. Buffers are as for the norms alone; saved is written by the
// forward pass and read by the backward pass, dgain and dbias belong to the backward pass.
typedef struct {
  int present;
  normlab_norm_options options;
  const void* gain;
  const void* bias;
  void* saved;
  void* dgain;
  void* dbias;
} normlab_norm_stage;

typedef struct {
  double a;
  double b;
  const void* b_columns;  // Real[cols], multiplies b column by column; NULL for ones
  normlab_norm_stage branch, post, next;
} normlab_residual_form;

typedef struct {
  normlab_matrix x;       // old stream, in
  normlab_matrix g;       // branch, in
  normlab_matrix stream;  // new stream, out, dtype of x
  normlab_matrix next;    // norm of the new stream as stored, out, dtype of g; unused without it
  void* probes;           // Real[rows][NORMLAB_ROW_PROBES] of the new stream against x; or NULL
  void* workspace;        // normlab_residual_forward_workspace bytes; may be NULL without rows, and
                          // on CUDA
} normlab_residual_forward_args;

typedef struct {
  normlab_matrix dstream;  // dL/dstream, in, dtype of x; data NULL for zero
  normlab_matrix dnext;    // dL/dnext, in, dtype of g; data NULL for zero, unused without next
  normlab_matrix x;        // in; read only where post is present
  normlab_matrix g;        // in
  normlab_matrix stream;   // in, from the forward pass; read only where next is present
  normlab_matrix dx;       // out, dtype of x
  normlab_matrix dg;       // out, dtype of g; data NULL where it equals dx (a = b, no branch norm,
                           // no b_columns, same dtypes)
  double* db;              // out: dL/db; NULL when not wanted
  void* db_columns;        // Real[cols], out: dL/db_columns; NULL when not wanted
  void* workspace;         // normlab_residual_backward_workspace bytes; may be NULL without rows
} normlab_residual_backward_args;

NORMLAB_API int64_t normlab_residual_forward_workspace(int64_t rows, int64_t cols,
                                                       normlab_dtype stream);
NORMLAB_API int64_t normlab_residual_backward_workspace(int64_t rows, int64_t cols,
                                                        normlab_dtype stream);
NORMLAB_API int normlab_residual_forward(const normlab_residual_form* form,
                                         const normlab_residual_forward_args* args,
                                         const normlab_executor* executor);
NORMLAB_API int normlab_residual_backward(const normlab_residual_form* form,
                                          const normlab_residual_backward_args* args,
                                          const normlab_executor* executor);

// ---- Which code runs ---------------------------------------------------------------------------

// "portable", "avx2", "avx512" or "avx512_bf16" (the bits of "avx512"): chosen once from cpuid, or
// by the environment variable NORMLAB_CPU_ISA. A level that is unknown or that this CPU lacks makes
// every call above fail.
NORMLAB_API const char* normlab_cpu_isa(void);

// Forces a level for the whole process (tests and benches); NULL goes back to the choice above.
NORMLAB_API int normlab_force_cpu_isa(const char* name);

// Why the last call of this thread failed; empty when none has.
NORMLAB_API const char* normlab_last_error(void);

#ifdef __cplusplus
}
#endif

#endif  // NORMLAB_KERNELS_INCLUDE_NORMLAB_KERNELS_H_
