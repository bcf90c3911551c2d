// Matrices whose last rows lie more than 2^31 elements behind their first ones, where the backends
// of this program find them: in address space of the host that is hardly touched, or on a GPU.
#ifndef NORMLAB_TESTS_KERNELS_FAR_MATRIX_H_
#define NORMLAB_TESTS_KERNELS_FAR_MATRIX_H_

#include <string>

#include "tests/kernels/host_matrix.h"

namespace normlab::kernels {

class FarMatrix {
 public:
  // What keeps this machine from having that many at a time; empty where nothing does.
  static std::string Obstacle(int matrices);

  // `last` becomes the last rows, the others are zero.
  explicit FarMatrix(const HostMatrix& last);
  ~FarMatrix();
  FarMatrix(const FarMatrix&) = delete;
  FarMatrix& operator=(const FarMatrix&) = delete;

  void SetLast(const HostMatrix& last);
  // As many as were given.
  HostMatrix Last() const;
  normlab_matrix View() const { return view_; }

 private:
  normlab_matrix view_;
  std::int64_t last_rows_;
};

}  // namespace normlab::kernels

#endif  // NORMLAB_TESTS_KERNELS_FAR_MATRIX_H_
