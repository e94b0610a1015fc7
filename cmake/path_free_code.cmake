# path_free_code(): what the calling folder and those below it compile holds no path of this machine, in __FILE__ and
# debug information, so that its build id, which content keys name, is that of any checkout. Of several maps GCC tries
# the one that is named last first.
function(path_free_code)
  foreach(map "${QUENCH_DEPS}=.deps" "${PROJECT_SOURCE_DIR}=." "${PROJECT_BINARY_DIR}=build")
    set_property(DIRECTORY APPEND PROPERTY COMPILE_OPTIONS "-ffile-prefix-map=${map}")
  endforeach()
endfunction()
