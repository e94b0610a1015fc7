// Reads the description of an ELF shared library from the file without loading it. Made for foreign
// bytes: checks every offset and bounds every count.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace quench {

struct ElfSymbol {
  std::string name;
  bool unique = false;  // STB_GNU_UNIQUE: libraries share it in spite of RTLD_LOCAL
};

struct ElfFile {
  std::string soname;                // DT_SONAME or ""
  std::vector<std::string> needed;   // DT_NEEDED, in order
  std::vector<std::string> runpath;  // entries of DT_RUNPATH; $ORIGIN not yet replaced
  std::vector<std::string> rpath;    // entries of DT_RPATH
  std::string build_id;              // hex or ""
  std::string torch;                 // libtorch that a plugin was built against: "2.11", or ""
  bool text_relocations = false;
  bool bind_now = false;
};

// Throws Error(INVALID_ARGUMENT) for a file that is not a shared library for this machine and
// Error(DATA_LOSS) for one that is cut short or contradicts itself. Messages name no path.
ElfFile read_elf(const std::filesystem::path& path);

// The defined symbols that other libraries can link to. Throws like read_elf.
std::vector<ElfSymbol> exported_symbols(const std::filesystem::path& path);

// Whether a library or program defines this symbol or wants it of a library. Throws like read_elf.
bool names_symbol(const std::filesystem::path& path, std::string_view name);

}  // namespace quench
