#include "core/plugin/catalog/foreign_code.hpp"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/error.hpp"
#include "core/plugin/catalog/installation_list.hpp"
#include "core/plugin/catalog/search_path.hpp"
#include "core/plugin/library/elf_file.hpp"

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

// python, python3, python3.12: what a person calls by this name is theirs.
bool is_called_python(const std::string& name) {
  constexpr std::string_view kPython = "python";
  return name.starts_with(kPython) &&
         name.find_first_not_of("0123456789.", kPython.size()) == std::string::npos;
}

bool is_on_path(const fs::path& folder, std::string_view path) {
  for (size_t from = 0; from <= path.size();) {
    const size_t end = std::min(path.find(':', from), path.size());
    if (folder == path.substr(from, end - from)) {
      return true;
    }
    from = end + 1;
  }
  return false;
}

// CPython's program has the interpreter in it, or calls the library that has.
bool is_cpython(const fs::path& program) {
  try {
    return names_symbol(program, "Py_BytesMain");
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

bool is_foreign(const fs::path& file, const fs::path& executable) {
  return !InstallationList(own_plugins(executable)).has(file);
}

std::vector<std::string> foreign_environment() {
  return variables(false);
}

std::vector<std::string> probe_environment() {
  return variables(true);
}

std::vector<fs::path> loader_folders() {
  std::vector<fs::path> out;
  const char* said = std::getenv("LD_LIBRARY_PATH");
  std::istringstream folders(said == nullptr ? "" : said);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code error;
    if (fs::path found = fs::canonical(folder, error); !error) {
      out.push_back(std::move(found));
    }
  }
  return out;
}

fs::path interpreter_sandbox(const fs::path& executable) {
  return own_plugins(executable) / "host" / "confine.so";
}

void require_confinable(const fs::path& interpreter, const fs::path& file,
                        const PythonSetup& setup) {
  const bool chosen = setup.interpreter && interpreter == *setup.interpreter;
  if (chosen || (is_called_python(interpreter.filename().string()) &&
                 is_on_path(interpreter.parent_path(), setup.path))) {
    return;
  }
  std::error_code error;
  const fs::path program = fs::canonical(interpreter, error);
  const fs::path folder = fs::canonical(interpreter.parent_path(), error);
  const fs::path own = fs::canonical(file, error).parent_path();
  const char* fault = !is_cpython(program) ? "no Python interpreter itself"
                      : lies_beneath(program, own) || lies_beneath(folder, own)
                          ? "an interpreter that lies beside the plugin"
                          : nullptr;
  if (fault != nullptr) {
    fail(QUENCH_FAILED_PRECONDITION,
         "its first line: {} is {}, which nothing confines; name one that is installed elsewhere, "
         "choose it yourself as QUENCH_PYTHON, or use --sandbox off",
         printable(interpreter.string(), 400), fault);
  }
}

}  // namespace quench
