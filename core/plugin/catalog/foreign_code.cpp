#include "core/plugin/catalog/foreign_code.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/error.hpp"
#include "core/parse_text.hpp"
#include "core/plugin/catalog/installation_list.hpp"
#include "core/plugin/catalog/search_path.hpp"
#include "core/plugin/library/elf_file.hpp"
#include "core/plugin/services/host_services.hpp"

extern char** environ;

namespace quench {

namespace fs = std::filesystem;

namespace {

// Names of variables; one that ends with "_" stands for all that begin so.
constexpr std::string_view kPassed[] = {
    // The user, the machine, the language.
    "PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TERM", "TZ", "LANG", "LANGUAGE", "LC_",
    // The program, its plugins, interpreters, and where libraries are found.
    "QUENCH_", "PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX", "LD_LIBRARY_PATH",
    // How libraries compute: threads, kernels, devices.
    "OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "BLIS_", "NUMEXPR_", "TBB_", "ATEN_", "TORCH_",
    "PYTORCH_", "DNNL_", "ONEDNN_", "CUDA_", "CUDNN_", "CUBLAS_", "NVIDIA_", "HIP_", "ROCR_",
    "JAX_", "XLA_",
    // How memory is given, and what watches over it.
    "MALLOC_", "GLIBC_TUNABLES", "ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"};

// They tie threads to processors, which the sandbox refuses: a thread would not start.
constexpr std::string_view kKept[] = {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY",
                                      "KMP_AFFINITY"};

bool is_passed(std::string_view name) {
  return std::find(std::begin(kKept), std::end(kKept), name) == std::end(kKept) &&
         std::any_of(std::begin(kPassed), std::end(kPassed), [&](std::string_view passed) {
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
  const std::vector<std::string_view> folders = split(path, ':');
  return std::any_of(folders.begin(), folders.end(),
                     [&](std::string_view each) { return folder == each; });
}

}  // namespace

// It has the interpreter in it, or calls the library that has.
bool is_cpython(const fs::path& program) {
  try {
    return names_symbol(program, "Py_BytesMain");
  } catch (const Error&) {
    return false;
  }
}

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
  const char* set = std::getenv("LD_LIBRARY_PATH");
  std::string said = set == nullptr ? "" : set;
  std::replace(said.begin(), said.end(), ';', ':');  // the linker splits at both
  for (const std::string_view folder : split(said, ':')) {
    std::error_code error;
    if (fs::path found = fs::canonical(folder, error); !error) {
      out.push_back(std::move(found));
    }
  }
  return out;
}

std::vector<fs::path> readable_loader_folders() {
  const char* set = std::getenv("HOME");
  std::error_code none;
  const fs::path home = fs::canonical(set == nullptr ? "/" : set, none);
  std::vector<fs::path> out;
  for (fs::path& folder : loader_folders()) {
    if (folder != "/" && !lies_beneath(home, folder)) {
      out.push_back(std::move(folder));
      continue;
    }
    static std::once_flag once;
    std::call_once(once, [&] {
      HostServices::instance().log(
          QUENCH_LOG_WARNING, "",
          fmt::format("LD_LIBRARY_PATH: {}: your home lies in it, so that plugins in processes of "
                      "their own do not read it; name the folder of the libraries itself",
                      printable(folder.string(), 400)));
    });
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
