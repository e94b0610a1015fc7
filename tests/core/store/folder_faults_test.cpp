#include "core/store/sealed_folder.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "core/base/io/atomic_file.hpp"
#include "core/error.hpp"
#include "core/store/sealed_line.hpp"
#include "tests/support/temporary.hpp"

namespace fs = std::filesystem;
using quench::Depth;
using quench::fault_of_sealed_folder;
using quench::test::TemporaryDir;

namespace {

class Sealed {
 public:
  Sealed() {
    quench::SealedFolder folder(path(), false);
    quench::write_file_atomically(folder.temporary() / "a", "first", &folder.files());
    quench::write_file_atomically(folder.temporary() / "b", "second", &folder.files());
    folder.publish({{"test", 1}});
    dir_.write("f/later", "not covered");
  }
  fs::path path() const { return dir_ / "f"; }
  std::string fault(Depth depth) const { return fault_of_sealed_folder(path(), depth); }
  void write(const std::string& name, const std::string& text) const {
    dir_.write("f/" + name, text);
  }

 private:
  TemporaryDir dir_;
};

}  // namespace

TEST_CASE("sealed folder: is whole as it was sealed, whatever is added", "[store]") {
  const Sealed folder;
  CHECK(folder.fault(Depth::kSizes) == "");
  CHECK(folder.fault(Depth::kContents) == "");
}

TEST_CASE("sealed folder: a file that is missing or cut is told by its path", "[store]") {
  const Sealed cut;
  cut.write("b", "sec");
  CHECK(cut.fault(Depth::kSizes) == (cut.path() / "b").string() + ": has 3 bytes, wanted 6");
  const Sealed gone;
  fs::remove(gone.path() / "a");
  CHECK(gone.fault(Depth::kSizes) ==
        (gone.path() / "a").string() + ": cannot be opened: No such file or directory");
  const Sealed unlisted;
  fs::remove(unlisted.path() / "quench.json");
  CHECK(unlisted.fault(Depth::kSizes).find("quench.json: cannot be opened") != std::string::npos);
}

TEST_CASE("sealed folder: other content of the same size is seen where contents are read",
          "[store]") {
  const Sealed folder;
  folder.write("a", "fIrst");
  CHECK(folder.fault(Depth::kSizes) == "");
  const std::string fault = folder.fault(Depth::kContents);
  CHECK(fault.starts_with((folder.path() / "a").string() + ": its SHA-256 is "));
  CHECK(fault_of_sealed_folder(folder.path(), Depth::kSizes, nullptr, {"a"}) == fault);
}

TEST_CASE("sealed folder: a seal that changed does not verify", "[store]") {
  const Sealed folder;
  for (const char* text : {"", "{", R"({"folder":{"files":{}},"sha256":"00"})"}) {
    INFO(text);
    folder.write("quench.json", text);
    CHECK(folder.fault(Depth::kSizes).find("quench.json: ") != std::string::npos);
  }
  folder.write("quench.json", quench::seal("folder", "[1]") + "\n");
  CHECK(folder.fault(Depth::kSizes).find("quench.json: ") != std::string::npos);
}

TEST_CASE("sealed folder: a damaged one is removed, one that was replaced meanwhile stays",
          "[store]") {
  const Sealed folder;
  CHECK(quench::remove_damaged(folder.path(), [] { return std::string(); }) == "");
  CHECK(fs::exists(folder.path()));
  CHECK(quench::remove_damaged(folder.path(), [&] {
          fs::rename(folder.path(), folder.path().string() + ".old");
          fs::create_directory(folder.path());
          return std::string("fault");
        }) == "fault");
  CHECK(fs::exists(folder.path()));
  CHECK(quench::remove_damaged(folder.path(), [] { return std::string("fault"); }) == "fault");
  CHECK_FALSE(fs::exists(folder.path()));
}

TEST_CASE("sealed folder: a check ends on request", "[store]") {
  const Sealed folder;
  const std::atomic<bool> cancel = true;
  CHECK_THROWS_AS(fault_of_sealed_folder(folder.path(), Depth::kContents, &cancel), quench::Error);
}
