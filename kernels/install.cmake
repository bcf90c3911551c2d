# For people who only want the kernels: the static library with its C headers and CMake package, and
# the library for Python. cmake --install BUILD --component kernels --prefix DIR
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS normlab_kernels EXPORT normlab_kernels-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT kernels)
if(TARGET normlab_kernels_cuda)
  # Not exported, for that would name this machine's CUDA runtime: the package's config file makes a
  # target of it with the user's.
  install(TARGETS normlab_kernels_cuda ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
          COMPONENT kernels)
endif()
# The folders are those of the project, so that one #include line is right inside it and outside.
install(FILES include/normlab_kernels.h include/normlab_kernels_cuda.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/kernels/include COMPONENT kernels)
if(TARGET normlab_torch)
  # Without a path to LibTorch inside: Python has loaded it before.
  install(TARGETS normlab_torch LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT kernels)
endif()

set(normlab_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/normlab_kernels)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/normlab_kernels-config-version.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMinorVersion)
install(EXPORT normlab_kernels-targets NAMESPACE normlab:: DESTINATION ${normlab_package_dir}
        COMPONENT kernels)
install(FILES normlab_kernels-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/normlab_kernels-config-version.cmake
        DESTINATION ${normlab_package_dir} COMPONENT kernels)
