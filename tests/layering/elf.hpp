// The dynamic symbols of a shared object.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace quench::test {

struct Symbol {
  std::string name;
  bool unique;  // STB_GNU_UNIQUE: one instance per process, RTLD_LOCAL or not
};

// Symbols that the object defines and others can bind to. Throws std::runtime_error for what is no
// 64-bit ELF file.
std::vector<Symbol> exported_symbols(const std::filesystem::path& path);

}  // namespace quench::test
