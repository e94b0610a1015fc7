# Building a plugin against the SDK, inside and outside quench's own tree.
#
#   quench_add_plugin(<target> [KIND <kind>] SOURCES a.cpp ... [LINK target ...])
#
# makes the module <target>.so, with hidden symbols and exactly one exported one. With KIND it is written to
# <build>/<kind>/, which is a folder that `quench --plugin-path <build>` searches. A plugin that links quench::torch or
# quench::decoder says in a note which libtorch it was built against and has no RUNPATH of this machine: the host gives it
# its own libtorch, if major and minor are the same. One that brings another libtorch sets INSTALL_RPATH. A plugin that links
# quench::torch_stable runs with any libtorch from 2.10 on, and is refused here if it wants more of it than C functions.
set(QUENCH_TORCH_STABLE_CHECK "${CMAKE_CURRENT_LIST_DIR}/check-torch-stable.cmake")
set(QUENCH_PLUGIN_MAP "${CMAKE_CURRENT_LIST_DIR}/plugin.map")
if(NOT EXISTS "${QUENCH_PLUGIN_MAP}")
  set(QUENCH_PLUGIN_MAP "${CMAKE_CURRENT_LIST_DIR}/../../cmake/plugin.map")
endif()

# Compile flags: nothing visible but the entry, and no GNU_UNIQUE symbols, which would be shared between
# plugins in spite of RTLD_LOCAL. Where sources and headers lie is kept out of the binary, whose build id names the
# plugin in content keys: the same sources have the same keys in any folder.
if(NOT DEFINED QUENCH_SDK_PREFIX) # else an installed SDK
  get_filename_component(QUENCH_SDK_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
endif()
function(quench_plugin_flags target)
  if(CMAKE_CXX_COMPILER_LOADED) # a plugin in plain C needs no C++ compiler
    target_compile_features(${target} PUBLIC cxx_std_20)
  endif()
  set_target_properties(${target} PROPERTIES C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden
                        VISIBILITY_INLINES_HIDDEN ON POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>
                         "-ffile-prefix-map=${QUENCH_SDK_PREFIX}=." "-ffile-prefix-map=${CMAKE_SOURCE_DIR}=."
                         "-ffile-prefix-map=${CMAKE_BINARY_DIR}=build")
endfunction()

function(quench_plugin_link target)
  set(options -Wl,--build-id=sha1 "-Wl,--version-script=${QUENCH_PLUGIN_MAP}" -Wl,--exclude-libs,ALL -Wl,-z,now -Wl,-z,relro)
  if(NOT QUENCH_SANITIZE) # a sanitized module finds its runtime in the host
    list(APPEND options -Wl,-z,defs)
  endif()
  target_link_options(${target} PRIVATE ${options})
  target_link_libraries(${target} PRIVATE m) # a C++ compiler links it anyway, a C compiler does not
  set_target_properties(${target} PROPERTIES LINK_DEPENDS "${QUENCH_PLUGIN_MAP}")
endfunction()

# `version`: of libtorch, "2.11", or "stable".
function(quench_plugin_torch target version)
  set(note "${CMAKE_CURRENT_BINARY_DIR}/${target}_torch_note.cpp")
  file(CONFIGURE OUTPUT "${note}" CONTENT [=[
// Which libtorch the plugin is built against, for its host.
namespace {
struct Note {
  unsigned name_bytes, bytes, type;
  char name[8], version[16];
};
[[gnu::section(".note.quench"), gnu::used]] alignas(4) constexpr Note kNote = {7, 16, 1, "quench", "@version@"};
}  // namespace
]=] @ONLY)
  target_sources(${target} PRIVATE "${note}")
  set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON)
endfunction()

function(quench_add_plugin target)
  cmake_parse_arguments(arg "" "KIND" "SOURCES;LINK" ${ARGN})
  add_library(${target} MODULE ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE quench::sdk ${arg_LINK})
  quench_plugin_flags(${target})
  quench_plugin_link(${target})
  set_target_properties(${target} PROPERTIES PREFIX "")
  get_property(torch_version GLOBAL PROPERTY quench_torch_version)
  if(torch_version AND ("quench::torch" IN_LIST arg_LINK OR "quench::decoder" IN_LIST arg_LINK))
    quench_plugin_torch(${target} ${torch_version})
  elseif("quench::torch_stable" IN_LIST arg_LINK)
    quench_plugin_torch(${target} stable)
    add_custom_command(TARGET ${target} POST_BUILD COMMAND "${CMAKE_COMMAND}" -D "PLUGIN=$<TARGET_FILE:${target}>" -D "NM=${CMAKE_NM}"
                       -P "${QUENCH_TORCH_STABLE_CHECK}" VERBATIM)
  endif()
  if(arg_KIND)
    set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/${arg_KIND}")
  endif()
endfunction()
