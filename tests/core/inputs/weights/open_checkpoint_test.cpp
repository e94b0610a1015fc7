#include "core/inputs/weights/open_checkpoint.hpp"
#include "run/manifest/single_checkpoint.hpp"

#include <catch2/catch.hpp>
#include <fstream>

#include "core/base/io/file.hpp"
#include "core/base/io/sha256.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/support/no_descriptors.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

namespace fs = std::filesystem;
using quench::test::TemporaryDir;

namespace {

const std::string kCommit(40, 'c');

// A checkpoint of the template family as the hub's cache has it: weights under their SHA-256, the
// config under its git id.
class HubCheckpoint {
 public:
  HubCheckpoint() {
    const fs::path plain = folder / "plain";
    quench::test::open_template_checkpoint(plain);
    folder.write("hub/models--org--tiny/refs/main", kCommit);
    fs::create_directories(repository() / "blobs");
    fs::create_directories(repository() / "snapshots" / kCommit);
    for (const auto& entry : fs::directory_iterator(plain)) {
      const quench::File file(entry.path());
      const bool large = entry.path().extension() == ".safetensors";
      const std::string hash = large ? quench::sha256_of(file) : quench::git_blob_id(file);
      fs::copy_file(entry.path(), repository() / "blobs" / hash);
      fs::create_symlink("../../blobs/" + hash,
                         repository() / "snapshots" / kCommit / entry.path().filename());
    }
    environment.hf_hub_cache = (folder / "hub").string();
  }
  fs::path repository() const { return folder / "hub/models--org--tiny"; }
  fs::path file(const std::string& name) const {
    return fs::canonical(repository() / "snapshots" / kCommit / name);
  }
  // One bit, at the end, where no header is.
  void flip(const std::string& name) const {
    std::fstream stream(file(name), std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(-2, std::ios::end);
    const char byte = static_cast<char>(stream.get());
    stream.seekp(-2, std::ios::end);
    stream.put(static_cast<char>(byte ^ 1));
  }
  std::string fault() const {
    const quench::CheckpointCell cell = quench::single_checkpoint("hf://org/tiny");
    return quench::test::message_of(
        [&] { quench::open_files(quench::test::built_catalog(), cell, environment); });
  }

  TemporaryDir folder;
  quench::HubEnvironment environment;
};

}  // namespace

TEST_CASE("open_files: a checkpoint of the hub's cache is compared with its names", "[core][run]") {
  const HubCheckpoint checkpoint;
  CHECK(checkpoint.fault().empty());
  checkpoint.flip("model.safetensors");
  CHECK_THAT(checkpoint.fault(),
             Catch::StartsWith(checkpoint.file("model.safetensors").string() + ": damaged: ") &&
                 Catch::Contains("hf://org/tiny"));
}

TEST_CASE("open_files: a damaged config is told as damaged, whatever it makes of the rest",
          "[core][run]") {
  const HubCheckpoint checkpoint;
  checkpoint.flip("config.json");
  CHECK_THAT(checkpoint.fault(), Catch::Contains(": damaged: content has hash "));
}

TEST_CASE("open_headers: compares no weights", "[core][run]") {
  const HubCheckpoint checkpoint;
  checkpoint.flip("model.safetensors");
  const quench::CheckpointCell cell = quench::single_checkpoint("hf://org/tiny");
  CHECK_NOTHROW(quench::open_headers(quench::test::built_catalog(), cell, checkpoint.environment));
}

TEST_CASE("locate_checkpoints: a located checkpoint stays at its commit when the revision moves on",
          "[core][run]") {
  const HubCheckpoint checkpoint;
  quench::Experiment experiment;
  experiment.checkpoints = {quench::single_checkpoint("hf://org/tiny"),
                            quench::single_checkpoint("hf://org/tiny@later"),
                            quench::single_checkpoint("a folder")};
  std::vector<quench::Experiment> experiments(2, experiment);
  quench::locate_checkpoints(experiments, checkpoint.environment);
  for (const quench::Experiment& each : experiments) {
    REQUIRE(each.checkpoints[0].located.has_value());
    CHECK(each.checkpoints[0].located->commit == kCommit);
    CHECK_FALSE(each.checkpoints[1].located.has_value());
    CHECK_FALSE(each.checkpoints[2].located.has_value());
  }
  checkpoint.folder.write("hub/models--org--tiny/refs/main", std::string(40, 'd'));
  checkpoint.folder.write("hub/models--org--tiny/refs/later", kCommit);
  const std::vector<quench::CheckpointCell>& cells = experiments.back().checkpoints;
  CHECK(quench::locate_checkpoint(cells[0], checkpoint.environment).commit == kCommit);
  CHECK_THROWS_AS(quench::locate_checkpoint(experiment.checkpoints[0], checkpoint.environment),
                  quench::Error);
  // What was not there then is looked up whenever it is needed.
  CHECK(quench::locate_checkpoint(cells[1], checkpoint.environment).commit == kCommit);
  CHECK(quench::locate_checkpoint(cells[2], checkpoint.environment).path == "a folder");
}

TEST_CASE("weights_absence: a folder that cannot be listed for a while lacks nothing", "[core]") {
  const TemporaryDir folder;
  folder.write("m/model.safetensors.index.json", "{}");
  quench::CheckpointCell cell;
  cell.model = cell.location = (folder / "m").string();
  CHECK(quench::weights_absence(cell, {}).empty());
  quench_status status = QUENCH_OK;
  {
    const quench::test::NoDescriptors none;
    status = quench::test::code_of([&] { quench::weights_absence(cell, {}); });
  }
  CHECK(status == QUENCH_UNAVAILABLE);
  cell.model = cell.location = (folder / "none").string();
  CHECK(quench::weights_absence(cell, {}) == cell.location + " does not exist");
}
