# Tests of a suite, once more with a GPU that is none (tests/support/pretended_gpu).
#
#   add_pretended_gpu_test(<suite> <cases> <what they show>)
#
# One ctest entry, which runs the suite's cases of that pattern in the GPU's tree. Slow, since each case runs without it, too.
function(add_pretended_gpu_test suite cases name)
  set(tree "${PROJECT_BINARY_DIR}/tests/gpu")
  set(test "${suite} on a GPU that is none: ${name}")
  add_test(NAME "${test}" COMMAND "${PROJECT_SOURCE_DIR}/tests/support/pretended_gpu/run_suite" "$<TARGET_FILE:${suite}>" "${tree}" "${cases}")
  set_tests_properties("${test}" PROPERTIES LABELS "pretended_gpu;${suite};slow" TIMEOUT 900 SKIP_RETURN_CODE 77 ENVIRONMENT
                       "OMP_NUM_THREADS=1;QUENCH_TEST_TREE=${tree};QUENCH_TEST_DEVICE=cuda:0")
  add_dependencies(${suite} pretended_gpu)
endfunction()
