#include "core/store/fingerprints.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <thread>

#include "tests/support/temporary.hpp"

namespace fs = std::filesystem;
using quench::Fingerprints;
using quench::test::TemporaryDir;

namespace {

// The times of a change cannot be set by anybody, so a test that wants old files has to wait.
void grow_old() {
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));
}

}  // namespace

TEST_CASE("fingerprints: what was remembered holds until a file changes", "[store]") {
  const TemporaryDir folder;
  const Fingerprints known(folder / "home");
  const nlohmann::json what = {{"hash", "weights"}};
  std::vector<fs::path> changed;
  const std::vector<fs::path> same = {folder.write("same", "x"), folder.write("model/a", "1")};
  for (const char* name : {"written", "touched", "replaced", "removed"}) {
    changed.push_back(folder.write(name, "content"));
  }
  folder.write("tree/deep/b", "2");
  folder.write("other/c", "3");
  known.remember(what, same, "too young");
  CHECK_FALSE(known.find(what, same));  // a change within the same tick would stay unseen
  grow_old();
  known.remember(what, same, "one");
  known.remember(what, {folder / "tree"}, "two");
  known.remember(what, {folder / "other"}, "three");
  for (const fs::path& file : changed) {
    known.remember(what, {file}, "four");
    REQUIRE(known.find(what, {file}) == "four");
  }
  const Fingerprints later(folder / "home");
  CHECK(later.find(what, same) == "one");
  CHECK(later.find(what, {folder / "tree"}) == "two");
  CHECK_FALSE(later.find({{"hash", "corpus"}}, same));
  CHECK_FALSE(later.find(what, {same[1], same[0]}));
  CHECK_FALSE(later.find(what, {folder / "absent"}));
  folder.write("written", "CONTENT");
  CHECK_FALSE(later.find(what, {changed[0]}));
  fs::last_write_time(changed[1], fs::last_write_time(changed[1]) - std::chrono::hours(1));
  CHECK_FALSE(later.find(what, {changed[1]}));
  fs::rename(folder.write("new", "content"), changed[2]);
  CHECK_FALSE(later.find(what, {changed[2]}));
  fs::remove(changed[3]);
  CHECK_FALSE(later.find(what, {changed[3]}));
  folder.write("tree/deep/added", "");
  CHECK_FALSE(later.find(what, {folder / "tree"}));
  CHECK(later.find(what, {folder / "other"}) == "three");
}

TEST_CASE("fingerprints: a file that changed while it was measured is not remembered", "[store]") {
  const TemporaryDir folder;
  const Fingerprints known(folder / "home");
  const fs::path file = folder / "link";
  fs::create_symlink("/bin/sh", file);  // old enough; a link stands for what it leads to
  const auto stamp = known.look("what", {file});
  fs::remove(file);
  fs::create_symlink("/bin/cat", file);
  known.remember(stamp, "measured");
  CHECK_FALSE(fs::exists(folder / "home"));
}

TEST_CASE("fingerprints: an entry that does not verify is measured again", "[store]") {
  const TemporaryDir folder;
  const Fingerprints known(folder / "home");
  const fs::path file = "/bin/sh";
  known.remember("what", {file}, "value");
  REQUIRE(known.find("what", {file}) == "value");
  for (const auto& entry : fs::recursive_directory_iterator(folder / "home")) {
    if (entry.is_regular_file()) {
      std::string content = quench::test::read_file(entry.path());
      content[content.find("value")] = 'V';
      std::ofstream(entry.path()) << content;
    }
  }
  CHECK_FALSE(known.find("what", {file}));
  known.remember("what", {file}, "again");
  CHECK(known.find("what", {file}) == "again");
}

TEST_CASE("fingerprints: without a home nothing is kept", "[store]") {
  const TemporaryDir folder;
  const Fingerprints known{fs::path()};
  const fs::path file = folder.write("file", "x");
  known.remember("what", {file}, "value");
  CHECK_FALSE(known.find("what", {file}));
}
