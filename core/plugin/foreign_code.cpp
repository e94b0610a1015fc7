#include "core/plugin/foreign_code.hpp"

#include <algorithm>
#include <string_view>
#include <system_error>

#include "core/plugin/search_path.hpp"

extern char** environ;

namespace quench {

namespace fs = std::filesystem;

namespace {

// Names of variables; one that ends with "_" stands for all that begin so.
constexpr std::string_view kPassed[] = {
    // The user, the machine, the language.
    "PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TERM", "TZ", "LANG", "LANGUAGE", "LC_",
    // The program, its plugins, and interpreters.
    "QUENCH_", "PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX",
    // How libraries compute: threads, kernels, devices.
    "OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "BLIS_", "NUMEXPR_", "TBB_", "ATEN_", "TORCH_",
    "PYTORCH_", "DNNL_", "ONEDNN_", "CUDA_", "CUDNN_", "CUBLAS_", "NVIDIA_", "HIP_", "ROCR_",
    "JAX_", "XLA_",
    // How memory is given, and what watches over it.
    "MALLOC_", "GLIBC_TUNABLES", "ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"};

bool is_passed(std::string_view name) {
  return std::any_of(std::begin(kPassed), std::end(kPassed), [&](std::string_view passed) {
    return passed.ends_with('_') ? name.starts_with(passed) : name == passed;
  });
}

std::vector<std::string> variables(bool with_loader) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (is_passed(text.substr(0, text.find('='))) || (with_loader && text.starts_with("LD_"))) {
      out.emplace_back(text);
    }
  }
  return out;
}

bool lies_beneath(const fs::path& path, const fs::path& folder) {
  const auto [inside, rest] = std::mismatch(folder.begin(), folder.end(), path.begin(), path.end());
  return !folder.empty() && inside == folder.end();
}

}  // namespace

bool is_foreign(const fs::path& file, const fs::path& executable) {
  std::error_code absent;
  return !lies_beneath(file, fs::canonical(own_plugins(executable), absent));
}

std::vector<std::string> foreign_environment() {
  return variables(false);
}

std::vector<std::string> probe_environment() {
  return variables(true);
}

fs::path interpreter_sandbox(const fs::path& executable) {
  return own_plugins(executable) / "host" / "confine.so";
}

}  // namespace quench
