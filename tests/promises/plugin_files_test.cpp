// Plugins installed and removed by the program.
#include <catch2/catch.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/skip.hpp"
#include "tests/support/subprocess.hpp"
#include "tests/support/temporary.hpp"

using Catch::Matchers::Contains;

namespace quench::test {

namespace {

namespace fs = std::filesystem;

struct User {
  TemporaryDir home;

  Ended plugins(std::vector<std::string> words, const std::string& path = "") {
    std::vector<std::string> command = {QUENCH_PROGRAM, "plugins"};
    command.insert(command.end(), words.begin(), words.end());
    Environment environment = {{"QUENCH_HOME", (home.path() / "q").string()},
                               {"XDG_DATA_HOME", (home.path() / "data").string()}};
    if (!path.empty()) {
      environment["QUENCH_PLUGIN_PATH"] = path;
    }
    return run_program(command, environment, home.path());
  }
};

}  // namespace

TEST_CASE("plugins install: a file is found by name until it is removed", "[promises]") {
  User user;
  CHECK(user.plugins({"show", "broken"}).code != 0);
  const Ended installed =
      user.plugins({"install", std::string(BROKEN_FOLDER) + "/broken_quantizer.so"});
  INFO(installed.err);
  CHECK(installed.code == 0);
  CHECK(fs::exists(user.home.path() / "data/quench/plugins/broken_quantizer.so"));
  const Ended shown = user.plugins({"show", "broken"});
  CHECK(shown.code == 0);
  CHECK_THAT(shown.out, Contains("own: not part of this installation"));
  CHECK(user.plugins({"remove", "quantizer/broken"}).code == 0);
  CHECK(user.plugins({"show", "broken"}).code != 0);
  const Ended again = user.plugins({"remove", "broken"});
  CHECK(again.code == 2);
  CHECK_THAT(again.err, Contains("broken: not installed in "));
}

TEST_CASE("plugins install: a file of no use is not copied", "[promises]") {
  User user;
  user.home.write("nothing.so", "not a library");
  const Ended refused = user.plugins({"install", (user.home.path() / "nothing.so").string()});
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, Contains("is of no use"));
  CHECK_FALSE(fs::exists(user.home.path() / "data/quench/plugins/nothing.so"));
}

TEST_CASE("plugins new: a repository that is there is not overwritten", "[promises]") {
  User user;
  const Ended made = user.plugins({"new", "quantizer", "my_own"});
  INFO(made.err);
  CHECK(made.code == 0);
  CHECK(fs::exists(user.home.path() / "my_own/CMakeLists.txt"));
  const Ended again = user.plugins({"new", "quantizer", "my_own"});
  CHECK(again.code == 2);
  CHECK_THAT(again.err, Contains("already exists"));
}

TEST_CASE("plugins: one with the name of one that came with quench is told of first",
          "[promises]") {
  const fs::path shipped =
      fs::path(QUENCH_PROGRAM).parent_path().parent_path() / "lib/quench/corpora/text.so";
  skip_unless(fs::exists(shipped), "the corpus text is not built");
  User user;
  const fs::path mine = user.home.path() / "mine/other_name.so";
  fs::create_directories(mine.parent_path());
  fs::copy_file(shipped, mine);
  const Ended shown = user.plugins({"show", "text", "--plugin-path", mine.parent_path().string()});
  CHECK(shown.code == 0);
  CHECK_THAT(shown.err, Contains("corpus text is that of " + mine.string() +
                                 ", not the one that came with quench"));
  CHECK(user.plugins({"show", "text"}).err.empty());
}

TEST_CASE("plugins: a relative folder in QUENCH_PLUGIN_PATH is refused", "[promises]") {
  User user;
  const Ended refused = user.plugins({"list"}, "some/folder");
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, Contains("QUENCH_PLUGIN_PATH: got some/folder, wanted absolute folders"));
}

}  // namespace quench::test
