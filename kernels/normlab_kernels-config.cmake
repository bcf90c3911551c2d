# find_package(normlab_kernels): normlab::normlab_kernels, a static library with a C interface;
# #include "kernels/include/normlab_kernels.h". The library is C++ inside, so the project needs CXX
# among its languages.
include("${CMAKE_CURRENT_LIST_DIR}/normlab_kernels-targets.cmake")

# normlab::normlab_kernels_cuda, where the CUDA kernels were built and this machine has a toolkit,
# whose runtime it links; #include "kernels/include/normlab_kernels_cuda.h".
get_filename_component(_normlab_cuda "${CMAKE_CURRENT_LIST_DIR}/../../libnormlab_kernels_cuda.a" ABSOLUTE)
if(EXISTS "${_normlab_cuda}" AND NOT TARGET normlab::normlab_kernels_cuda)
  find_package(CUDAToolkit QUIET)
  if(TARGET CUDA::cudart_static)
    add_library(normlab::normlab_kernels_cuda STATIC IMPORTED)
    set_target_properties(normlab::normlab_kernels_cuda PROPERTIES
      IMPORTED_LOCATION "${_normlab_cuda}"
      INTERFACE_LINK_LIBRARIES "normlab::normlab_kernels;CUDA::cudart_static")
  endif()
endif()
