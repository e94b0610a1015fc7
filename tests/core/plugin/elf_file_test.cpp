#include "core/plugin/library/elf_file.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "core/error.hpp"
#include "tests/core/plugin/fault_plugins.hpp"

using quench::test::fault_library;

TEST_CASE("elf file: a library's names, needs and symbols are read", "[core][plugin]") {
  const quench::ElfFile elf = quench::read_elf(fault_library("needs_helper.so"));
  CHECK(elf.runpath == std::vector<std::string>{"$ORIGIN/deps"});
  CHECK(std::count(elf.needed.begin(), elf.needed.end(), "libfault_helper.so") == 1);
  CHECK(elf.build_id.size() == 40);
  CHECK(elf.bind_now);
  CHECK_FALSE(elf.text_relocations);
  CHECK(quench::read_elf(fault_library("deps_a/libfault_helper.so")).soname ==
        "libfault_helper.so");
  const auto symbols = quench::exported_symbols(fault_library("good.so"));
  REQUIRE(symbols.size() == 1);
  CHECK(symbols[0].name == "quench_module_v1");
  CHECK_FALSE(symbols[0].unique);
}

TEST_CASE("elf file: symbols that a library or program has or wants are found by name",
          "[core][plugin]") {
  CHECK(quench::names_symbol(fault_library("good.so"), "quench_module_v1"));
  CHECK(quench::names_symbol(fault_library("good.so"), "calloc"));
  CHECK_FALSE(quench::names_symbol(fault_library("good.so"), "no_such_symbol"));
  CHECK_FALSE(quench::names_symbol("/bin/true", "Py_BytesMain"));
}

TEST_CASE("elf file: a library cut short anywhere is an error, never a crash", "[core][plugin]") {
  const std::string whole = quench::test::read_file(fault_library("good.so"));
  quench::test::TemporaryDir folder;
  for (size_t kept = 0; kept < whole.size(); kept += 1 + kept / 16) {
    const auto path = folder.write("cut.so", whole.substr(0, kept));
    INFO(kept << " of " << whole.size() << " bytes");
    CHECK_THROWS_AS(quench::read_elf(path), quench::Error);
    CHECK_THROWS_AS(quench::exported_symbols(path), quench::Error);
  }
  const auto path = folder.write("cut.so", whole.substr(0, whole.size() / 2));
  CHECK_THROWS_WITH(quench::read_elf(path), Catch::Matchers::StartsWith("truncated: "));
}

TEST_CASE("elf file: a library with any byte of its headers flipped is read or refused",
          "[core][plugin]") {
  const std::string whole = quench::test::read_file(fault_library("good.so"));
  quench::test::TemporaryDir folder;
  size_t refused = 0;
  for (size_t at = 0; at < 1024; at += 1) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0xFF);
    const auto path = folder.write("flipped.so", changed);
    try {
      quench::read_elf(path);
      quench::exported_symbols(path);
    } catch (const quench::Error&) {
      ++refused;
    }
  }
  CHECK(refused > 30);
}

TEST_CASE("elf file: another machine's library is named as such", "[core][plugin]") {
  std::string other = quench::test::read_file(fault_library("good.so"));
  other[18] = 8;  // e_machine: MIPS
  quench::test::TemporaryDir folder;
  CHECK_THROWS_WITH(quench::read_elf(folder.write("other.so", other)),
                    Catch::Matchers::StartsWith("built for another machine (ELF machine 8, "));
}
