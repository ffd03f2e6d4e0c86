# The libraries and the layers each is made of (docs/architecture.md).
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

# Folders of src/ that belong to the compiler, lowest first. Sources are found by folder: a new file needs no edit here.
set(TENON_COMPILER_LAYERS
  pack ir target arith tir codegen tune te kernels relay ops cache driver eval import export start)

# tenon_library(name [PLUGIN] LAYERS folder... LINK target...): a shared library of all C files of some folders of src/. It is
# installed, and linked into the Python package of the build tree. While its folders are empty there is no target.
function(tenon_library name)
  cmake_parse_arguments(L "PLUGIN" "" "LAYERS;LINK" ${ARGN})
  set(sources)
  foreach(layer ${L_LAYERS})
    file(GLOB_RECURSE found CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${layer}/*.c ${CMAKE_SOURCE_DIR}/src/${layer}/*.cc)
    list(APPEND sources ${found})
  endforeach()
  if(NOT L_PLUGIN) # these are libraries of their own
    list(FILTER sources EXCLUDE REGEX "/src/(codegen/llvm|runtime/opencl|runtime/cuda)/")
  endif()
  if(NOT sources)
    return()
  endif()
  add_library(${name} SHARED ${sources})
  target_include_directories(${name}
    PUBLIC ${CMAKE_SOURCE_DIR}/include PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE tenon_flags ${L_LINK})
  # Closing it must not take its code away: workers sleep in it, ending threads of the host pass through it, types and
  # functions are registered by reference.
  target_link_options(${name} PRIVATE -Wl,-z,nodelete)
  set_target_properties(${name} PROPERTIES
    BUILD_RPATH_USE_ORIGIN ON INSTALL_RPATH "$ORIGIN" BUILD_RPATH "$ORIGIN"
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  set_property(GLOBAL APPEND PROPERTY TENON_LIBRARIES ${name})
  install(TARGETS ${name} LIBRARY DESTINATION ${TENON_LIB_DIR})
endfunction()

# Inside a wheel everything lies in the package; otherwise the usual places below the prefix.
if(SKBUILD)
  set(TENON_LIB_DIR tenon)
  set(TENON_BIN_DIR tenon/bin)
  set(TENON_BIN_RPATH "$ORIGIN/..")
  set(TENON_INCLUDE_DIR tenon/include)
else()
  include(GNUInstallDirs)
  set(TENON_LIB_DIR ${CMAKE_INSTALL_LIBDIR})
  set(TENON_BIN_DIR ${CMAKE_INSTALL_BINDIR})
  set(TENON_BIN_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
  set(TENON_INCLUDE_DIR ${CMAKE_INSTALL_INCLUDEDIR})
endif()

tenon_library(tenon_runtime LAYERS base object runtime
  LINK Threads::Threads ${CMAKE_DL_LIBS} m)
if(TENON_BUILD_COMPILER)
  tenon_library(tenon LAYERS ${TENON_COMPILER_LAYERS}
    LINK tenon_runtime Threads::Threads ${CMAKE_DL_LIBS} m)
  # The messages of ONNX files: generated code, which is not held to our warnings.
  pkg_check_modules(PROTOBUF_C REQUIRED IMPORTED_TARGET libprotobuf-c)
  find_program(PROTOC_C protoc-c REQUIRED)
  set(onnx_dir ${CMAKE_BINARY_DIR}/generated/onnx)
  file(MAKE_DIRECTORY ${onnx_dir})
  add_custom_command(OUTPUT ${onnx_dir}/onnx.pb-c.c ${onnx_dir}/onnx.pb-c.h
    COMMAND ${PROTOC_C} --proto_path=${CMAKE_SOURCE_DIR}/src/import/onnx --c_out=${onnx_dir} onnx.proto
    DEPENDS ${CMAKE_SOURCE_DIR}/src/import/onnx/onnx.proto)
  add_library(onnx_schema STATIC ${onnx_dir}/onnx.pb-c.c)
  target_compile_options(onnx_schema PRIVATE -w)
  target_include_directories(onnx_schema SYSTEM PUBLIC ${onnx_dir})
  target_link_libraries(onnx_schema PUBLIC PkgConfig::PROTOBUF_C)
  target_link_libraries(tenon PRIVATE onnx_schema)
  # What archives for microcontrollers carry, as data.
  file(GLOB crt_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/micro/*.[ch])
  foreach(header tenon/dlpack.h tenon/micro.h tvm/runtime/c_backend_api.h tvm/runtime/c_runtime_api.h
      tvm/runtime/crt/module.h)
    list(APPEND crt_files ${CMAKE_SOURCE_DIR}/include/${header})
  endforeach()
  set(crt_source ${CMAKE_BINARY_DIR}/generated/crt_files.c)
  add_custom_command(OUTPUT ${crt_source}
    COMMAND ${CMAKE_COMMAND} -DOUT=${crt_source} "-DFILES=${crt_files}"
      -DROOT=${CMAKE_SOURCE_DIR} -DHEADER=export/crt_files.h -DTYPE=tar_file -DLIST=crt_files -DCOUNT=crt_nfile
      -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${crt_files} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake VERBATIM)
  target_sources(tenon PRIVATE ${crt_source})
  # Records of measurements that ship with the compiler.
  file(GLOB shipped_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/tune/shipped/*.log)
  set(shipped_source ${CMAKE_BINARY_DIR}/generated/shipped_files.c)
  add_custom_command(OUTPUT ${shipped_source}
    COMMAND ${CMAKE_COMMAND} -DOUT=${shipped_source} "-DFILES=${shipped_files}"
      -DROOT=${CMAKE_SOURCE_DIR}/src/tune/shipped -DHEADER=tune/shipped.h
      -DTYPE=shipped_file -DLIST=shipped_files -DCOUNT=shipped_nfile
      -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${shipped_files} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake VERBATIM)
  target_sources(tenon PRIVATE ${shipped_source})
endif()

# Devices are served by plug-ins, which the runtime opens when a device is asked for. They find the drivers themselves:
# nothing is needed to build them.
foreach(device opencl cuda)
  tenon_library(tenon_${device} PLUGIN LAYERS runtime/${device}
    LINK tenon_runtime Threads::Threads ${CMAKE_DL_LIBS})
endforeach()

# The code generator that needs LLVM is opened when target llvm is first used.
option(TENON_BUILD_LLVM "build the LLVM code generator where LLVM is installed" ON)
if(TENON_BUILD_COMPILER AND TENON_BUILD_LLVM)
  find_program(LLVM_CONFIG NAMES llvm-config-19 llvm-config-20 llvm-config-18)
  if(LLVM_CONFIG)
    execute_process(COMMAND ${LLVM_CONFIG} --includedir
      OUTPUT_VARIABLE LLVM_INCLUDE_DIR OUTPUT_STRIP_TRAILING_WHITESPACE)
    execute_process(COMMAND ${LLVM_CONFIG} --libdir
      OUTPUT_VARIABLE LLVM_LIB_DIR OUTPUT_STRIP_TRAILING_WHITESPACE)
    find_library(LLVM_LIBRARY NAMES LLVM LLVM-19 LLVM-20 LLVM-18 PATHS ${LLVM_LIB_DIR} NO_DEFAULT_PATH)
  endif()
  if(LLVM_CONFIG AND LLVM_LIBRARY)
    tenon_library(tenon_llvm PLUGIN LAYERS codegen/llvm
      LINK tenon tenon_runtime ${LLVM_LIBRARY} Threads::Threads m)
    if(TARGET tenon_llvm)
      target_include_directories(tenon_llvm SYSTEM PRIVATE ${LLVM_INCLUDE_DIR})
      # Where LLVM gives up it is left by an exception, through our frames (src/codegen/llvm/guard.h).
      target_compile_options(tenon_llvm PRIVATE -fexceptions -fasynchronous-unwind-tables)
    endif()
  else()
    message(STATUS "LLVM (llvm-19-dev) not found: no target llvm")
  endif()
endif()

# The command line.
if(TENON_BUILD_COMPILER)
  file(GLOB_RECURSE cli_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/cli/*.c)
  add_executable(tenon_cli ${cli_sources})
  target_include_directories(tenon_cli PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(tenon_cli PRIVATE tenon_flags tenon tenon_runtime Threads::Threads ${CMAKE_DL_LIBS} m)
  set_target_properties(tenon_cli PROPERTIES OUTPUT_NAME tenon RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin
    BUILD_RPATH "$ORIGIN/../lib" INSTALL_RPATH "${TENON_BIN_RPATH}")
  pkg_check_modules(ZLIB IMPORTED_TARGET zlib)
  if(ZLIB_FOUND)
    target_link_libraries(tenon_cli PRIVATE PkgConfig::ZLIB)
    target_compile_definitions(tenon_cli PRIVATE TN_HAVE_ZLIB)
  else()
    message(STATUS "zlib (zlib1g-dev) not found: tenon run reads no compressed archives")
  endif()
  pkg_check_modules(PNG IMPORTED_TARGET libpng)
  if(PNG_FOUND)
    target_link_libraries(tenon_cli PRIVATE PkgConfig::PNG)
    target_compile_definitions(tenon_cli PRIVATE TN_HAVE_PNG)
  else()
    message(STATUS "libpng (libpng-dev) not found: tenon run does not read images")
  endif()
  install(TARGETS tenon_cli RUNTIME DESTINATION ${TENON_BIN_DIR})
endif()

install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/ DESTINATION ${TENON_INCLUDE_DIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
