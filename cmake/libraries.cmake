# The libraries and the layers each is made of (docs/architecture.md).
find_package(PkgConfig REQUIRED)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
find_package(Threads REQUIRED)

function(tenon_library name)
  cmake_parse_arguments(L "" "" "LAYERS;LINK" ${ARGN})
  set(sources)
  foreach(layer ${L_LAYERS})
    file(GLOB_RECURSE found CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${layer}/*.c)
    list(APPEND sources ${found})
  endforeach()
  add_library(${name} SHARED ${sources})
  target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR}/include PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE tenon_flags ${L_LINK})
  set_target_properties(${name} PROPERTIES
    BUILD_RPATH_USE_ORIGIN ON INSTALL_RPATH "$ORIGIN" BUILD_RPATH "$ORIGIN"
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
endfunction()

tenon_library(tenon_runtime LAYERS base object runtime LINK PkgConfig::JANSSON Threads::Threads ${CMAKE_DL_LIBS} m)
if(TENON_BUILD_COMPILER)
  tenon_library(tenon LAYERS ir arith tir te LINK tenon_runtime PkgConfig::JANSSON Threads::Threads m)
endif()
