#include "run/grid/watched_files.hpp"

#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

namespace fs = std::filesystem;
using quench::test::message_of;
using quench::test::TemporaryDir;

namespace {

constexpr uid_t kNobody = 65534;

// Gives up what root may, as long as this object lives.
class Unprivileged {
 public:
  Unprivileged() {
    if (::getuid() == 0) {
      REQUIRE(::seteuid(kNobody) == 0);
    }
  }
  ~Unprivileged() {
    if (::getuid() == 0) {
      (void)!::seteuid(0);
    }
  }
  Unprivileged(const Unprivileged&) = delete;
  Unprivileged& operator=(const Unprivileged&) = delete;
};

}  // namespace

TEST_CASE("watched files: a folder that cannot be listed is an error with its name", "[run]") {
  const TemporaryDir here;
  fs::permissions(here.path(), fs::perms(0755));
  const fs::path folder = here / "step1";
  fs::create_directory(folder);
  fs::permissions(folder, fs::perms::none);
  {
    const Unprivileged nobody;
    const std::string wanted = folder.string() + ": cannot be listed: Permission denied";
    CHECK(message_of([&] { quench::times_of({folder}); }) == wanted);
    CHECK(message_of([&] { quench::bytes_of({folder}); }) == wanted);
  }
  fs::permissions(folder, fs::perms::owner_all);
}

TEST_CASE("watched files: a path that no file can have is left to who opens it", "[run]") {
  quench::CheckpointCell cell;
  const fs::path path = "/" + std::string(300, 'x');
  const std::vector<fs::path> files = quench::watched_files(cell, path);
  CHECK(files == std::vector<fs::path>{path});
  CHECK(quench::times_of(files).empty());
  CHECK(quench::bytes_of(files) == 0);
}
