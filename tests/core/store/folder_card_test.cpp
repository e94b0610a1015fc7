#include "core/store/folder_card.hpp"

#include <catch2/catch.hpp>
#include <fstream>

#include "core/base/io/atomic_file.hpp"
#include "core/base/io/sha256.hpp"
#include "core/store/sealed_folder.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

namespace fs = std::filesystem;
using nlohmann::json;

namespace quench::test {

namespace {

const json kThree = {{"bits", 3}};
const json kFour = {{"bits", 4}};

void publish(const fs::path& path, const json& made_from) {
  SealedFolder folder(path, /*replaces=*/true);
  write_file_atomically(folder.temporary() / "model.safetensors", "weights", &folder.files());
  folder.publish(made_from);
}

void write(const fs::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

}  // namespace

TEST_CASE("folder_card: is written into a sealed folder, which stays what its seal says",
          "[core][store]") {
  const TemporaryDir root;
  const fs::path path = root / "out";
  publish(path, kThree);
  const std::string seal = read_file(path / kFolderSeal);
  CHECK(write_folder_card(path, "# one\n"));
  CHECK(is_own_card(path / kFolderCard));
  CHECK(read_file(path / kFolderCard) ==
        "# one\n<!-- quench wrote this: " + sha256_hex("# one\n") + " -->\n");
  CHECK(write_folder_card(path, "# two\n"));  // more was measured
  CHECK(read_file(path / kFolderCard).starts_with("# two\n"));
  CHECK(read_file(path / kFolderSeal) == seal);
  CHECK(survey_folder(path, kThree).state == FolderState::kCurrent);
  CHECK(damage_of(path).empty());
  CHECK(fault_of_sealed_folder(path, Depth::kContents).empty());
  publish(path, kFour);  // a folder with a card of quench's makes way for another
  CHECK(survey_folder(path, kFour).state == FolderState::kCurrent);
  CHECK_FALSE(fs::exists(path / kFolderCard));
}

TEST_CASE("folder_card: one that somebody wrote or changed stays, and so does its folder",
          "[core][store]") {
  const TemporaryDir root;
  const fs::path path = root / "out";
  publish(path, kThree);
  const std::string what =
      GENERATE("mine", "nothing", "changed", "more behind", "cut", "a link", "a folder");
  CAPTURE(what);
  const fs::path card = path / kFolderCard;
  if (what == "mine" || what == "nothing") {
    write(card, what == "mine" ? "# mine\n" : "");
  } else if (what == "a folder") {
    fs::create_directory(card);
  } else {
    REQUIRE(write_folder_card(path, "# quench's\n"));
    const std::string text = read_file(card);
    if (what == "a link") {
      fs::rename(card, root / "elsewhere.md");
      fs::create_symlink(root / "elsewhere.md", card);
    } else {
      write(card, what == "changed" ? "# my" + text.substr(4)
                  : what == "cut"   ? text.substr(1)
                                    : text + "mine\n");
    }
  }
  CHECK_FALSE(is_own_card(card));
  const auto seen = [&] {
    return fs::is_directory(card) ? std::string("a folder") : read_file(card);
  };
  const std::string before = seen();
  CHECK_FALSE(write_folder_card(path, "# again\n"));
  CHECK(seen() == before);
  CHECK(fs::is_symlink(card) == (what == "a link"));
  CHECK(survey_folder(path, kThree).state == FolderState::kCurrent);
  const FolderSurvey other = survey_folder(path, kFour);
  CHECK(other.state == FolderState::kForeign);
  CHECK_THAT(other.reason, Catch::Contains("it holds README.md, which quench did not put there"));
}

TEST_CASE("folder_card: one that is too large to be known again is not written", "[core][store]") {
  const TemporaryDir root;
  publish(root / "out", kThree);
  CHECK(message_of([&] { write_folder_card(root / "out", std::string(size_t{16} << 20, 'x')); },
                   root.path()) == "out/README.md: would have 16777309 bytes, more than 16777216");
  CHECK_FALSE(fs::exists(root / "out/README.md"));
}

TEST_CASE("folder_card: what a kill leaves of it lies beside the folder", "[core][store]") {
  const TemporaryDir root;
  const fs::path path = root / "out";
  publish(path, kThree);
  {
    const AtomicFile begun(path / kFolderCard, 0, nullptr, path);  // as it is when it is killed
    CHECK(survey_folder(path, kFour).state == FolderState::kStale);
    CHECK(std::distance(fs::directory_iterator(path), fs::directory_iterator()) == 2);
    CHECK(std::distance(fs::directory_iterator(root.path()), fs::directory_iterator()) == 2);
  }
  CHECK(std::distance(fs::directory_iterator(root.path()), fs::directory_iterator()) == 1);
}

}  // namespace quench::test
