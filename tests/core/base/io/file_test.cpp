#include "core/base/io/file.hpp"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

namespace fs = std::filesystem;
using quench::File;
using quench::test::code_of;
using quench::test::message_of;
using quench::test::TemporaryDir;

TEST_CASE("File: reads any range", "[core][io]") {
  const TemporaryDir folder;
  const File file(folder.write("a", "0123456789"));
  char out[4];
  file.read(6, out, 4);
  CHECK(std::string(out, 4) == "6789");
  file.read(10, out, 0);
  CHECK(quench::read_file(folder / "a", 10) == "0123456789");
  CHECK(message_of([&] { file.read(7, out, 4); }, folder.path()) ==
        "a: wanted 4 bytes at offset 7, the file has 10");
  CHECK(message_of([&] { file.read(UINT64_MAX, out, 4); }, folder.path()) ==
        "a: wanted 4 bytes at offset 18446744073709551615, the file has 10");
  CHECK(message_of([&] { quench::read_file(folder / "a", 9); }, folder.path()) ==
        "a: 10 bytes, wanted at most 9");
}

TEST_CASE("File: what cannot be opened is told with its reason", "[core][io]") {
  const TemporaryDir folder;
  CHECK(message_of([&] { File(folder / "no"); }, folder.path()) ==
        "no: cannot be opened: No such file or directory");
  CHECK(code_of([&] { File(folder / "no"); }) == QUENCH_NOT_FOUND);
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(message_of([&] { File(folder / "pipe"); }, folder.path()) ==
        "pipe: is a pipe, wanted a file");
  fs::create_directory(folder / "d");
  CHECK(message_of([&] { File(folder / "d"); }, folder.path()) == "d: is a folder, wanted a file");
}

TEST_CASE("File: a change while open is data loss, never a crash", "[core][io]") {
  const TemporaryDir folder;
  const File file(folder.write("a", std::string(100000, 'x')));
  std::string out(100000, '\0');
  SECTION("truncated to nothing") {
    fs::resize_file(folder / "a", 0);
    CHECK(message_of([&] { file.read(5, out.data(), 10); }, folder.path()) ==
          "a: file truncated while in use: ends at offset 5, had 100000 bytes");
  }
  SECTION("truncated behind the range that is read") {
    fs::resize_file(folder / "a", 50000);
    CHECK(
        message_of([&] { file.read(5, out.data(), 10); }, folder.path()) ==
        "a: file changed while in use: 50000 bytes now, 100000 when opened (reading at offset 5)");
  }
  SECTION("same size, other time") {
    fs::last_write_time(folder / "a", fs::file_time_type::clock::now() + std::chrono::hours(1));
    CHECK(
        message_of([&] { file.read(0, out.data(), 1); }, folder.path()) ==
        "a: file changed while in use: written or replaced since it was opened (reading at offset "
        "0)");
  }
  CHECK(code_of([&] { file.read(0, out.data(), 1); }) == QUENCH_DATA_LOSS);
}

TEST_CASE("File: names and modes that come and go while open change nothing", "[core][io]") {
  const TemporaryDir folder;
  const File file(folder.write("a", "content"));
  fs::create_hard_link(folder / "a", folder / "b");
  fs::remove(folder / "a");
  fs::permissions(folder / "b", fs::perms::owner_read);
  std::string out(7, '\0');
  file.read(0, out.data(), out.size());
  CHECK(out == "content");
}
