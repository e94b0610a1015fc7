#include "core/store/death_note.hpp"

#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "tests/support/temporary.hpp"

using quench::DeathNote;
using quench::test::TemporaryDir;

TEST_CASE("death note: a torn one counts as far as it goes", "[core][store]") {
  const TemporaryDir folder;
  const std::string key(64, 'a');
  const std::string other(64, 'b');
  CHECK(quench::read_death_notes(folder / "nowhere").empty());
  folder.write("died-0-0001-5eed1234.txt", "it fell\n" + key + "\n" + other + "\nend\n");
  folder.write("died-0-0002-5eed1235.txt", "again\n" + key + "\n" + other.substr(0, 40));
  folder.write("died-0-0003-5eed1236.txt", "");
  const std::vector<DeathNote> notes = quench::read_death_notes(folder.path());
  REQUIRE(notes.size() == 2);
  CHECK(notes[0].attempt == "0001-5eed1234");
  CHECK(notes[0].cause == "it fell");
  CHECK(notes[0].keys == std::vector<std::string>{key, other});
  CHECK(notes[1].keys == std::vector<std::string>{key});
  quench::remove_death_notes(notes);
  CHECK(quench::read_death_notes(folder.path()).empty());
}

TEST_CASE("death note: what is no file, or larger than one, is passed over at once",
          "[core][store]") {
  const TemporaryDir folder;
  REQUIRE(mkfifo((folder / "died-0-0001-5eed1234.txt").c_str(), 0600) == 0);
  std::filesystem::create_symlink("/dev/zero", folder / "died-0-0002-5eed1235.txt");
  std::filesystem::create_directory(folder / "died-0-0003-5eed1236.txt");
  folder.write("died-0-0004-5eed1237.txt", "it fell\n");
  std::filesystem::resize_file(folder / "died-0-0004-5eed1237.txt", uint64_t{1} << 40);
  CHECK(quench::read_death_notes(folder.path()).empty());
}
