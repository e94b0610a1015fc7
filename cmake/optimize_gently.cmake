# What is in no hot loop (commands, manifests, the grid of cells, fetching, what plugins promise) is compiled with -Og, in
# half the time of -O2: a first build has it before its first training step. A plan of 10,000 cells takes 3 % longer so.
#
#   optimize_gently(<target>)
function(optimize_gently target)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    # Behind -Og, GCC 12 warns falsely of std::function.
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Og;-Wno-maybe-uninitialized>")
    set_property(TARGET ${target} PROPERTY QUENCH_OPTIMIZED_GENTLY TRUE)
  endif()
endfunction()
