# Every dependency, in one place. Debian 12 packages unless a line says otherwise; `dev` installs them all.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)                       # libfmt-dev
find_package(yaml-cpp REQUIRED)                  # libyaml-cpp-dev
find_package(nlohmann_json REQUIRED)             # nlohmann-json3-dev
find_package(CLI11 REQUIRED)                     # libcli11-dev
find_package(TBB REQUIRED)                       # libtbb-dev
find_package(Boost 1.74 REQUIRED)                # libboost-dev: Boost.DLL, headers only
find_package(OpenSSL REQUIRED)                   # libssl-dev: SHA-256
find_package(ZLIB REQUIRED)                      # zlib1g-dev: .json.gz
find_package(CURL 7.85 REQUIRED)                 # libcurl4-openssl-dev: quench fetch
find_package(PkgConfig REQUIRED)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)   # libpcre2-dev
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc) # libutf8proc-dev
find_library(QUENCH_SECCOMP libseccomp.a REQUIRED)             # libseccomp-dev; its archive, so that an interpreter gets one file
if(QUENCH_TESTS)
  find_package(Catch2 2 REQUIRED)                # catch2
  find_path(QUENCH_VALIJSON valijson/validator.hpp REQUIRED)  # libvalijson-dev: JSON Schema, headers only
endif()
if(QUENCH_BENCH)
  find_package(benchmark REQUIRED)               # libbenchmark-dev
endif()

# libtorch: the PyPI wheel, unpacked by `dev` into QUENCH_DEPS with its two small CUDA runtime libraries.
# Only libtorch_cpu and libc10 are linked, so one build serves machines with and without a GPU.
if(QUENCH_TORCH)
  set(torch_root "${QUENCH_DEPS}/torch")
  if(NOT EXISTS "${torch_root}/lib/libtorch_cpu.so")
    message(FATAL_ERROR "libtorch is not in ${torch_root}: run ./dev build, which installs it")
  endif()
  add_library(quench_torch INTERFACE)
  add_library(quench::torch ALIAS quench_torch)
  target_include_directories(quench_torch SYSTEM INTERFACE "${torch_root}/include"
                             "${torch_root}/include/torch/csrc/api/include")
  # Per-operator ATen headers only: <torch/torch.h> costs 27 s a file.
  target_compile_definitions(quench_torch INTERFACE AT_PER_OPERATOR_HEADERS)
  target_link_libraries(quench_torch INTERFACE "${torch_root}/lib/libtorch_cpu.so" "${torch_root}/lib/libc10.so")
  target_link_options(quench_torch INTERFACE "-Wl,-rpath-link,${QUENCH_DEPS}/nvidia/cu13/lib")
endif()

# plotly.js out of PyPI's plotly: python/CMakeLists.txt packs it for the pages of reports.
set(QUENCH_PLOTLY_FILE "${QUENCH_DEPS}/plotly/package_data/plotly.min.js")
if(QUENCH_PLUGINS AND NOT EXISTS "${QUENCH_PLOTLY_FILE}")
  message(FATAL_ERROR "plotly.js is not in ${QUENCH_PLOTLY_FILE}: run ./dev build, which installs it")
endif()

# Arrow C++ out of PyPI's pyarrow, for the arrow corpus alone.
file(GLOB quench_arrow_library "${QUENCH_DEPS}/pyarrow/libarrow.so.*")
file(GLOB quench_parquet_library "${QUENCH_DEPS}/pyarrow/libparquet.so.*")
if(quench_arrow_library AND quench_parquet_library)
  list(GET quench_arrow_library 0 quench_arrow_library)
  list(GET quench_parquet_library 0 quench_parquet_library)
  add_library(quench_arrow INTERFACE)
  add_library(quench::arrow ALIAS quench_arrow)
  target_include_directories(quench_arrow SYSTEM INTERFACE "${QUENCH_DEPS}/pyarrow/include")
  target_link_libraries(quench_arrow INTERFACE "${quench_parquet_library}" "${quench_arrow_library}")
endif()
