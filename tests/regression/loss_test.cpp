// The loss of float models: every reference checkpoint, through folders and through a hub cache.
#include <catch2/catch.hpp>
#include <fstream>

#include "tests/regression/program.hpp"
#include "tests/regression/reference.hpp"
#include "tests/support/fixtures.hpp"

namespace fs = std::filesystem;

namespace quench::test {

namespace {

// The references' own float32 forward differs from a float64 one by a few 1e-9.
constexpr double kFloat32 = 1e-6;

std::string manifest(const std::string& model, const ValidationText& text) {
  return "name: losses\n"
         "checkpoints: {model: \"" +
         model +
         "\", revisions: \"step{step}\"}\n"
         "metrics: [validation_loss: {corpus: validation, block: 128}]\n"
         "corpora: {validation: {text: {path: \"" +
         text.source().string() + "\", from: " + std::to_string(ValidationText::kFrom) +
         ", to: " + std::to_string(ValidationText::kTo) + "}}}\n";
}

// Compares the records of a run with the losses of validation.json; returns how many there were.
size_t compare_losses(const nlohmann::json& document, const nlohmann::json& expected) {
  Worst worst;
  const auto records = records_of(document, "validation_loss");
  for (const nlohmann::json& record : records) {
    const std::string revision = record.at("checkpoint").at("revision");
    INFO(revision);
    bool found = false;
    for (const nlohmann::json& entry : expected.at("revisions")) {
      if (entry.at("revision") == revision) {
        found = true;
        worst.see(relative(record.at("value"), entry.at("ce_nats")), revision);
        CHECK(relative(record.at("value"), entry.at("ce_nats")) < kFloat32);
        const nlohmann::json& details = record.at("details");
        CHECK(details.at("tokens") == entry.at("n_document_ids"));
        CHECK(details.at("blocks") == entry.at("n_blocks"));
        CHECK(details.at("scored") == entry.at("n_scored"));
        CHECK(relative(details.at("perplexity"), entry.at("ppl")) < 5 * kFloat32);
        CHECK(relative(details.at("bits_per_byte"), entry.at("bits_per_byte")) < kFloat32);
      }
    }
    CHECK(found);
  }
  worst.print("float loss, relative difference");
  return records.size();
}

// A hub cache as the Python client makes it: snapshots of links into blobs, refs that name commits.
void make_hub_cache(const fs::path& root, const nlohmann::json& expected,
                    const fs::path& trajectory) {
  std::string name = expected.at("repo_id");
  name.replace(name.find('/'), 1, "--");
  const fs::path repository = root / ("models--" + name);
  fs::create_directories(repository / "blobs");
  fs::create_directories(repository / "refs");
  for (const auto& [revision, commit] : expected.at("revisions").items()) {
    const fs::path snapshot = repository / "snapshots" / commit.get<std::string>();
    fs::create_directories(snapshot);
    for (const char* file : {"config.json", "model.safetensors", "tokenizer.json"}) {
      const std::string blob = commit.get<std::string>() + "-" + file;
      fs::copy_file(trajectory / revision / file, repository / "blobs" / blob);
      fs::create_symlink("../../blobs/" + blob, snapshot / file);
    }
    std::ofstream(repository / "refs" / revision) << commit.get<std::string>();
  }
}

}  // namespace

TEST_CASE("eval: each revision of the trajectory has the loss of the reference", "[regression]") {
  const auto trajectory = fixture("trajectories/gpt_neox-traj");
  const auto text = ValidationText::make();
  const nlohmann::json document = run_manifest(manifest(trajectory.string(), text));
  CHECK(compare_losses(document, read_json(trajectory / "validation.json")) == 14);
}

TEST_CASE("eval: a hub cache gives the same losses as folders", "[regression]") {
  const auto trajectory = fixture("trajectories/gpt_neox-traj");
  const auto cache = fixture("hub_cache");
  const auto text = ValidationText::make();
  const TemporaryDir root;
  const nlohmann::json commits = read_json(cache / "expected.json");
  make_hub_cache(root.path(), commits, trajectory);
  const std::map<std::string, std::string> environment = {{"HF_HUB_CACHE", root.path().string()}};
  const nlohmann::json document =
      run_manifest(manifest("hf://fixture-org/gpt-neox-traj", text), {}, environment);
  CHECK(compare_losses(document, read_json(trajectory / "validation.json")) == 8);
  for (const nlohmann::json& record : document.at("records")) {
    const std::string revision = record.at("checkpoint").at("revision");
    CHECK(record.at("checkpoint").at("commit") == commits.at("revisions").at(revision));
  }
  const nlohmann::json one = quench_json(
      {"eval", "hf://fixture-org/gpt-neox-traj@step480", "--metric", text.metric()}, environment);
  const nlohmann::json record = one.at("records").at(0);
  CHECK(record.at("checkpoint").at("commit") == commits.at("revisions").at("step480"));
  for (const nlohmann::json& same : document.at("records")) {
    if (same.at("checkpoint").at("revision") == "step480") {
      CHECK(record.at("value") == same.at("value"));
    }
  }
}

TEST_CASE("eval: models stored in other ways have the loss of the reference", "[regression]") {
  const auto [name, blocks] =
      GENERATE(table<std::string, int>({{"gpt_neox-small", 450}, {"gpt_neox-seq", 450}}));
  const auto folder = fixture("models/" + name);
  const auto text = ValidationText::make();
  const nlohmann::json expected = read_json(folder / "reference.json").at("validation");
  const nlohmann::json record =
      quench_json({"eval", folder.string(), "--metric", text.metric()}).at("records").at(0);
  CHECK(relative(record.at("value"), expected.at("ce_nats")) < kFloat32);
  CHECK(record.at("details").at("blocks") == blocks);
}

}  // namespace quench::test
