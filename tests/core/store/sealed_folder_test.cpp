#include "core/store/sealed_folder.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <thread>

#include "core/base/io/atomic_file.hpp"
#include "core/base/io/sha256.hpp"
#include "core/base/json/canonical_json.hpp"
#include "core/store/sealed_line.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

namespace fs = std::filesystem;
using nlohmann::json;

namespace quench::test {

namespace {

const json kThree = {{"quantizer", {{"bits", 3}}}};
const json kFour = {{"quantizer", {{"bits", 4}}}};

void fill(SealedFolder& folder, const std::string& weights) {
  write_file_atomically(folder.temporary() / "model.safetensors", weights, &folder.files());
  write_file_atomically(folder.temporary() / "config.json", "{}", &folder.files());
}

void publish(const fs::path& path, const json& made_from, const std::string& weights) {
  SealedFolder folder(path, /*replaces=*/true);
  fill(folder, weights);
  folder.publish(made_from);
}

size_t entries_in(const fs::path& folder) {
  return static_cast<size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

// The same bytes count, written after the seal.
void overwrite(const fs::path& file, const std::string& content) {
  const auto time = fs::last_write_time(file.parent_path() / kFolderSeal);
  write_file_atomically(file, content);
  fs::last_write_time(file, time + std::chrono::seconds(1));
}

}  // namespace

TEST_CASE("sealed_folder: is current for what it was made from, as long as it is whole",
          "[core][store]") {
  const TemporaryDir root;
  const fs::path path = root / "out";
  CHECK(survey_folder(path, kThree).state == FolderState::kAbsent);
  publish(path, kThree, "three");
  CHECK(survey_folder(path, kThree).state == FolderState::kCurrent);
  CHECK(damage_of(path).empty());
  CHECK(survey_folder(path, kFour).reason == "quantizer.bits changed");
  CHECK(survey_folder(path, kFour).state == FolderState::kStale);
  const std::string reason =
      GENERATE("config.json is missing", "model.safetensors has 2 bytes, 5 were written",
               "model.safetensors was changed", "config.json is not a file");
  if (reason == "config.json is missing") {
    fs::remove(path / "config.json");
  } else if (reason == "model.safetensors was changed") {  // with its length kept
    overwrite(path / "model.safetensors", "eerht");
  } else if (reason == "config.json is not a file") {
    fs::remove(path / "config.json");
    fs::create_symlink(root.write("other", "{}"), path / "config.json");
  } else {
    fs::resize_file(path / "model.safetensors", 2);
  }
  const FolderSurvey there = survey_folder(path, kThree);
  CHECK(there.reason == reason);
  CHECK(there.state == FolderState::kStale);
  CHECK(damage_of(path) == reason);
}

TEST_CASE("sealed_folder: what quench did not write is foreign", "[core][store]") {
  const TemporaryDir root;
  const fs::path path = root / "out";
  const std::string what = GENERATE("a folder of the user", "an empty folder", "a file", "a link");
  INFO(what);
  if (what == "a folder of the user") {
    root.write("out/model.safetensors", "mine");
  } else if (what == "an empty folder") {
    fs::create_directory(path);
  } else if (what == "a file") {
    root.write("out", "mine");
  } else {
    publish(root / "elsewhere", kThree, "three");
    fs::create_symlink(root / "elsewhere", path);
  }
  CHECK(survey_folder(path, kThree).state == FolderState::kForeign);
  CHECK_FALSE(foreign_content(path).empty());
  const std::optional<FolderIdentity> before = identity_of_folder(path);
  CHECK_THAT(message_of([&] { publish(path, kThree, "three"); }, root.path()),
             Catch::StartsWith("out: already exists; nothing is overwritten"));
  CHECK(identity_of_folder(path) == before);
}

TEST_CASE("sealed_folder: one whose seal has a flipped bit is put aside with all that it holds",
          "[core][store]") {
  const TemporaryDir root;
  const fs::path path = root / "out";
  publish(path, kThree, "three");
  std::string seal = read_file(path / kFolderSeal);
  const size_t at = GENERATE(0, 3, 20, 120, 300);
  CAPTURE(at);
  seal[at] ^= 1;
  write_file_atomically(path / kFolderSeal, seal);
  root.write("out/notes.txt", "mine");
  const FolderSurvey there = survey_folder(path, kThree);
  CHECK(there.state == FolderState::kDamaged);
  CHECK(foreign_content(path).empty());
  CHECK_THAT(message_of([&] { publish(path, kThree, "three"); }, root.path()),
             Catch::StartsWith("out: already exists; nothing is overwritten"));
  REQUIRE(there.identity);
  CHECK(put_aside(path, *there.identity) == root / "out~damaged");
  CHECK(read_file(root / "out~damaged/notes.txt") == "mine");
  publish(path, kThree, "three");
  CHECK(put_aside(path, *there.identity).empty());  // another one by now
  CHECK(survey_folder(path, kThree).state == FolderState::kCurrent);
  CHECK(put_aside(path, *identity_of_folder(path)) == root / "out~damaged-2");
}

TEST_CASE("sealed_folder: a seal that lists paths outside the folder is none", "[core][store]") {
  const TemporaryDir root;
  const fs::path path = root / "out";
  publish(path, kThree, "three");
  root.write("secret", "mine");
  const std::string name = GENERATE("../secret", "/etc/hostname", "..", "");
  json body = json::parse(read_file(path / kFolderSeal)).at("folder");
  body["files"] = {{name, {{"bytes", 4}, {"sha256", sha256_hex("mine")}}}};
  write_file_atomically(path / kFolderSeal, seal("folder", canonical_json(body)) + "\n");
  CHECK(message_of([&] { damage_of(path); }, root.path()) ==
        fmt::format("out/quench.json: lists {}, wanted names of files in the folder", name));
  CHECK(survey_folder(path, kThree).state == FolderState::kDamaged);
}

TEST_CASE("sealed_folder: a seal that is none is neither written nor believed", "[core][store]") {
  const TemporaryDir root;
  const fs::path path = root / "out";
  publish(path, kThree, "three");
  const json body = json::parse(read_file(path / kFolderSeal)).at("folder");
  const auto damage_with = [&](const char* place, const json& value) {
    json other = body;
    other[json::json_pointer(place)] = value;
    write_file_atomically(path / kFolderSeal, seal("folder", canonical_json(other)) + "\n");
    CHECK(survey_folder(path, kThree).state == FolderState::kDamaged);
    return message_of([&] { damage_of(path); }, root.path());
  };
  CHECK(damage_with("/made_from", kFour) ==
        "out/quench.json: its key is not that of what it says it was made from");
  CHECK(damage_with("/files/config.json/sha256", "ab") ==
        "out/quench.json: lists config.json with the SHA-256 'ab', wanted 64 digits");
  CHECK(damage_with("/files/config.json/bytes", "2") ==
        "out/quench.json: not the seal of a folder");
  SealedFolder folder(root / "other", /*replaces=*/true);
  fill(folder, "three");
  folder.files()["config.json"].sha256 = "ab";
  CHECK_THAT(message_of([&] { folder.publish(kThree); }, root.path()),
             Catch::Contains("lists config.json with the SHA-256 'ab'"));
  CHECK_FALSE(fs::exists(root / "other"));
}

TEST_CASE("sealed_folder: of files that are read, those that the seal lists are held to it",
          "[core][store]") {
  const TemporaryDir root;
  const fs::path path = root / "out";
  publish(path, kThree, "three");
  const std::vector<fs::path> weights = {path / "model.safetensors"};
  CHECK(fault_of_sealed_files(path, weights) == "");
  write_file_atomically(path / "config.json", "{ }");  // is not asked about
  CHECK(fault_of_sealed_files(path, weights) == "");
  const auto time = fs::last_write_time(weights[0]);
  write_file_atomically(weights[0], "thRee");
  fs::last_write_time(weights[0], time);
  CHECK_THAT(fault_of_sealed_files(path, weights),
             Catch::Contains("model.safetensors: its SHA-256 is "));
  write_file_atomically(path / kFolderSeal, "mine");
  CHECK(fault_of_sealed_files(path, weights) == "");  // nothing says what they were
  fs::remove(path / kFolderSeal);
  CHECK(fault_of_sealed_files(path, weights) == "");
}

TEST_CASE("sealed_folder: an old folder to which the user added a file is not replaced",
          "[core][store]") {
  const TemporaryDir root;
  const fs::path path = root / "out";
  publish(path, kFour, "four");
  root.write("out/notes.txt", "mine");
  CHECK(survey_folder(path, kFour).state == FolderState::kCurrent);
  const FolderSurvey there = survey_folder(path, kThree);
  CHECK(there.state == FolderState::kForeign);
  CHECK(there.reason ==
        "quantizer.bits changed, and it holds notes.txt, which quench did not put there");
  CHECK_THAT(message_of([&] { publish(path, kThree, "three"); }, root.path()),
             Catch::Contains("notes.txt"));
  CHECK(read_file(path / "notes.txt") == "mine");
}

TEST_CASE("sealed_folder: a stale one makes way for the new one as a whole", "[core][store]") {
  const TemporaryDir root;
  const fs::path path = root / "out";
  publish(path, kThree, "three");
  publish(path, kFour, "four");
  CHECK(read_file(path / "model.safetensors") == "four");
  CHECK(survey_folder(path, kFour).state == FolderState::kCurrent);
  CHECK(entries_in(root.path()) == 1);
}

TEST_CASE("sealed_folder: two that write the same are one", "[core][store]") {
  const TemporaryDir root;
  const fs::path path = root / "out";
  SealedFolder mine(path, true);
  fill(mine, "three");
  publish(path, kThree, "three");
  const std::optional<FolderIdentity> theirs = identity_of_folder(path);
  mine.publish(kThree);
  CHECK(identity_of_folder(path) == theirs);
}

TEST_CASE("sealed_folder: one that may not replace refuses another's other content",
          "[core][store]") {
  const TemporaryDir root;
  const fs::path path = root / "out";
  SealedFolder mine(path, false);
  fill(mine, "three");
  publish(path, kFour, "four");
  CHECK(message_of([&] { mine.publish(kThree); }, root.path()) ==
        "out: already exists; nothing is overwritten: quantizer.bits changed");
  CHECK(read_file(path / "model.safetensors") == "four");
}

TEST_CASE("sealed_folder: many writers leave one whole folder and nothing else", "[core][store]") {
  const TemporaryDir root;
  const fs::path path = root / "out";
  for (int round = 0; round < 10; ++round) {
    const json made_from = {{"round", round}};
    std::vector<std::thread> threads;
    std::vector<std::string> failures(8);
    for (size_t t = 0; t < failures.size(); ++t) {
      threads.emplace_back([&, t] {
        failures[t] = message_of([&] { publish(path, made_from, std::to_string(round)); });
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    CHECK(failures == std::vector<std::string>(failures.size()));
    CHECK(survey_folder(path, made_from).state == FolderState::kCurrent);
    CHECK(entries_in(root.path()) == 1);
  }
}

}  // namespace quench::test
