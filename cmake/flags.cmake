# Compiler settings shared by every target: link them by  target_link_libraries(x PRIVATE tenon_flags).
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS ON) # GNU attributes (cleanup) and POSIX
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
# CMake's -O3 makes the runtime a tenth larger, and gaps that align functions and targets of jumps another twentieth; it has a
# budget (tools/check_size). Loops stay aligned, and hot code is what the compiler generates, which this leaves alone.
set(release_flags "-O2 -DNDEBUG")
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  string(APPEND release_flags " -fno-align-functions -fno-align-jumps")
endif()
set(CMAKE_C_FLAGS_RELEASE "${release_flags}" CACHE STRING "" FORCE)
set(CMAKE_CXX_FLAGS_RELEASE "${release_flags}" CACHE STRING "" FORCE)
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

add_library(tenon_flags INTERFACE)
target_compile_definitions(tenon_flags INTERFACE _GNU_SOURCE TN_VERSION="${PROJECT_VERSION}")
target_compile_options(tenon_flags INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wvla -Wcast-qual -Wformat=2 -fno-common
  -Wno-missing-field-initializers # rows of tables leave trailing columns out
  "$<$<COMPILE_LANGUAGE:C>:-Wsign-conversion;-Wstrict-prototypes;-Wmissing-prototypes>"
  $<$<BOOL:${TENON_WERROR}>:-Werror>
  -fno-semantic-interposition # a library may inline and call its own exported functions directly
  # traces name files as src/..., wherever the tree lies
  -fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=)
# No pages of their own for code: two part-filled pages less in each library.
target_link_options(tenon_flags INTERFACE -Wl,-Bsymbolic-functions -Wl,-z,noseparate-code)
if(TENON_SANITIZE)
  target_compile_options(tenon_flags INTERFACE
    -fsanitize=${TENON_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(tenon_flags INTERFACE -fsanitize=${TENON_SANITIZE})
endif()
