# Refuses a plugin that was linked to quench::torch_stable and wants more of libtorch than its C functions, which libtorch keeps
# from version to version: any symbol of its C++ namespaces.
#
#   cmake -D PLUGIN=... -D NM=... -P check-torch-stable.cmake
execute_process(COMMAND "${NM}" -D --undefined-only "${PLUGIN}" OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "_Z[A-Za-z]*(2at|3c10|5torch|6caffe2)[A-Za-z0-9_]*" found "${symbols}")
if(found)
  list(LENGTH found count)
  list(GET found 0 first)
  file(REMOVE "${PLUGIN}")
  message(FATAL_ERROR "${PLUGIN}: links quench::torch_stable and wants ${count} C++ symbols of libtorch, such as ${first}")
endif()
