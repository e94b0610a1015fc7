// Folders of plugins that are Python files.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/plugin/catalog/catalog.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

// A quantizer of three lines, called `id`, that rounds to `bits` bits.
std::string quantizer_in_python(const std::string& id, int bits = 4);

// The package of the source tree, the caller's PATH, and the system's interpreter.
PythonSetup python_of_tests();

// Skips the test where that interpreter cannot import numpy.
void need_numpy();

class PythonFolder {
 public:
  // Writes a file, and returns its path.
  std::filesystem::path add(const std::string& name, std::string_view text);
  Catalog catalog(const PythonSetup& python = python_of_tests()) const;
  std::filesystem::path path() const { return folder_ / "plugins"; }

 private:
  TemporaryDir folder_;
};

}  // namespace quench::test
