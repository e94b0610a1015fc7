#include "core/plugin/catalog/python_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <string_view>
#include <system_error>

#include "core/error.hpp"
#include "core/parse_text.hpp"
#include "core/plugin/catalog/first_line.hpp"
#include "core/plugin/catalog/foreign_code.hpp"

extern char** environ;

namespace quench {

namespace fs = std::filesystem;

namespace {

fs::path require_program(const fs::path& program, const std::string& said_by) {
  if (!program.is_absolute() || !is_program(program)) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: got {}, wanted the absolute path of a Python interpreter",
         said_by, printable(program.string(), 400));
  }
  return program;
}

fs::path require_on_path(const std::string& name, const PythonSetup& setup,
                         const std::string& said_by) {
  const fs::path found = find_program(name, setup.path);
  if (found.empty()) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: no {} in {}", said_by, printable(name, 400),
         printable(setup.path, 1000));
  }
  return found;
}

void require_package(const PythonSetup& setup) {
  if (std::error_code error; !fs::exists(setup.package / "quench/describe.py", error)) {
    fail(QUENCH_FAILED_PRECONDITION,
         "Python: no package `quench` in {}, which belongs to this program",
         printable(setup.package.string(), 1000));
  }
}

}  // namespace

bool is_python_file(const fs::path& file) {
  return file.extension() == ".py";
}

fs::path own_python(const fs::path& executable) {
  if (executable.empty()) {
    return {};
  }
  const fs::path folder = fs::absolute(executable).lexically_normal().parent_path();
  return (folder / "../share/quench/python").lexically_normal();
}

fs::path usual_interpreter(const PythonSetup& setup) {
  require_package(setup);
  if (setup.interpreter && !setup.interpreter->empty()) {
    return require_program(*setup.interpreter, "QUENCH_PYTHON");
  }
  const fs::path usual = "/usr/bin/python3";
  for (const fs::path folder : split(setup.path, ':')) {
    const fs::path program = folder / "python3";
    if (folder.is_absolute() && is_program(program) && (program == usual || is_cpython(program))) {
      return program;
    }
  }
  if (is_program(usual)) {
    return usual;
  }
  const fs::path script = find_program("python3", setup.path);
  if (script.empty()) {
    fail(QUENCH_FAILED_PRECONDITION,
         "Python: no python3 in {} or /usr/bin; install one, or name it: "
         "QUENCH_PYTHON=/absolute/path/python3",
         printable(setup.path, 1000));
  }
  return script;
}

fs::path interpreter_of(const fs::path& file, const PythonSetup& setup) {
  require_package(setup);
  const std::vector<std::string> words = first_line_words(file);
  if (words.size() == 2 && fs::path(words[0]).filename() == "env") {
    return require_on_path(words[1], setup, "its first line");
  }
  if (words.size() > 1) {
    fail(QUENCH_FAILED_PRECONDITION,
         "its first line: got {}, wanted #! and an interpreter without arguments",
         printable(fmt::format("#!{}", fmt::join(words, " ")), 400));
  }
  if (words.size() == 1) {
    return require_program(words[0], "its first line");
  }
  return usual_interpreter(setup);
}

std::vector<std::string> plain_environment() {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (!text.starts_with("LD_PRELOAD=") && !text.starts_with("LD_LIBRARY_PATH=") &&
        !text.starts_with("LD_AUDIT=")) {
      out.emplace_back(text);
    }
  }
  return out;
}

std::vector<std::string> python_environment(const PythonSetup& setup,
                                            std::vector<std::string> base) {
  const std::vector<std::string> own = {"PYTHONPATH=" + setup.package.string(),
                                        "PYTHONDONTWRITEBYTECODE=1",
                                        "PYTHONHASHSEED=0",  // the order of a set's elements
                                        "OMP_NUM_THREADS=1",
                                        "MKL_NUM_THREADS=1",
                                        "OPENBLAS_NUM_THREADS=1",
                                        "OMP_DYNAMIC=false"};
  std::erase_if(base, [&](const std::string& entry) {
    const std::string name = entry.substr(0, entry.find('=') + 1);
    return entry.starts_with("PYTHON") ||
           std::any_of(own.begin(), own.end(),
                       [&](const std::string& set) { return set.starts_with(name); });
  });
  base.insert(base.end(), own.begin(), own.end());
  return base;
}

bool is_program(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
}

fs::path find_program(const std::string& name, std::string_view path) {
  for (const fs::path folder : split(path, ':')) {
    if (folder.is_absolute() && is_program(folder / name)) {
      return folder / name;
    }
  }
  return {};
}

}  // namespace quench
