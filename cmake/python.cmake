# The Python extension (python/ext, stable ABI of CPython 3.11) and a package that can be imported from the build tree:
#   <build>/python/tenon/  links to python/tenon/*, the built libraries, include/, and _core.abi3.so itself
# so that PYTHONPATH=<build>/python runs the sources as they are. A wheel has the same layout.
file(GLOB ext_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/python/ext/*.c)
set(PACKAGE_DIR ${CMAKE_BINARY_DIR}/python/tenon)

if(ext_sources)
  find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
  add_library(_core MODULE ${ext_sources})
  target_compile_definitions(_core PRIVATE Py_LIMITED_API=0x030b0000)
  target_include_directories(_core PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(_core PRIVATE tenon_flags tenon_runtime ${CMAKE_DL_LIBS})
  target_include_directories(_core SYSTEM PRIVATE ${Python_INCLUDE_DIRS})
  set_target_properties(_core PROPERTIES
    PREFIX "" SUFFIX ".abi3.so" LIBRARY_OUTPUT_DIRECTORY ${PACKAGE_DIR}
    BUILD_RPATH_USE_ORIGIN ON BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")
  if(SKBUILD)
    install(TARGETS _core LIBRARY DESTINATION tenon)
    install(DIRECTORY ${CMAKE_SOURCE_DIR}/src/micro DESTINATION tenon/csrc)
  endif()
endif()

# Links into the sources. Configuring again (which a new or deleted file brings about) also drops dead ones.
file(GLOB package_files LIST_DIRECTORIES true CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/python/tenon/*)
list(FILTER package_files EXCLUDE REGEX "__pycache__")
file(MAKE_DIRECTORY ${PACKAGE_DIR})
file(GLOB old_links ${PACKAGE_DIR}/*)
foreach(link ${old_links})
  if(IS_SYMLINK ${link})
    file(REMOVE ${link})
  endif()
endforeach()
foreach(path ${package_files})
  get_filename_component(name ${path} NAME)
  file(CREATE_LINK ${path} ${PACKAGE_DIR}/${name} SYMBOLIC)
endforeach()
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/include ${PACKAGE_DIR}/include SYMBOLIC)
# The runtime for microcontrollers, which firmware compiles.
file(MAKE_DIRECTORY ${PACKAGE_DIR}/csrc)
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/src/micro ${PACKAGE_DIR}/csrc/micro SYMBOLIC)

get_property(libraries GLOBAL PROPERTY TENON_LIBRARIES)
foreach(library ${libraries})
  set(file lib${library}${CMAKE_SHARED_LIBRARY_SUFFIX})
  file(CREATE_LINK ${CMAKE_BINARY_DIR}/lib/${file} ${PACKAGE_DIR}/${file} SYMBOLIC)
endforeach()
