#include "core/base/io/new_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "core/base/io/atomic_file.hpp"
#include "core/base/io/process_identity.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

namespace fs = std::filesystem;

namespace quench::test {

namespace {

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

using Names = std::vector<std::string>;

void write(NewFolder& folder, const std::string& name, const std::string& content) {
  write_file_atomically(folder.temporary() / name, content, &folder.files());
}

// The temporary folder that a process would have; touched `days` ago.
fs::path leave(const TemporaryDir& root, const ProcessIdentity& writer, int days) {
  const fs::path folder =
      root / fmt::format(".out.{}-{}-{}-00000001.partial", writer.place, writer.pid, writer.start);
  fs::create_directory(folder);
  root.write(folder.filename() / "model.safetensors", "half");
  fs::last_write_time(folder, fs::file_time_type::clock::now() - std::chrono::hours(24 * days) -
                                  std::chrono::hours(1));
  return folder;
}

}  // namespace

TEST_CASE("new_folder: appears when it is committed, with what was written", "[core][io]") {
  const TemporaryDir root;
  {
    NewFolder folder(root / "out");
    write(folder, "a", "one");
    CHECK_FALSE(fs::exists(root / "out"));
    folder.commit();
  }
  CHECK(names_in(root.path()) == Names{"out"});
  CHECK(read_file(root / "out/a") == "one");
  { const NewFolder dropped(root / "other"); }
  CHECK(names_in(root.path()) == Names{"out"});
}

TEST_CASE("new_folder: names of 255 bytes have temporary folders too", "[core][io]") {
  const TemporaryDir root;
  const std::string name(255, 'n');
  NewFolder folder(root / name);
  write(folder, "a", "one");
  folder.commit();
  CHECK(names_in(root.path()) == Names{name});
}

TEST_CASE("new_folder: one that lost a file while it was written is not published", "[core][io]") {
  const TemporaryDir root;
  NewFolder folder(root / "out");
  write(folder, "a", "one");
  write(folder, "b", "two");
  SECTION("the file is gone") {
    fs::remove(folder.temporary() / "a");
    CHECK(message_of([&] { folder.commit(); }, root.path()) ==
          "out: a was written but no longer exists");
  }
  SECTION("the file is cut") {
    fs::resize_file(folder.temporary() / "b", 2);
    CHECK(message_of([&] { folder.commit(); }, root.path()) ==
          "out: b now has 2 bytes, 3 were written");
  }
  SECTION("the folder is gone") {
    fs::remove_all(folder.temporary());
    CHECK_THAT(message_of([&] { folder.commit(); }, root.path()),
               Catch::Contains("was removed or replaced during writing"));
  }
  CHECK_FALSE(fs::exists(root / "out"));
}

TEST_CASE("new_folder: what others write stays, what ended processes left goes", "[core][io]") {
  const TemporaryDir root;
  const ProcessIdentity self = this_process();
  REQUIRE(self.start != 0);
  const ProcessIdentity ended = {self.place, self.pid, self.start + 1};
  const ProcessIdentity elsewhere = {"00000000", self.pid, 1};
  SECTION("a process at work here, however long it was silent") {
    const fs::path other = leave(root, {self.place, 1, process_start(1)}, 9);
    const NewFolder folder(root / "out");
    CHECK(fs::exists(other / "model.safetensors"));
  }
  SECTION("a process of this machine that has ended") {
    const fs::path left = leave(root, ended, 0);
    const NewFolder folder(root / "out");
    CHECK_FALSE(fs::exists(left));
  }
  SECTION("a process of another machine that gave a sign today") {
    const fs::path other = leave(root, elsewhere, 0);
    const NewFolder folder(root / "out");
    CHECK(fs::exists(other / "model.safetensors"));
  }
  SECTION("a process of another machine that was silent for a day") {
    const fs::path left = leave(root, elsewhere, 1);
    const NewFolder folder(root / "out");
    CHECK_FALSE(fs::exists(left));
  }
  SECTION("names of others") {
    for (const char* name : {".out.partial", ".out.1234-0.partial", "out.partial", ".x.tmp"}) {
      fs::create_directory(root / name);
      fs::last_write_time(root / name, fs::file_time_type::clock::now() - std::chrono::hours(1000));
    }
    const NewFolder folder(root / "out");
    CHECK(names_in(root.path()).size() == 5);
  }
}

TEST_CASE("new_folder: what is at its place by now stays, but where it is to be replaced",
          "[core][io]") {
  const TemporaryDir root;
  NewFolder folder(root / "out");
  write(folder, "a", "new");
  root.write("out/a", "old");
  SECTION("commit") {
    CHECK(message_of([&] { folder.commit(); }, root.path()) ==
          "out: already exists; nothing is overwritten");
    CHECK(read_file(root / "out/a") == "old");
  }
  SECTION("commit_if_absent") {
    CHECK_FALSE(folder.commit_if_absent());
    CHECK(read_file(root / "out/a") == "old");
  }
  SECTION("replace") {
    CHECK(folder.replace(*identity_of_folder(root / "out")));
    CHECK(read_file(root / "out/a") == "new");
    CHECK(names_in(root.path()) == Names{"out"});
  }
  SECTION("replace, and another has come meanwhile") {
    const FolderIdentity old = *identity_of_folder(root / "out");
    fs::rename(root / "out", root / "moved");
    root.write("out/a", "other");
    CHECK_FALSE(folder.replace(old));
    CHECK(read_file(root / "out/a") == "other");
  }
}

}  // namespace quench::test
