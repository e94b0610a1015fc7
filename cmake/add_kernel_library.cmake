# Kernels for NVIDIA GPUs, compiled by nvcc.
#
#   add_kernel_library(<name> SOURCES a.cu ...)
#
# makes lib/quench/cuda/<name>.so of the build tree and of installations, part of `all` and of `program`. Nothing links it: it is loaded late, so
# the same build runs where there is no GPU, and a build without nvcc only lacks the file. It needs no driver to be loaded
# and brings its own runtime (cudart, static). -fmad=false: the kernels have the bits of the loops for processors, so no
# multiplication is fused with an addition.
#
# QUENCH_CUDA: AUTO (default) compiles kernels where nvcc is found, ON asks for it (the preset `cuda`), OFF does not look.
set(QUENCH_CUDA "AUTO" CACHE STRING "Compile kernels for NVIDIA GPUs: AUTO (where nvcc is found), ON or OFF")
set_property(CACHE QUENCH_CUDA PROPERTY STRINGS AUTO ON OFF)
set(kernel_architectures 80 90 100) # A100, H100 and H200, B200; newer ones compile from the last one's PTX

set(QUENCH_KERNELS OFF)
if(QUENCH_CUDA AND QUENCH_TORCH AND NOT QUENCH_SANITIZE)
  find_program(QUENCH_NVCC nvcc HINTS "$ENV{CUDA_HOME}/bin" "$ENV{CUDA_PATH}/bin" /usr/local/cuda/bin)
  if(QUENCH_NVCC)
    execute_process(COMMAND "${QUENCH_NVCC}" --version OUTPUT_VARIABLE version ERROR_QUIET)
    if("${version}" MATCHES "release ([0-9]+)" AND CMAKE_MATCH_1 GREATER_EQUAL 12) # the first with C++20
      execute_process(COMMAND "${QUENCH_NVCC}" --list-gpu-arch OUTPUT_VARIABLE known ERROR_QUIET)
    endif()
    set(kernel_flags "")
    set(kernel_names "")
    foreach(architecture IN LISTS kernel_architectures)
      if("${known}" MATCHES "compute_${architecture}(\n|$)")
        list(APPEND kernel_flags "-gencode=arch=compute_${architecture},code=sm_${architecture}")
        list(APPEND kernel_names "sm_${architecture}")
        set(newest ${architecture})
      endif()
    endforeach()
  endif()
  if(newest)
    set(QUENCH_KERNELS ON)
    list(APPEND kernel_flags "-gencode=arch=compute_${newest},code=compute_${newest}")
    list(APPEND kernel_names "compute_${newest}")
    list(JOIN kernel_names " " kernel_names)
    message(STATUS "Kernels for GPUs: ${kernel_names}, by ${QUENCH_NVCC}")
  elseif(NOT QUENCH_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "QUENCH_CUDA is ${QUENCH_CUDA}, but no nvcc of CUDA 12 or newer that knows one of the "
                        "architectures ${kernel_architectures} was found: put it on the PATH, or set QUENCH_NVCC")
  endif()
endif()

function(add_kernel_library name)
  cmake_parse_arguments(arg "" "" "SOURCES" ${ARGN})
  set(folder "${PROJECT_BINARY_DIR}/kernels/${name}")
  file(MAKE_DIRECTORY "${folder}" "${PROJECT_BINARY_DIR}/lib/quench/cuda")
  set(objects "")
  foreach(source IN LISTS arg_SOURCES)
    string(REPLACE "/" "_" object "${source}.o")
    set(object "${folder}/${object}")
    add_custom_command(
      OUTPUT "${object}"
      COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} "${QUENCH_NVCC}" -std=c++20 -O3 -fmad=false --expt-relaxed-constexpr
              ${kernel_flags} "-DQUENCH_CUDA_ARCHITECTURES=\"${kernel_names}\"" -Werror all-warnings
              -Xcompiler=-fPIC,-ffp-contract=off,-Wall,-Wextra,-Werror
              "-I${PROJECT_SOURCE_DIR}/plugins" "-I${PROJECT_SOURCE_DIR}/sdk/include"
              -MD -MF "${object}.d" -c "${CMAKE_CURRENT_SOURCE_DIR}/${source}" -o "${object}"
      DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${source}"
      DEPFILE "${object}.d"
      COMMENT "Building kernels ${source}"
      VERBATIM)
    list(APPEND objects "${object}")
  endforeach()
  set(library "${PROJECT_BINARY_DIR}/lib/quench/cuda/${name}.so")
  add_custom_command(
    OUTPUT "${library}"
    COMMAND "${QUENCH_NVCC}" -shared -cudart static ${kernel_flags} -Xlinker=--build-id=sha1,-z,now,-z,relro
            "-Xlinker=--version-script=${PROJECT_SOURCE_DIR}/cmake/kernels.map" ${objects} -o "${library}"
    DEPENDS ${objects} "${PROJECT_SOURCE_DIR}/cmake/kernels.map"
    COMMENT "Linking kernels lib/quench/cuda/${name}.so"
    VERBATIM)
  add_custom_target(quench_${name} ALL DEPENDS "${library}")
  install(PROGRAMS "${library}" DESTINATION ${CMAKE_INSTALL_LIBDIR}/quench/cuda)
endfunction()

# Recordings of what a GPU is told (plugins/shared/cuda/graphs.h): lib/quench/cuda/graphs.so, which alone links libtorch's
# part for CUDA and so is loaded where that is.
function(add_graph_library)
  set(runtime "${QUENCH_DEPS}/nvidia/cu13")
  set(part "${QUENCH_DEPS}/torch/lib/libtorch_cuda.so")
  if(NOT EXISTS "${runtime}/include/cuda_runtime_api.h" OR NOT EXISTS "${part}")
    message(STATUS "No recordings for GPUs: libtorch's part for CUDA is not in ${QUENCH_DEPS}")
    return()
  endif()
  add_library(quench_graphs MODULE "${PROJECT_SOURCE_DIR}/plugins/shared/cuda/graphs.cpp")
  target_include_directories(quench_graphs SYSTEM PRIVATE "${runtime}/include")
  target_include_directories(quench_graphs PRIVATE "${PROJECT_SOURCE_DIR}/plugins")
  target_link_libraries(quench_graphs PRIVATE quench::torch "${part}" "${QUENCH_DEPS}/torch/lib/libc10_cuda.so" "${runtime}/lib/libcudart.so.13" quench_warnings)
  target_link_options(quench_graphs PRIVATE "-Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/kernels.map" -Wl,-z,defs)
  set_target_properties(quench_graphs PROPERTIES PREFIX "" OUTPUT_NAME graphs LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib/quench/cuda"
                        SKIP_BUILD_RPATH ON DISABLE_PRECOMPILE_HEADERS ON UNITY_BUILD OFF)
  install(TARGETS quench_graphs LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/quench/cuda)
endfunction()
