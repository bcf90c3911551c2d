# Where nvcc is, and how .cu files become objects.
#
# Plain commands instead of CMake's CUDA language: that one does not configure unless it can link a
# program, asks for a complete toolkit, and has no place for what ptxas says, which a test reads.
#
# Sets NORMLAB_NVCC (empty without) and NORMLAB_CUDA_RUNTIME (what to link); defines
# normlab_cuda_library and the target normlab_cuda_headers.

set(NORMLAB_CUDA AUTO CACHE STRING "Build the CUDA kernels: ON, OFF, or AUTO (when nvcc is found)")
set_property(CACHE NORMLAB_CUDA PROPERTY STRINGS AUTO ON OFF)
set(NORMLAB_CUDA_ARCHITECTURES "80;90;100" CACHE STRING
    "Compute capabilities with machine code of their own; PTX serves the others")

# The sanitizers are for host code; under them the kernels run in the SIMT harness.
if(NOT NORMLAB_CUDA STREQUAL "OFF" AND NOT NORMLAB_SANITIZE)
  find_program(NORMLAB_NVCC nvcc PATHS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES bin)
endif()
if(NORMLAB_CUDA STREQUAL "ON" AND NOT NORMLAB_NVCC)
  message(FATAL_ERROR "The CUDA kernels were asked for (NORMLAB_CUDA=ON), but there is no nvcc in "
                      "PATH, CUDA_HOME/bin or /usr/local/cuda/bin.")
endif()
if(NORMLAB_NVCC)
  # nvcc itself knows where its toolkit lies, whatever wrapper it was called through.
  execute_process(COMMAND ${NORMLAB_NVCC} --dryrun -c -x cu /dev/null -o /dev/null
                  ERROR_VARIABLE _nvcc_plan OUTPUT_QUIET)
  string(REGEX MATCH "_HERE_=([^\n]+)" _nvcc_here "${_nvcc_plan}")
  get_filename_component(_nvcc_top "${CMAKE_MATCH_1}/.." ABSOLUTE)
  # Not cached: another NORMLAB_NVCC brings its own.
  find_path(_cuda_include cuda_runtime_api.h NO_CACHE
            HINTS "${_nvcc_top}/include" "${_nvcc_top}/targets/x86_64-linux/include")
  find_library(_cudart NAMES cudart_static cudart NO_CACHE
               HINTS "${_nvcc_top}/lib64" "${_nvcc_top}/lib" "${_nvcc_top}/targets/x86_64-linux/lib")
  if(NOT _cuda_include OR NOT _cudart)
    set(_cuda_lacks "the toolkit of ${NORMLAB_NVCC} has no libcudart or no cuda_runtime_api.h")
    if(NORMLAB_CUDA STREQUAL "ON")
      message(FATAL_ERROR "The CUDA kernels were asked for (NORMLAB_CUDA=ON), but ${_cuda_lacks}.")
    endif()
    message(STATUS "CUDA kernels: not built, for ${_cuda_lacks}")
    set(NORMLAB_NVCC "")
  endif()
endif()

if(NORMLAB_NVCC)
  set(NORMLAB_CUDA_RUNTIME ${_cudart} ${CMAKE_DL_LIBS} rt pthread)
  add_library(normlab_cuda_headers INTERFACE)
  target_include_directories(normlab_cuda_headers SYSTEM INTERFACE ${_cuda_include})
  # One PTX, of the oldest GPU that the kernels are for, and machine code made from it: the kernels
  # use nothing newer, and translating to PTX once saves a quarter of the time.
  execute_process(COMMAND ${NORMLAB_NVCC} --list-gpu-code OUTPUT_VARIABLE _nvcc_known)
  set(_nvcc_codes "")
  foreach(_arch IN LISTS NORMLAB_CUDA_ARCHITECTURES)
    if(_nvcc_known MATCHES "sm_${_arch}[\r\n]")
      string(APPEND _nvcc_codes "sm_${_arch},")
    else()
      message(WARNING "CUDA kernels: ${NORMLAB_NVCC} does not know sm_${_arch}. Such a GPU will translate "
                      "the PTX of compute_80 when a program starts.")
    endif()
  endforeach()
  set(_nvcc_targets "-gencode=arch=compute_80,code=[${_nvcc_codes}compute_80]")
  message(STATUS "CUDA kernels: ${NORMLAB_NVCC} for ${_nvcc_codes}compute_80, with ${_cudart}")
endif()

# normlab_cuda_library(NAME name SOURCES file.cu... [DEPS target...])
# A static library. Beside each object lies what ptxas said of it: <object>.ptxas.txt.
function(normlab_cuda_library)
  cmake_parse_arguments(arg "" "NAME" "SOURCES;DEPS" ${ARGN})
  get_filename_component(root "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/.." ABSOLUTE)
  set(objects "")
  foreach(source IN LISTS arg_SOURCES)
    get_filename_component(name "${source}" NAME_WE)
    set(object "${CMAKE_CURRENT_BINARY_DIR}/cuda/${name}.o")
    file(MAKE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/cuda")
    # --threads would compile the architectures side by side; the files already do. No fused
    # multiply-add but where the source has one: kernels/common/device.cuh says why.
    add_custom_command(
      OUTPUT "${object}"
      BYPRODUCTS "${object}.ptxas.txt"
      COMMAND "${root}/cmake/run_nvcc" "${object}.ptxas.txt" ${CMAKE_CXX_COMPILER_LAUNCHER}
              "${NORMLAB_NVCC}" -std=c++17 -O3 -fmad=false "-I${root}"
              --expt-relaxed-constexpr --extended-lambda -Werror all-warnings -Xptxas -v
              -Xcompiler -fPIC -Xcompiler -fvisibility=hidden "${_nvcc_targets}"
              -MD -MF "${object}.d" -MT "${object}"
              -c "${CMAKE_CURRENT_SOURCE_DIR}/${source}" -o "${object}"
      DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${source}" "${root}/cmake/run_nvcc"
      DEPFILE "${object}.d"
      COMMENT "nvcc ${source}"
      VERBATIM)
    list(APPEND objects "${object}")
  endforeach()
  add_library(${arg_NAME} STATIC ${objects})
  set_target_properties(${arg_NAME} PROPERTIES LINKER_LANGUAGE CXX)
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  target_link_libraries(${arg_NAME} PUBLIC ${arg_DEPS} ${NORMLAB_CUDA_RUNTIME})
endfunction()
