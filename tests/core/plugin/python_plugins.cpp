#include "tests/core/plugin/python_plugins.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "tests/core/plugin/fault_plugins.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/subprocess.hpp"

namespace quench::test {

std::string quantizer_in_python(const std::string& id, int bits) {
  return fmt::format(
      "import quench\n\n"
      "@quench.quantizer(bits={})\n"
      "def {}(weight, bits):\n"
      "    \"\"\"Rounds every row.\"\"\"\n"
      "    scale = abs(weight).max(1, keepdims=True) / (2 ** (bits - 1) - 1)\n"
      "    return (weight / scale).round() * scale\n",
      bits, id);
}

PythonSetup python_of_tests() {
  const char* path = std::getenv("PATH");
  return {source_dir() / "python", std::nullopt, path != nullptr ? path : "/usr/bin:/bin"};
}

void need_numpy() {
  const bool found = run_shell("/usr/bin/python3 -c 'import numpy'").code == 0;
  skip_unless(found, "/usr/bin/python3 has no numpy");
}

std::filesystem::path PythonFolder::add(const std::string& name, std::string_view text) {
  return folder_.write("plugins/" + name, text);
}

Catalog PythonFolder::catalog(const PythonSetup& python) const {
  CatalogOptions options;
  options.search_path = {path()};
  options.cache_dir = folder_ / "cache";
  options.self = quench_executable();
  options.probe_seconds = 60;
  options.python = python;
  return Catalog(options);
}

}  // namespace quench::test
