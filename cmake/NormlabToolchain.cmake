# Language, optimisation levels, sanitizers, ccache and where binaries land. Nothing here depends on
# the machine's processor: one binary serves every instruction set, so -march=native has no place.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, Debug or Sanitize" FORCE)
endif()
# -O2, not -O3: the hot loops are in kernels/, which sets its own flags, and the rest compiles faster.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
# Line tables only: a sanitizer report needs file and line, full debug information doubles the build.
set(CMAKE_CXX_FLAGS_SANITIZE "-O1 -g1 -fno-omit-frame-pointer" CACHE STRING "" FORCE)
set(CMAKE_EXE_LINKER_FLAGS_SANITIZE "" CACHE STRING "" FORCE)

if(NORMLAB_SANITIZE)
  add_compile_options(-fsanitize=${NORMLAB_SANITIZE} -fno-sanitize-recover=all)
  # A target's files are compiled as one, not eight by eight as in other presets: headers of other
  # projects are most of the work, and a report does not get clearer from parsing them again.
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 50)
  if(NORMLAB_SANITIZE STREQUAL "thread")
    add_compile_options(-Wno-tsan)  # of a fence inside Boost.Asio, which that sanitizer does not see
  endif()
  add_link_options(-fsanitize=${NORMLAB_SANITIZE})
endif()

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib")

find_program(NORMLAB_CCACHE ccache)
if(NORMLAB_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths relative to the project make a second checkout on the same machine hit the same cache.
  # pch_defines and time_macros are what ccache asks for before it caches precompiled headers.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros ${NORMLAB_CCACHE})
endif()
