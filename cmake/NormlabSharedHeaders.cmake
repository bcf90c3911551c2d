# normlab_share_headers(target carrier): under a sanitizer, where most of a build goes into headers of
# other projects, again in every file, those headers are parsed once. Elsewhere it does nothing: a file
# must compile with what it includes itself; and the trainer has a precompiled header of its own.

set(normlab_shared_headers
    <algorithm> <chrono> <functional> <map> <memory> <mutex> <optional> <set> <sstream> <string>
    <thread> <variant> <vector> <absl/status/statusor.h> <absl/strings/str_cat.h>
    <absl/strings/str_format.h> <absl/time/time.h> <nlohmann/json.hpp>)

# A target that does nothing but carry a precompiled header of normlab_shared_headers and those named
# after `pic`. Its flags and definitions must be those of the targets that use it: the compiler refuses
# it otherwise.
function(_normlab_headers_carrier name pic)
  set(source "${PROJECT_BINARY_DIR}/generated/${name}.cc")
  file(CONFIGURE OUTPUT "${source}" CONTENT "// Carries a precompiled header.\n")
  add_library(${name} OBJECT "${source}")
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE ${pic} ${normlab_warnings})
  target_link_libraries(${name} PRIVATE absl::statusor absl::str_format absl::time
                                        nlohmann_json::nlohmann_json)
  target_precompile_headers(${name} PRIVATE ${normlab_shared_headers} ${ARGN})
endfunction()

if(NORMLAB_SANITIZE AND NOT NORMLAB_BUILD_TRAINER)
  _normlab_headers_carrier(normlab_library_headers -fPIC)
  if(TARGET GTest::gmock)
    _normlab_headers_carrier(normlab_test_headers -fPIE <gmock/gmock.h> <gtest/gtest.h>)
    target_link_libraries(normlab_test_headers PRIVATE GTest::gmock GTest::gtest)
  endif()
endif()

function(normlab_share_headers target carrier)
  if(TARGET ${carrier})
    target_precompile_headers(${target} REUSE_FROM ${carrier})
  endif()
endfunction()
