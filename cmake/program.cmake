# tenon_program(name source LINK target...): a test, benchmark or fuzz target. It sees the internal headers, but links the
# shared libraries: what it calls must be TN_API. One that includes headers of the compiler needs libtenon, and is left
# out (no target) where only the runtime is built.
string(REPLACE ";" "|" COMPILER_LAYER_NAMES "${TENON_COMPILER_LAYERS}")

function(tenon_program name source)
  cmake_parse_arguments(P "" "" "LINK" ${ARGN})
  file(STRINGS ${source} needs_compiler
    REGEX "^#include \"((${COMPILER_LAYER_NAMES})/|tenon/compiler\\.h)")
  if(needs_compiler AND NOT TARGET tenon)
    return()
  endif()
  add_executable(${name} ${source})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE tenon_flags tenon_runtime Threads::Threads
    ${CMAKE_DL_LIBS} m ${P_LINK})
  if(needs_compiler)
    target_link_libraries(${name} PRIVATE tenon)
  endif()
  file(STRINGS ${source} needs_onnx REGEX "^#include \"import/onnx/")
  if(needs_onnx)
    target_link_libraries(${name} PRIVATE onnx_schema)
  endif()
endfunction()
