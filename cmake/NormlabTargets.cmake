# How every target of ours is made: normlab_library, normlab_executable, normlab_test,
# normlab_python_test, normlab_proto_library and normlab_embed. Folders name sources and dependencies;
# warnings, include paths and test discovery are the same everywhere.

include(GoogleTest)

include(NormlabSharedHeaders)
include(NormlabWarnings)

# The presets compile several files as one, because most of a build goes into other projects' headers;
# `debug` does not, so that a file which leans on its neighbour's includes is found. A type of a .cc
# file looks like one of a header there.
set(normlab_unity_warnings "$<$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>:-Wno-subobject-linkage>")

function(_normlab_configure target)
  target_compile_options(${target} PRIVATE ${normlab_warnings} ${normlab_unity_warnings})
  target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}/generated")
endfunction()

# normlab_library(NAME name SOURCES file... [DEPS target...] [PRIVATE_DEPS target...])
# A static library, or an interface one when it has no sources. DEPS appear in its headers.
function(normlab_library)
  cmake_parse_arguments(arg "" "NAME" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  if(NOT arg_SOURCES)
    add_library(${arg_NAME} INTERFACE)
    target_include_directories(${arg_NAME} INTERFACE "${PROJECT_SOURCE_DIR}")
    target_link_libraries(${arg_NAME} INTERFACE ${arg_DEPS})
    return()
  endif()
  add_library(${arg_NAME} STATIC ${arg_SOURCES})
  _normlab_configure(${arg_NAME})
  target_link_libraries(${arg_NAME} PUBLIC ${arg_DEPS} PRIVATE ${arg_PRIVATE_DEPS})
  normlab_share_headers(${arg_NAME} normlab_library_headers)
endfunction()

# normlab_executable(NAME name SOURCES file... [DEPS target...])
# A program in build/<preset>/bin.
function(normlab_executable)
  cmake_parse_arguments(arg "" "NAME" "SOURCES;DEPS" ${ARGN})
  add_executable(${arg_NAME} ${arg_SOURCES})
  _normlab_configure(${arg_NAME})
  target_link_libraries(${arg_NAME} PRIVATE ${arg_DEPS})
endfunction()

# normlab_test(NAME name SOURCES file... [DEPS target...] [LABEL slow|gpu] [TIMEOUT seconds] [SERIAL])
# A GoogleTest program whose every test is one of ctest's, named <name>.<Suite>.<Test>. Label `slow`
# keeps it for `deploy/test --long`; SERIAL is for tests that measure time or fill every core.
# One label and no environment: ctest 3.25 loses list elements of tests that are listed before a run.
function(normlab_test)
  cmake_parse_arguments(arg "SERIAL" "NAME;TIMEOUT;LABEL" "SOURCES;DEPS" ${ARGN})
  if(NOT TARGET GTest::gmock)
    return()
  endif()
  normlab_executable(NAME ${arg_NAME} SOURCES ${arg_SOURCES}
                     DEPS ${arg_DEPS} GTest::gmock GTest::gtest GTest::gtest_main)
  normlab_share_headers(${arg_NAME} normlab_test_headers)
  _normlab_test_properties(properties "${arg_TIMEOUT}" "${arg_LABEL}" "${arg_SERIAL}")
  # Listed when ctest runs, not when it builds: a program that links LibTorch takes a second to start,
  # and under a sanitizer longer. Values of parameters stay out of the names: GoogleTest prints a
  # structure as its bytes and a text with its address, so a name would differ from run to run.
  gtest_discover_tests(${arg_NAME} TEST_PREFIX "${arg_NAME}." NO_PRETTY_VALUES
                       DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120
                       WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}" PROPERTIES ${properties})
endfunction()

# normlab_python_test(NAME name SCRIPT file [ARGS argument...] [LABEL slow|gpu] [TIMEOUT seconds]
#                     [ENV K=V...] [SERIAL])
# A script that exits with 0 when it passes. It runs in the project's folder, under the Python of the
# virtual environment where there is one, with NORMLAB_BIN naming the folder of the built programs.
function(normlab_python_test)
  cmake_parse_arguments(arg "SERIAL" "NAME;SCRIPT;TIMEOUT;LABEL" "ARGS;ENV" ${ARGN})
  _normlab_test_properties(properties "${arg_TIMEOUT}" "${arg_LABEL}" "${arg_SERIAL}")
  get_filename_component(script "${arg_SCRIPT}" ABSOLUTE)
  add_test(NAME ${arg_NAME} COMMAND ${NORMLAB_PYTHON} "${script}" ${arg_ARGS}
           WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(${arg_NAME} PROPERTIES ${properties}
                       ENVIRONMENT "NORMLAB_BIN=${CMAKE_RUNTIME_OUTPUT_DIRECTORY};${arg_ENV}")
endfunction()

# The properties that both kinds of test share.
function(_normlab_test_properties out timeout label serial)
  if(NOT timeout)
    set(timeout 120)
  endif()
  set(properties TIMEOUT ${timeout})
  if(label)
    list(APPEND properties LABELS ${label})
  endif()
  if(serial)
    list(APPEND properties RUN_SERIAL TRUE)
  endif()
  set(${out} "${properties}" PARENT_SCOPE)
endfunction()

find_program(NORMLAB_PYTHON python3 PATHS "${PROJECT_SOURCE_DIR}/.venv/bin" NO_DEFAULT_PATH)
find_program(NORMLAB_PYTHON python3 REQUIRED)

# normlab_proto_library(NAME name PROTOS file.proto... [GRPC file.proto...])
# Compiles messages (PROTOS) and services (those also named in GRPC) of the current folder. Included
# as "proto/x.pb.h" and "proto/x.grpc.pb.h". Without our warnings: the code is protoc's.
function(normlab_proto_library)
  cmake_parse_arguments(arg "" "NAME" "PROTOS;GRPC" ${ARGN})
  set(out_dir "${PROJECT_BINARY_DIR}/generated")
  file(MAKE_DIRECTORY "${out_dir}")
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
  set(sources "")
  foreach(proto IN LISTS arg_PROTOS)
    get_filename_component(stem "${proto}" NAME_WE)
    set(outputs "${out_dir}/${folder}/${stem}.pb.cc" "${out_dir}/${folder}/${stem}.pb.h")
    set(grpc_flags "")
    if(proto IN_LIST arg_GRPC)
      list(APPEND outputs "${out_dir}/${folder}/${stem}.grpc.pb.cc" "${out_dir}/${folder}/${stem}.grpc.pb.h"
           "${out_dir}/${folder}/${stem}_mock.grpc.pb.h")
      set(grpc_flags "--plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin>"
          "--grpc_out=generate_mock_code=true:${out_dir}")
    endif()
    add_custom_command(
      OUTPUT ${outputs}
      COMMAND protobuf::protoc "-I${PROJECT_SOURCE_DIR}" "--cpp_out=${out_dir}" ${grpc_flags}
              "${CMAKE_CURRENT_SOURCE_DIR}/${proto}"
      DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${proto}"
      COMMENT "protoc ${folder}/${proto}"
      VERBATIM)
    list(APPEND sources ${outputs})
  endforeach()
  add_library(${arg_NAME} STATIC ${sources})
  set_target_properties(${arg_NAME} PROPERTIES UNITY_BUILD OFF)  # protoc repeats names in every file
  target_include_directories(${arg_NAME} SYSTEM PUBLIC "${out_dir}")
  target_link_libraries(${arg_NAME} PUBLIC protobuf::libprotobuf)
  if(arg_GRPC)
    target_link_libraries(${arg_NAME} PUBLIC gRPC::grpc++)
  endif()
endfunction()

# normlab_embed(NAME name DIR dir HEADER header NAMESPACE ns DEPENDS file...)
# A library with every file below DIR inside it. HEADER declares, in namespace ns,
# `struct EmbeddedFile { std::string_view path, bytes; }` and
# `std::span<const EmbeddedFile> EmbeddedFiles()`, sorted by path ("/index.html"). DEPENDS are the files
# whose change means that DIR has changed.
function(normlab_embed)
  cmake_parse_arguments(arg "" "NAME;DIR;HEADER;NAMESPACE" "DEPENDS" ${ARGN})
  set(output "${CMAKE_CURRENT_BINARY_DIR}/${arg_NAME}.cc")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND ${CMAKE_COMMAND} "-DDIR=${arg_DIR}" "-DOUTPUT=${output}" "-DHEADER=${arg_HEADER}"
            "-DNAMESPACE=${arg_NAMESPACE}" -P "${PROJECT_SOURCE_DIR}/cmake/EmbedFiles.cmake"
    DEPENDS ${arg_DEPENDS} "${PROJECT_SOURCE_DIR}/cmake/EmbedFiles.cmake"
    COMMENT "Embedding ${arg_DIR}"
    VERBATIM)
  normlab_library(NAME ${arg_NAME} SOURCES "${output}")
  # The compiler does not see what .incbin reads, and neither does ccache.
  set_source_files_properties("${output}" PROPERTIES OBJECT_DEPENDS "${arg_DEPENDS}")
  set_target_properties(${arg_NAME} PROPERTIES CXX_COMPILER_LAUNCHER "" UNITY_BUILD OFF)
endfunction()
