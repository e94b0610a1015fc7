# The only way to make a library of the host: one for each folder.
#
#   add_host_library(<name> SOURCES a.cpp ... [LINK library ...] [USES package ...])
#
# LINK names the folders whose headers this one includes, USES what else it needs. `quench::<name>` is the static library.
# With tests, it is also linked alone with what it names, and nothing may be missing then: so a folder that begins to use
# another one without saying so does not link, and folders that use each other cannot be written down at all.
function(add_host_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK;USES" ${ARGN})
  add_library(quench_${name} STATIC ${arg_SOURCES})
  add_library(quench::${name} ALIAS quench_${name})
  target_include_directories(quench_${name} PUBLIC "${PROJECT_SOURCE_DIR}")
  list(TRANSFORM arg_LINK PREPEND quench:: OUTPUT_VARIABLE links)
  target_link_libraries(quench_${name} PUBLIC quench::sdk ${links} PRIVATE quench_warnings ${arg_USES})
  set_property(GLOBAL APPEND PROPERTY quench_host_libraries quench::${name})
  if(QUENCH_TESTS)
    file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/${name}_alone.cpp" "")
    add_library(quench_${name}_alone MODULE "${CMAKE_CURRENT_BINARY_DIR}/${name}_alone.cpp")
    target_link_libraries(quench_${name}_alone PRIVATE
      -Wl,--whole-archive $<TARGET_FILE:quench_${name}> -Wl,--no-whole-archive ${links} quench::sdk ${arg_USES})
    target_link_options(quench_${name}_alone PRIVATE -Wl,--no-undefined)
    add_dependencies(quench_${name}_alone quench_${name})
    set_target_properties(quench_${name}_alone PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib/alone")
  endif()
endfunction()
