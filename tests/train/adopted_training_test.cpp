// A rebuilt optimizer: what it trained counts again once it was shown to train the same.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>

#include "core/plugin/library/elf_file.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/train/training_scene.hpp"

namespace fs = std::filesystem;
using nlohmann::json;
using quench::test::Ended;
using quench::test::SceneSettings;
using quench::test::TrainingScene;

namespace {

std::string unhex(const std::string& hex) {
  std::string out;
  for (size_t i = 0; i < hex.size(); i += 2) {
    out += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return out;
}

// The built plugin with one bit of its build id flipped, in a folder of its own.
void put_rebuilt(const fs::path& folder, const std::string& kind_and_id) {
  const fs::path built = quench::test::binary_dir() / "lib/quench" / (kind_and_id + ".so");
  std::string bytes = quench::test::read_file(built);
  const size_t at = bytes.find(unhex(quench::read_elf(built).build_id));
  REQUIRE(at != std::string::npos);
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  fs::create_directories((folder / kind_and_id).parent_path());
  std::ofstream(folder / (kind_and_id + ".so"), std::ios::binary) << bytes;
}

Ended quench_in(const TrainingScene& scene, const std::string& command,
                const std::vector<std::string>& more) {
  std::vector<std::string> words = {(quench::test::binary_dir() / "bin/quench").string(), command,
                                    "m.yaml", "--plugin-path", (scene.path() / "plugins").string()};
  words.insert(words.end(), more.begin(), more.end());
  return quench::test::run_program(words, scene.environment(), scene.path());
}

json counts(const TrainingScene& scene) {
  const Ended plan = quench_in(scene, "plan", {"--json"});
  INFO(plan.err);
  REQUIRE(plan.code == 0);
  return quench::test::data_of(plan.out).at("counts");
}

}  // namespace

TEST_CASE("adopt: trained states of another build of the optimizer count again", "[train][keys]") {
  const TrainingScene scene({});
  const json records = scene.records();
  const std::string before = scene.weights("step4");
  const size_t cells = counts(scene).at("done");
  put_rebuilt(scene.path() / "plugins", "optimizers/adamw");
  CHECK(counts(scene) == json{{"to do", cells}});
  const Ended adopted =
      quench_in(scene, "adopt", {"--plugin", "adamw", "--reason", "nothing but its id"});
  INFO(adopted.err);
  REQUIRE(adopted.code == 0);
  CHECK_THAT(adopted.out, Catch::Contains("optimizer adamw: "));
  CHECK(counts(scene) == json{{"done", cells}});
  CHECK(scene.weights("step4") == before);
  for (const auto& entry : fs::directory_iterator(scene.path() / "home")) {
    CHECK_FALSE(entry.path().filename().string().starts_with("adopt-"));
  }
}

TEST_CASE("adopt: another build of a fork's optimizer is proved by the fork's weights",
          "[train][keys]") {
  SceneSettings settings;
  settings.rest =
      "steps: 8, every: 8, forks: {flat: {steps: 8, decay_steps: 4, optimizer: {sam: {rho: 0.1}}}}";
  const TrainingScene scene(settings);
  scene.records();
  put_rebuilt(scene.path() / "plugins", "optimizers/sam");
  const size_t cells = counts(scene).at("done");
  CHECK(cells == 1);  // that of the run
  const Ended adopted =
      quench_in(scene, "adopt", {"--plugin", "sam", "--reason", "nothing but its id", "--json"});
  INFO(adopted.err);
  REQUIRE(adopted.code == 0);
  CHECK(counts(scene) == json{{"done", 2}});
  const json answer = quench::test::data_of(adopted.out);
  std::set<std::string> branches;
  for (const json& one : answer.at("adopted").at(0).at("evidence")) {
    if (one.contains("training")) {
      branches.insert(one.at("branch").get<std::string>());
    }
  }
  CHECK(branches == std::set<std::string>{"flat", "trunk"});
}

TEST_CASE("adopt: where the old weights are others, nothing is adopted", "[train][keys]") {
  const TrainingScene scene({});
  scene.records();
  put_rebuilt(scene.path() / "plugins", "optimizers/adamw");
  for (const auto& state : fs::directory_iterator(scene.path() / "home/training")) {
    const fs::path weights = state.path() / "model.safetensors";
    if (fs::exists(weights)) {  // as if the old build had trained other ones
      fs::permissions(weights, fs::perms::owner_write, fs::perm_options::add);
      std::fstream file(weights, std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(-64, std::ios::end);
      file.put(1);
    }
  }
  const Ended adopted =
      quench_in(scene, "adopt", {"--plugin", "adamw", "--reason", "nothing but its id"});
  CHECK(adopted.code != 0);
  CHECK_FALSE(fs::exists(scene.path() / "home/equivalences"));
}
