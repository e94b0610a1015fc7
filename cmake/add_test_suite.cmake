# The only way to make a test binary.
#
#   add_test_suite(<name> SOURCES a_test.cpp ... [LINK target ...] [LABELS label ...] [ENVIRONMENT name=value ...])
#
# One ctest entry per test case. Its labels are its first folder under tests/ (`core`), its own name, and LABELS;
# `slow` marks what `./dev test` leaves to `./dev test all`. The target <folder>_suites builds a folder's suites.
# libtorch has one thread in them, as in the host.
#
# A test that cannot test here ends with kSkipped of tests/support/main.cpp (in a script: exit 77) after a line
# "SKIPPED: why"; `dev` counts those and prints the reasons.
include(Catch)
include(CheckLinkerFlag)
set(quench_skip_code 77)

# A suite holds the host, and a hundred are linked: by gold, where it is, in half the processor time.
check_linker_flag(CXX -fuse-ld=gold QUENCH_HAS_GOLD)

function(add_test_suite name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK;LABELS;ENVIRONMENT" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE quench_test_main quench_test_support quench_warnings ${arg_LINK})
  if(QUENCH_HAS_GOLD)
    target_link_options(${name} PRIVATE -fuse-ld=gold)
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}/tests" "${CMAKE_CURRENT_SOURCE_DIR}")
  string(REGEX REPLACE "/.*" "" folder "${folder}")
  if(NOT TARGET ${folder}_suites)
    add_custom_target(${folder}_suites)
  endif()
  add_dependencies(${folder}_suites ${name})
  catch_discover_tests(${name} TEST_PREFIX "${name}: ")
  # Catch's script leaves the names in <name>_TESTS, and cannot itself set a property that is a list.
  set(labels "${folder}" "${name}" ${arg_LABELS})
  set(properties "${CMAKE_CURRENT_BINARY_DIR}/${name}_properties.cmake")
  file(WRITE "${properties}" "foreach(test IN LISTS ${name}_TESTS)\n"
       "  set_tests_properties(\"\${test}\" PROPERTIES LABELS \"${labels}\" TIMEOUT 900\n"
       "                       SKIP_RETURN_CODE ${quench_skip_code} ENVIRONMENT \"OMP_NUM_THREADS=1;${arg_ENVIRONMENT}\")\nendforeach()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${properties}")
endfunction()
