# The headers that take longest to read are read once for each set of flags and not once for each file: nlohmann/json in
# the host, libtorch's tensors in plugins, Catch2 in tests. Sources still include what they use; the presets `asan`,
# `tidy` and `fuzz` build without this and find what was forgotten.
#
#   precompile_headers()    at the end of the top folder
#
# ccache takes part if its sloppiness has pch_defines and time_macros; `dev` sets it.
set(headers_std <algorithm> <array> <atomic> <chrono> <cmath> <cstdint> <cstring> <filesystem> <functional> <map> <memory>
    <mutex> <optional> <set> <span> <sstream> <stdexcept> <string> <string_view> <thread> <tuple> <unordered_map> <utility>
    <variant> <vector>)
set(headers_json <nlohmann/json.hpp>)
set(headers_catch <catch2/catch.hpp>)
set(headers_torch <ATen/core/Tensor.h> <ATen/core/grad_mode.h> <ATen/ops/arange.h> <ATen/ops/cat.h> <ATen/ops/empty.h>
    <ATen/ops/empty_like.h> <ATen/ops/from_blob.h> <ATen/ops/full.h> <ATen/ops/mm.h> <ATen/ops/ones.h> <ATen/ops/zeros.h>
    <ATen/ops/zeros_like.h>)
set(headers_autograd <torch/csrc/autograd/custom_function.h>)

set(quiet_bounds -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)

# A target whose flags and headers are those of a set, for others to reuse. GCC keeps in what it precompiles how far to
# optimize, and compiles a source so whatever its own flags say: there is one for each level.
function(add_precompiled_headers name)
  cmake_parse_arguments(arg "" "" "HEADERS;LINK" ${ARGN})
  set(source "${CMAKE_CURRENT_BINARY_DIR}/precompiled/${name}.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT "// Compiled for its precompiled headers alone.\n")
  add_library(precompiled_${name} OBJECT "${source}")
  target_link_libraries(precompiled_${name} PRIVATE quench_warnings ${arg_LINK})
  target_precompile_headers(precompiled_${name} PRIVATE ${headers_std} ${arg_HEADERS})
  target_compile_options(precompiled_${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
endfunction()

# Every target of a folder and of those below it.
function(targets_below folder result)
  get_property(targets DIRECTORY "${folder}" PROPERTY BUILDSYSTEM_TARGETS)
  get_property(below DIRECTORY "${folder}" PROPERTY SUBDIRECTORIES)
  foreach(next IN LISTS below)
    targets_below("${next}" more)
    list(APPEND targets ${more})
  endforeach()
  set(${result} ${targets} PARENT_SCOPE)
endfunction()

# Whether a target links quench::torch, itself or through what it links.
function(links_torch target result)
  set(found FALSE)
  set(todo ${target})
  set(seen "")
  while(todo)
    list(POP_FRONT todo next)
    if(next STREQUAL "quench::torch")
      set(found TRUE)
      break()
    endif()
    if(TARGET ${next} AND NOT next IN_LIST seen)
      list(APPEND seen ${next})
      foreach(property LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
        get_target_property(links ${next} ${property})
        if(links)
          list(APPEND todo ${links})
        endif()
      endforeach()
    endif()
  endwhile()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

include(unity_build)

function(precompile_headers)
  if(CMAKE_DISABLE_PRECOMPILE_HEADERS OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  set(torch "")
  if(QUENCH_TORCH)
    set(torch torch)
  endif()
  add_precompiled_headers(host HEADERS ${headers_json} LINK nlohmann_json::nlohmann_json)
  add_precompiled_headers(gentle HEADERS ${headers_json} LINK nlohmann_json::nlohmann_json)
  optimize_gently(precompiled_gentle)
  add_precompiled_headers(plugins HEADERS ${headers_json} LINK nlohmann_json::nlohmann_json)
  quench_plugin_flags(precompiled_plugins)
  if(torch)
    add_precompiled_headers(plugins_torch HEADERS ${headers_torch} ${headers_autograd} LINK quench::torch)
    quench_plugin_flags(precompiled_plugins_torch)
  endif()
  if(QUENCH_TESTS)
    add_precompiled_headers(tests HEADERS ${headers_json} ${headers_catch} LINK nlohmann_json::nlohmann_json Catch2::Catch2)
    if(torch)
      # Both define CHECK, and tests mean Catch2's.
      add_precompiled_headers(tests_torch HEADERS ${headers_torch} ${headers_json} ${headers_catch}
                              LINK nlohmann_json::nlohmann_json Catch2::Catch2 quench::torch)
    endif()
    get_property(options DIRECTORY "${PROJECT_SOURCE_DIR}/tests" PROPERTY COMPILE_OPTIONS)
    foreach(set tests tests_torch)
      if(TARGET precompiled_${set})
        target_compile_options(precompiled_${set} PRIVATE ${options})
      endif()
    endforeach()
  endif()
  foreach(folder promises core train run cli plugins tests)
    if((folder STREQUAL "tests" AND NOT QUENCH_TESTS) OR (folder STREQUAL "plugins" AND NOT QUENCH_PLUGINS))
      continue()
    endif()
    set(set host)
    if(folder STREQUAL "plugins" OR folder STREQUAL "tests")
      set(set ${folder})
    endif()
    targets_below("${PROJECT_SOURCE_DIR}/${folder}" targets)
    foreach(target IN LISTS targets)
      get_target_property(gentle ${target} QUENCH_OPTIMIZED_GENTLY)
      if(gentle AND set STREQUAL "host")
        precompile_target(${target} gentle)
      else()
        precompile_target(${target} ${set})
      endif()
    endforeach()
  endforeach()
endfunction()

# Flags of its own (another language, visibility, optimization) keep a target or a source away from what is precompiled.
function(precompile_target target set)
  get_target_property(type ${target} TYPE)
  get_target_property(sources ${target} SOURCES)
  get_target_property(off ${target} DISABLE_PRECOMPILE_HEADERS)
  if(NOT type MATCHES "^(STATIC_LIBRARY|OBJECT_LIBRARY|EXECUTABLE)$" OR NOT "${sources}" MATCHES "\\.cpp" OR off)
    return()
  endif()
  get_target_property(folder ${target} SOURCE_DIR)
  foreach(source IN LISTS sources)
    if(source MATCHES "\\$<")
      continue() # another target's objects
    endif()
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${folder}")
    get_source_file_property(options "${source}" TARGET_DIRECTORY ${target} COMPILE_OPTIONS)
    if(options OR source MATCHES "\\.c$")
      set_source_files_properties("${source}" TARGET_DIRECTORY ${target} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
  unite_sources(${target})
  links_torch(${target} torch)
  if(torch)
    set(set ${set}_torch)
  endif()
  target_precompile_headers(${target} REUSE_FROM precompiled_${set})
  # GCC takes none that was made with -fPIC for an executable's -fPIE. Behind one, GCC 12 no longer sees that std::string
  # is a system header's, and warns falsely of its bounds; the sanitized build keeps these warnings.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fpch-preprocess\;${quiet_bounds}>
                         $<$<STREQUAL:${type},EXECUTABLE>:-fPIC>)
endfunction()
