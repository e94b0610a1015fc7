# The only way to make a test binary.
#
#   add_test_suite(<name> SOURCES a_test.cpp ... [LINK target ...] [LABELS label ...])
#
# One ctest entry per test case. Labels: the default set carries none but its folder's; `slow` marks what
# `./dev test` leaves to `./dev test all`.
include(Catch)

if(QUENCH_TESTS)
  add_library(quench_test_main STATIC "${PROJECT_SOURCE_DIR}/tests/support/main.cpp")
  target_link_libraries(quench_test_main PUBLIC Catch2::Catch2)
endif()

function(add_test_suite name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK;LABELS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE quench_test_main quench_test_support quench_warnings ${arg_LINK})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  catch_discover_tests(${name} TEST_PREFIX "${name}: " PROPERTIES LABELS "${name};${arg_LABELS}" TIMEOUT 300)
endfunction()
