// Against a cache that the Python client accepted.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/base/json/parse_json.hpp"
#include "core/checkpoint/checkpoint_folder.hpp"
#include "core/checkpoint/content_hash.hpp"
#include "core/hub/blob.hpp"
#include "core/hub/resolve.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"

namespace fs = std::filesystem;
using quench::content_hash;
using quench::open_safetensors_folder;

namespace {

// A copy of the cache in which small files that hold the text of a link, as copies without symbolic
// links leave them, are links again.
void copy_cache(const fs::path& from, const fs::path& to) {
  for (const auto& entry : fs::recursive_directory_iterator(from)) {
    const fs::path target = to / entry.path().lexically_relative(from);
    if (entry.is_symlink()) {
      fs::copy_symlink(entry.path(), target);
    } else if (entry.is_directory()) {
      fs::create_directories(target);
    } else {
      const std::string content = quench::test::read_file(entry.path());
      if (content.starts_with("../../blobs/")) {
        fs::create_symlink(content, target);
      } else {
        fs::copy_file(entry.path(), target);
      }
    }
  }
}

}  // namespace

TEST_CASE("resolve: every cached revision has the weights of its trajectory folder",
          "[core][hub]") {
  const auto cache = quench::test::fixture("hub_cache");
  const auto trajectory = quench::test::fixture("trajectories/gpt_neox-traj");
  const quench::test::TemporaryDir copy;
  copy_cache(cache, copy.path());
  const quench::HubEnvironment environment{.hf_hub_cache = copy.path().string(),
                                           .huggingface_hub_cache = "",
                                           .hf_home = "",
                                           .xdg_cache_home = "",
                                           .home = "",
                                           .memory = {}};
  const auto expected =
      quench::parse_json(quench::test::read_file(cache / "expected.json"), "expected.json");
  size_t seen = 0;
  for (const auto& [revision, commit] : expected["revisions"].items()) {
    const auto found = quench::resolve("hf://fixture-org/gpt-neox-traj@" + revision, environment);
    CHECK(found.commit == commit.get<std::string>());
    CHECK(found.repository == "fixture-org/gpt-neox-traj");
    CHECK(found.revision == revision);
    CHECK(content_hash(*open_safetensors_folder(found.folder).source) ==
          content_hash(*open_safetensors_folder(trajectory / revision).source));
    const auto direct =
        quench::resolve("hf://fixture-org/gpt-neox-traj@" + found.commit, environment);
    CHECK(direct.folder == found.folder);
    CHECK(quench::verify_blobs(found.folder, environment).checked > 0);
    CHECK(quench::verify_blobs(found.folder, environment).faults.empty());
    ++seen;
  }
  CHECK(seen == 8);
  CHECK(quench::resolve("hf://fixture-org/gpt-neox-traj", environment).commit ==
        expected["main"].get<std::string>());
}
