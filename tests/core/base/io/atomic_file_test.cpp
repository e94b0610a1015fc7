#include "core/base/io/atomic_file.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>

#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

namespace fs = std::filesystem;
using quench::AtomicFile;
using quench::test::message_of;
using quench::test::read_file;
using quench::test::TemporaryDir;

namespace {

size_t files_in(const fs::path& folder) {
  return static_cast<size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("AtomicFile: nothing is visible before commit", "[core][io]") {
  const TemporaryDir folder;
  folder.write("a", "old");
  {
    AtomicFile file(folder / "a");
    file.write("new ");
    file.write("content");
    CHECK(read_file(folder / "a") == "old");
    file.commit();
    CHECK(read_file(folder / "a") == "new content");
    CHECK(file.written() == 11);
  }
  { AtomicFile(folder / "a").write("abandoned"); }
  CHECK(read_file(folder / "a") == "new content");
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("AtomicFile: a symbolic link is replaced, not followed", "[core][io]") {
  const TemporaryDir folder;
  folder.write("target", "keep");
  fs::create_symlink("target", folder / "link");
  quench::write_file_atomically(folder / "link", "x");
  CHECK(read_file(folder / "target") == "keep");
  CHECK(fs::symlink_status(folder / "link").type() == fs::file_type::regular);
}

TEST_CASE("AtomicFile: a pipe or a folder is not replaced", "[core][io]") {
  const TemporaryDir folder;
  REQUIRE(mkfifo((folder / "pipe").c_str(), 0600) == 0);
  fs::create_directory(folder / "sub");
  CHECK(message_of([&] { AtomicFile(folder / "pipe"); }, folder.path()) ==
        "pipe: is a pipe; only a regular file can be replaced");
  CHECK(message_of([&] { AtomicFile(folder / "sub"); }, folder.path()) ==
        "sub: is a folder; only a regular file can be replaced");
}

TEST_CASE("AtomicFile: a folder that is not there is named", "[core][io]") {
  const TemporaryDir folder;
  CHECK(message_of([&] { AtomicFile(folder / "no/a"); }, folder.path()) ==
        "no/a: creating a temporary file in its folder failed: No such file or directory");
}

TEST_CASE("AtomicFile: a failed write leaves no file", "[core][io]") {
  const TemporaryDir folder;
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &old) == 0);
  const rlimit small{4096, old.rlim_max};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  const std::string message = message_of(
      [&] { quench::write_file_atomically(folder / "a", std::string(10000, 'x')); }, folder.path());
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, old_handler);
  CHECK(message == "a: writing at offset 4096 failed: File too large");
  CHECK(files_in(folder.path()) == 0);
}

TEST_CASE("write_all: a full disk tells how much was needed", "[core][io]") {
  const int full = open("/dev/full", O_WRONLY);
  REQUIRE(full >= 0);
  CHECK(message_of([&] { quench::write_all(full, "abc", 3, "out/x", 100, 5000); }) ==
        "out/x: no space left on the device: needs 5000 bytes, 100 were written");
  CHECK(quench::test::code_of([&] { quench::write_all(full, "abc", 3, "x"); }) ==
        QUENCH_RESOURCE_EXHAUSTED);
  close(full);
}
