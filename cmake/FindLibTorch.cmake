# Finds LibTorch in LIBTORCH_DIR (a variable of CMake or of the environment: a folder with include/ and
# lib/, from any source), else in the folder that `deploy/setup --libtorch DIR` noted down, else in the
# PyPI wheel `torch` of the project's virtual environment.
#
# Ours instead of Torch's own config file, because that one refuses a CUDA build of LibTorch unless a
# complete CUDA toolkit is installed, which the trainer does not need.
#
# Sets LibTorch_FOUND, LibTorch_VERSION, LibTorch_LIB_DIR, LibTorch_CUDA (whether it is a CUDA build)
# and LibTorch_REASON (a sentence, when not found); defines the target LibTorch::LibTorch.

set(LIBTORCH_DIR "$ENV{LIBTORCH_DIR}" CACHE PATH
    "Folder with include/ and lib/ of LibTorch; empty: the wheel in .venv")

set(LibTorch_REASON "")
set(_libtorch_root "${LIBTORCH_DIR}")
set(_libtorch_note "${CMAKE_SOURCE_DIR}/.libtorch")
if(NOT _libtorch_root AND EXISTS "${_libtorch_note}")
  file(STRINGS "${_libtorch_note}" _libtorch_root LIMIT_COUNT 1)
endif()
if(NOT _libtorch_root)
  file(GLOB _libtorch_wheels "${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch")
  list(SORT _libtorch_wheels COMPARE NATURAL ORDER DESCENDING)
  list(POP_FRONT _libtorch_wheels _libtorch_root)
endif()

# A wheel unpacked by `pip install --target` or a virtual environment may be named instead of the
# folder inside it.
if(LIBTORCH_DIR AND NOT EXISTS "${_libtorch_root}/lib/libtorch.so")
  file(GLOB _libtorch_inner "${_libtorch_root}/lib/python3*/site-packages/torch"
       "${_libtorch_root}/torch")
  list(POP_FRONT _libtorch_inner _libtorch_root)
endif()

set(LibTorch_VERSION "")
set(_libtorch_version_file
    "${_libtorch_root}/include/torch/csrc/api/include/torch/version.h"
    "${_libtorch_root}/include/torch/headeronly/version.h")
foreach(_file IN LISTS _libtorch_version_file)
  if(EXISTS "${_file}" AND NOT LibTorch_VERSION)
    file(STRINGS "${_file}" _libtorch_lines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) [0-9]+")
    if(_libtorch_lines)
      string(REGEX REPLACE "[^0-9;]" "" _libtorch_lines "${_libtorch_lines}")
      string(REPLACE ";" "." LibTorch_VERSION "${_libtorch_lines}")
    endif()
  endif()
endforeach()

if(NOT _libtorch_root)
  if(LIBTORCH_DIR)
    set(LibTorch_REASON "there is no LibTorch in ${LIBTORCH_DIR} (no lib/libtorch.so).")
  else()
    set(LibTorch_REASON "LibTorch is missing (no wheel in .venv, and LIBTORCH_DIR is not set).")
  endif()
elseif(NOT EXISTS "${_libtorch_root}/lib/libtorch.so" OR NOT LibTorch_VERSION)
  set(LibTorch_REASON "the LibTorch in ${_libtorch_root} is incomplete (no lib/libtorch.so or headers).")
elseif(LibTorch_VERSION VERSION_LESS 2.7)
  set(LibTorch_REASON "the LibTorch in ${_libtorch_root} is ${LibTorch_VERSION}; 2.7 or newer is needed.")
else()
  # Wheels before 2.7 used the old string ABI, and a link against them fails with pages of undefined
  # references. The new one shows in the mangled names of the smallest library.
  file(STRINGS "${_libtorch_root}/lib/libc10.so" _libtorch_abi REGEX "__cxx11" LIMIT_COUNT 1)
  if(NOT _libtorch_abi)
    set(LibTorch_REASON "the LibTorch in ${_libtorch_root} was built with the old C++ string ABI; the PyPI wheels since 2.7 have the new one.")
  endif()
endif()

if(NOT LibTorch_REASON)
  set(LibTorch_LIB_DIR "${_libtorch_root}/lib")
  set(LibTorch_INCLUDE_DIRS "${_libtorch_root}/include"
      "${_libtorch_root}/include/torch/csrc/api/include")
  set(_libtorch_libraries torch torch_cpu c10)
  set(LibTorch_CUDA OFF)
  if(EXISTS "${LibTorch_LIB_DIR}/libtorch_cuda.so")
    list(APPEND _libtorch_libraries torch_cuda c10_cuda)
    set(LibTorch_CUDA ON)
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(LibTorch REQUIRED_VARS LibTorch_LIB_DIR LibTorch_INCLUDE_DIRS
                                  VERSION_VAR LibTorch_VERSION)

if(LibTorch_FOUND AND NOT TARGET LibTorch::LibTorch)
  add_library(LibTorch::LibTorch INTERFACE IMPORTED)
  target_include_directories(LibTorch::LibTorch SYSTEM INTERFACE ${LibTorch_INCLUDE_DIRS})
  # One link item, so that nothing is reordered: operators register themselves when their library is
  # loaded, and the linker would drop a library of which no symbol is named. The CUDA libraries find
  # their own dependencies by their own RPATH at run time, not at link time.
  list(TRANSFORM _libtorch_libraries PREPEND "${LibTorch_LIB_DIR}/lib")
  list(TRANSFORM _libtorch_libraries APPEND ".so")
  list(JOIN _libtorch_libraries "," _libtorch_joined)
  target_link_libraries(LibTorch::LibTorch INTERFACE
      "-Wl,--push-state,--no-as-needed,${_libtorch_joined},--pop-state")
  target_link_options(LibTorch::LibTorch INTERFACE
      "LINKER:-rpath,${LibTorch_LIB_DIR}" "LINKER:--unresolved-symbols=ignore-in-shared-libs")
endif()
