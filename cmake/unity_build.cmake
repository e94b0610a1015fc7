# Sources of one target are compiled sixteen at a time: what libtorch's and the host's headers instantiate is then made once
# for sixteen and not once for each. A source whose own names clash with a neighbour's is compiled alone, and so is C. The
# presets `asan`, `tidy` and `fuzz` compile each source alone.
#
#   unite_sources(<target>)
set(replaced_in_tests # tests/faults links mutants of them
    core/base/io/atomic_file.cpp core/store/counting.cpp core/store/record_file.cpp core/store/sealed_line.cpp
    core/store/store.cpp)
set(compiled_alone
    cli/run.cpp # its `results` are a stream, those of its neighbour a verb
    core/base/io/sha256.cpp # a public type has a member of a type of its own
    plugins/metrics/curvature/graph_bytes.cpp
    plugins/tokenizers/sentencepiece/unigram.cpp
    tests/core/plugin/wire/fake_plugin.cpp
    tests/core/plugin/wire/tables_test.cpp
    tests/support/host_threads.cpp
    tests/support/test_host.cpp
    # not every program that links their neighbours has what they need: a module, Catch2
    tests/plugins/models/model_driver.cpp
    tests/plugins/quantizers/quantizer_bench.cpp
    tests/run/built_catalog.cpp
    tests/support/differences.cpp
    tests/support/fixtures.cpp
    tests/support/hub_server.cpp
    tests/support/project_folders.cpp
    tests/support/skip.cpp
)

function(unite_sources target)
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  get_target_property(type ${target} TYPE)
  if(folder MATCHES "/tests(/|$)" AND NOT type MATCHES "^(EXECUTABLE|STATIC_LIBRARY)$")
    return()
  endif()
  if(folder STREQUAL "${PROJECT_SOURCE_DIR}/promises")
    return() # each kind's file has a table of the same name
  endif()
  foreach(source IN LISTS sources)
    if(source MATCHES "\\$<")
      continue() # another target's objects
    endif()
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${folder}")
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE path)
    if(path MATCHES "\\.c$" OR path IN_LIST compiled_alone OR path IN_LIST replaced_in_tests)
      set_source_files_properties("${source}" TARGET_DIRECTORY ${target} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
  set(batch 16)
  if(folder STREQUAL "${PROJECT_SOURCE_DIR}/core/arithmetic")
    set(batch 8) # its build id is in every key: other units would be another build, which `adopt` does not take
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${batch})
endfunction()
