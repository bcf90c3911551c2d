# find_package(normlab_kernels): normlab::normlab_kernels, a static library with a C interface;
# #include "kernels/include/normlab_kernels.h". The library is C++ inside, so the project needs CXX
# among its languages.
include("${CMAKE_CURRENT_LIST_DIR}/normlab_kernels-targets.cmake")
