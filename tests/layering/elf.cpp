#include "tests/layering/elf.hpp"

#include <elf.h>

#include <cstring>
#include <stdexcept>

#include "tests/support/temporary.hpp"

namespace quench::test {

namespace {

template <typename T>
T at(const std::string& file, uint64_t offset) {
  T value;
  if (offset > file.size() || file.size() - offset < sizeof value) {
    throw std::runtime_error("ELF file is cut short");
  }
  std::memcpy(&value, file.data() + offset, sizeof value);
  return value;
}

}  // namespace

std::vector<Symbol> exported_symbols(const std::filesystem::path& path) {
  const std::string file = read_file(path);
  const auto header = at<Elf64_Ehdr>(file, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64) {
    throw std::runtime_error(path.string() + ": not a 64-bit ELF file");
  }
  const auto section = [&](uint64_t index) {
    return at<Elf64_Shdr>(file, header.e_shoff + index * header.e_shentsize);
  };
  std::vector<Symbol> symbols;
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr table = section(i);
    if (table.sh_type != SHT_DYNSYM) {
      continue;
    }
    const Elf64_Shdr names = section(table.sh_link);
    for (uint64_t offset = 0; offset < table.sh_size; offset += sizeof(Elf64_Sym)) {
      const auto symbol = at<Elf64_Sym>(file, table.sh_offset + offset);
      const auto binding = ELF64_ST_BIND(symbol.st_info);
      if (symbol.st_shndx != SHN_UNDEF && binding != STB_LOCAL) {
        symbols.push_back(
            {file.c_str() + names.sh_offset + symbol.st_name, binding == STB_GNU_UNIQUE});
      }
    }
  }
  return symbols;
}

}  // namespace quench::test
