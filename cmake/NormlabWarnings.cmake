# Errors only for the compiler that the tests run with: a newer one's new warnings must not keep a
# newcomer from building.
set(normlab_warnings -Wall -Wextra)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 sees overlaps in std::string's operator+ that are not there (GCC bug 105651).
  list(APPEND normlab_warnings -Werror -Wno-restrict)
endif()
