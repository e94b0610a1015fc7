#include "core/base/io/sha256.hpp"

#include <catch2/catch.hpp>

#include "core/base/io/file.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

using quench::File;
using quench::Sha256;

namespace {

// FIPS 180-4 examples.
constexpr const char* kEmpty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr const char* kAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

}  // namespace

TEST_CASE("Sha256: gives the standard's digests", "[core][io]") {
  CHECK(quench::sha256_hex("") == kEmpty);
  CHECK(quench::sha256_hex("abc") == kAbc);
  Sha256 pieces;
  pieces.update("a");
  pieces.update("");
  pieces.update("bc");
  CHECK(pieces.hex_digest() == kAbc);
}

TEST_CASE("sha256_of: a rewritten file has a new hash", "[core][io]") {
  const quench::test::TemporaryDir folder;
  folder.write("a", "abc");
  CHECK(quench::sha256_of(File(folder / "a")) == kAbc);
  CHECK(quench::sha256_of(File(folder / "a")) == kAbc);
  folder.write("a", "");
  CHECK(quench::sha256_of(File(folder / "a")) == kEmpty);
  std::string large(3 << 20, 'x');
  CHECK(quench::sha256_of(File(folder.write("b", large))) == quench::sha256_hex(large));
}

TEST_CASE("sha256_of: a file that changed since it was opened is refused", "[core][io]") {
  const quench::test::TemporaryDir folder;
  const File file(folder.write("a", "abc"));
  CHECK(quench::sha256_of(file) == kAbc);
  folder.write("a", "abcd");
  CHECK(quench::test::code_of([&] { quench::sha256_of(file); }) == QUENCH_DATA_LOSS);
}

TEST_CASE("git_blob_id: gives git's id", "[core][io]") {
  const quench::test::TemporaryDir folder;
  // printf 'hello\n' | git hash-object --stdin
  CHECK(quench::git_blob_id(File(folder.write("a", "hello\n"))) ==
        "ce013625030ba8dba906f756967f9e9ca394464a");
}
