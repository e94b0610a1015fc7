# The only way to make a plugin inside this repository.
#
#   add_plugin(<kind folder> <id> SOURCES a.cpp ... [LINK target ...])
#
# makes the object library <kind>_<id>_objects (so that tests can link a plugin's kernels) and the module
# <kind>_<id>, written to lib/quench/<kind>/<id>.so. Flags are those of quench_plugin_flags in
# sdk/cmake/quench-plugin.cmake, which third parties use through quench_add_plugin.
include("${PROJECT_SOURCE_DIR}/sdk/cmake/quench-plugin.cmake")

# What `cmake --install` puts beside the plugins, for those of the build tree.
file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/lib/quench")
file(CREATE_LINK "${QUENCH_DEPS}" "${PROJECT_BINARY_DIR}/lib/quench/deps" SYMBOLIC)

function(add_plugin kind id)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  set(name "${kind}_${id}")
  add_library(${name}_objects OBJECT ${arg_SOURCES})
  target_link_libraries(${name}_objects PUBLIC quench::sdk PRIVATE quench_warnings ${arg_LINK})
  target_include_directories(${name}_objects PUBLIC "${PROJECT_SOURCE_DIR}/plugins")
  quench_plugin_flags(${name}_objects)
  add_library(${name} MODULE $<TARGET_OBJECTS:${name}_objects>)
  target_link_libraries(${name} PRIVATE quench::sdk quench_warnings ${arg_LINK})
  quench_plugin_link(${name})
  set_target_properties(${name} PROPERTIES PREFIX "" OUTPUT_NAME "${id}"
                        LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib/quench/${kind}")
  # The build tree has the same relative path to its dependencies as an installation, so both have the same build id.
  set(rpath "")
  if("quench::torch" IN_LIST arg_LINK)
    list(APPEND rpath "\$ORIGIN/../deps/torch/lib")
  endif()
  if("quench::arrow" IN_LIST arg_LINK)
    list(APPEND rpath "\$ORIGIN/../deps/pyarrow")
  endif()
  set_target_properties(${name} PROPERTIES INSTALL_RPATH "${rpath}" BUILD_WITH_INSTALL_RPATH ON)
  install(TARGETS ${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/quench/${kind})
  set_property(GLOBAL APPEND PROPERTY quench_plugins ${name})
endfunction()
