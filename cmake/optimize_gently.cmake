# What is in no measured loop (commands, manifests, what plugins promise) is compiled with -Og, in half the time of -O2. A
# first build has it before its first training step.
#
#   optimize_gently(<target>)
function(optimize_gently target)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    # Behind -Og, GCC 12 warns falsely of std::function.
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Og;-Wno-maybe-uninitialized>")
    set_property(TARGET ${target} PROPERTY QUENCH_OPTIMIZED_GENTLY TRUE)
  endif()
endfunction()
