# Every library of another project, found once. The versions are those of Debian 12, the oldest
# system we build on. deploy/setup installs them all.

set(normlab_cure "Run ./deploy/setup, which installs what is missing.")

find_package(Threads REQUIRED)
find_package(absl REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)

# Asked to do without, no target may link it, however near it lies.
if(NORMLAB_TRAINER_ONLY OR NORMLAB_TRAINER)
  find_package(LibTorch 2.7)
endif()
if(NORMLAB_TRAINER_ONLY OR NORMLAB_TRAINER STREQUAL "ON")
  if(NOT LibTorch_FOUND)
    message(FATAL_ERROR "normlab-trainer was asked for, but ${LibTorch_REASON} ${normlab_cure} "
                        "Or name a folder that has LibTorch: -DLIBTORCH_DIR=DIR.")
  endif()
  set(NORMLAB_BUILD_TRAINER ON)
elseif(NORMLAB_TRAINER STREQUAL "AUTO" AND LibTorch_FOUND)
  set(NORMLAB_BUILD_TRAINER ON)
else()
  set(NORMLAB_BUILD_TRAINER OFF)
  if(NORMLAB_TRAINER STREQUAL "AUTO")
    message(STATUS "normlab-trainer is not built: ${LibTorch_REASON} ${normlab_cure}")
  endif()
endif()

if(NORMLAB_TRAINER_ONLY)
  # The tests of core and of the trainer are built where GoogleTest happens to be there.
  find_package(GTest 1.12 QUIET)
else()
  find_package(GTest 1.12 REQUIRED)
  find_package(benchmark 1.7 REQUIRED)
  find_package(yaml-cpp 0.7 REQUIRED)
  find_package(CLI11 2.1 REQUIRED)
  find_package(fmt REQUIRED)
  find_package(spdlog 1.10 REQUIRED)
  find_package(SQLite3 3.40 REQUIRED)
  find_package(SQLiteCpp 3.2 REQUIRED)
  find_package(Boost 1.74 CONFIG REQUIRED)
  find_package(prometheus-cpp REQUIRED)
  find_package(OpenSSL 3.0 REQUIRED)
  # Debian 12's protobuf brings no config file of its own, so this is CMake's own find module.
  find_package(Protobuf 3.21 MODULE)
  # gRPC's config file asks pkg-config about re2 a dozen times, and Debian 13's takes a minute over it.
  find_library(NORMLAB_RE2 re2)
  if(NORMLAB_RE2 AND NOT TARGET re2::re2)
    set(re2_FOUND ON)
    add_library(re2::re2 INTERFACE IMPORTED)
    target_link_libraries(re2::re2 INTERFACE "${NORMLAB_RE2}")
  endif()
  find_package(gRPC 1.51)
  if(NOT Protobuf_FOUND OR NOT gRPC_FOUND)
    message(FATAL_ERROR "gRPC or Protocol Buffers is missing, and normlab needs both. ${normlab_cure} "
                        "To build only the trainer, which needs neither: -DNORMLAB_TRAINER_ONLY=ON.")
  endif()
  # SentencePiece brings no config file of CMake's.
  find_library(NORMLAB_SENTENCEPIECE sentencepiece)
  find_library(NORMLAB_SENTENCEPIECE_TRAIN sentencepiece_train)
  if(NOT NORMLAB_SENTENCEPIECE OR NOT NORMLAB_SENTENCEPIECE_TRAIN)
    message(FATAL_ERROR "SentencePiece is missing. ${normlab_cure}")
  endif()
  add_library(normlab_sentencepiece INTERFACE)
  target_link_libraries(normlab_sentencepiece INTERFACE
    "${NORMLAB_SENTENCEPIECE_TRAIN}" "${NORMLAB_SENTENCEPIECE}")
  # Older yaml-cpp exports the plain name; one name for all.
  if(NOT TARGET yaml-cpp::yaml-cpp)
    add_library(yaml-cpp::yaml-cpp INTERFACE IMPORTED)
    target_link_libraries(yaml-cpp::yaml-cpp INTERFACE yaml-cpp)
  endif()
endif()
