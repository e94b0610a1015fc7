#include "core/store/home.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/support/skip.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

namespace fs = std::filesystem;

namespace quench::test {

TEST_CASE("home: the variables say where it is, and empty ones say nothing", "[core][store]") {
  CHECK(find_home({"/q/", "/x", "/h"}) == "/q");
  CHECK(find_home({"", "/x", "/h"}) == "/x/quench");
  CHECK(find_home({{}, "", "/h"}) == "/h/.cache/quench");
  CHECK(find_home({{}, "relative", "/h"}) == "/h/.cache/quench");
  CHECK(message_of([] {
          find_home({"q", "/x", "/h"});
        }) == "QUENCH_HOME: got 'q', wanted an absolute folder");
  CHECK(message_of([] {
          find_home({".", "/x", "/h"});
        }) == "QUENCH_HOME: got '.', wanted an absolute folder");
}

TEST_CASE("home: without variables it is the user's, and never a folder that all share",
          "[core][store]") {
  for (const HomeEnvironment& environment : {HomeEnvironment{}, HomeEnvironment{"", "", ""}}) {
    std::string home;
    const std::string refused = message_of([&] { home = find_home(environment); });
    CHECK((refused.empty() || refused.ends_with("set QUENCH_HOME")));
    CHECK_FALSE(home.starts_with("/tmp"));
  }
}

TEST_CASE("home: is made for this user alone, and marked", "[core][store]") {
  const TemporaryDir root;
  open_home(root / "a/b");
  struct stat status = {};
  REQUIRE(::stat((root / "a/b").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0700);
  CHECK(is_marked_home(root / "a/b"));
}

TEST_CASE("home: one with nothing but what quench keeps is marked, another is not",
          "[core][store]") {
  const TemporaryDir root;
  root.write("old/plugins.json", "{}");
  root.write("old/records/aa/x", "");
  open_home(root / "old");
  CHECK(is_marked_home(root / "old"));
  root.write("project/records/mine.txt", "x");
  root.write("project/paper.tex", "x");
  open_home(root / "project");
  CHECK_FALSE(is_marked_home(root / "project"));
}

TEST_CASE("home: one that others can write to is refused", "[core][store]") {
  const TemporaryDir root;
  const fs::path home = root / "home";
  open_home(home);
  SECTION("everyone") {
    REQUIRE(::chmod(home.c_str(), 0777) == 0);
    CHECK_THAT(message_of([&] { open_home(home); }),
               Catch::Contains("the folder is writable by everyone (chmod o-w "));
  }
  SECTION("everyone, the folder above") {
    REQUIRE(::chmod(root.path().c_str(), 0777) == 0);
    CHECK_THAT(message_of([&] { open_home(home); }),
               Catch::Contains(" is writable by everyone (chmod o-w "));
  }
  SECTION("another group, or another user's own folder") {
    quench::test::skip_unless(::geteuid() == 0, "only root can give a folder away");
    REQUIRE(::chown(home.c_str(), 0, 54321) == 0);
    open_home(home);
    REQUIRE(::chmod(home.c_str(), 0770) == 0);
    CHECK_THAT(message_of([&] { open_home(home); }),
               Catch::Contains("the folder is writable by a group (chmod g-w "));
    REQUIRE(::chmod(home.c_str(), 0700) == 0);
    REQUIRE(::chown(home.c_str(), 54321, 54321) == 0);
    CHECK_THAT(message_of([&] { open_home(home); }),
               Catch::Contains("the folder belongs to user 54321, and its content"));
  }
}

}  // namespace quench::test
