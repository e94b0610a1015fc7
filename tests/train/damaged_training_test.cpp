// What a training wrote and something changed since: told, never used, and made again.
#include <catch2/catch.hpp>
#include <fstream>
#include <functional>

#include "core/base/io/file.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/temporary.hpp"
#include "tests/train/small_training.hpp"
#include "train/verify_trained.hpp"

namespace fs = std::filesystem;
using quench::Depth;
using quench::verify_trained;
using quench::test::SmallSettings;
using quench::test::SmallTraining;
using quench::test::TemporaryDir;

namespace {

void flip_a_bit(const fs::path& file) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  const auto at = static_cast<std::streamoff>(fs::file_size(file) / 2);
  stream.seekg(at);
  const auto byte = static_cast<char>(stream.get() ^ 1);
  stream.seekp(at);
  stream.put(byte);
}

struct Damage {
  const char* what;
  std::function<void(const fs::path&)> make;
  bool seen_by_size;
};

const std::vector<Damage> kDamages = {
    {"a flipped bit", flip_a_bit, false},
    {"cut", [](const fs::path& file) { fs::resize_file(file, fs::file_size(file) / 2); }, true},
    {"gone", [](const fs::path& file) { fs::remove(file); }, true}};

// All files that trainings wrote, relative to the home.
std::vector<std::string> files_of(const fs::path& home) {
  std::vector<std::string> out;
  for (const char* part : {"training", "tokens"}) {
    for (const auto& entry : fs::recursive_directory_iterator(home / part)) {
      if (entry.is_regular_file()) {
        out.push_back(fs::relative(entry.path(), home).string());
      }
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

// Every file of `home` with every damage: what is made of it is what was made without.
void check_each(const fs::path& home, const SmallSettings& settings,
                const std::map<std::string, std::string>& expected) {
  const std::vector<std::string> files = files_of(home);
  REQUIRE(files.size() > 10);
  for (const std::string& file : files) {
    for (const Damage& damage : kDamages) {
      INFO(file << ": " << damage.what);
      const TemporaryDir place;
      fs::copy(home, place / "h", fs::copy_options::recursive);
      damage.make(place / "h" / file);
      CHECK(verify_trained(place / "h", Depth::kContents).faults.size() == 1);
      SmallTraining training(place / "h", settings);
      REQUIRE(training.run());
      CHECK((training.outputs() == expected));
      CHECK(training.has_said(fs::path(file).parent_path().string()));
      CHECK(training.has_said("; making it again"));
      CHECK(verify_trained(place / "h", Depth::kContents).faults.empty());
    }
  }
}

}  // namespace

TEST_CASE("damaged training: whatever file of a stopped one changed, it ends with the same bits",
          "[train]") {
  const TemporaryDir place;
  SmallTraining whole(place / "whole", {});
  REQUIRE(whole.run());
  SmallTraining stopped(place / "stopped", {});
  REQUIRE_FALSE(stopped.run(9));
  check_each(place / "stopped", {}, whole.outputs());
}

TEST_CASE("damaged training: a checkpoint and an average that changed are made again", "[train]") {
  const TemporaryDir place;
  SmallTraining whole(place / "whole", {});
  REQUIRE(whole.run());
  const auto expected = whole.outputs();
  for (const auto& entry : fs::directory_iterator(whole.training())) {
    const fs::path weights = entry.path() / "model.safetensors";
    for (const Damage& damage : kDamages) {
      if (!fs::exists(weights)) {
        continue;
      }
      INFO(entry.path().filename().string() << ": " << damage.what);
      const TemporaryDir other;
      fs::copy(place / "whole", other / "h", fs::copy_options::recursive);
      const fs::path file = other / "h/training" / entry.path().filename() / "model.safetensors";
      damage.make(file);
      SmallTraining training(other / "h", {});
      REQUIRE(training.run());
      CHECK(training.has_said(file.string() + ": "));
      CHECK(training.has_said("; making it again"));
      CHECK((training.outputs() == expected));
    }
  }
}

TEST_CASE("damaged training: folders of before there were hashes are made again", "[train]") {
  const TemporaryDir place;
  SmallTraining whole(place / "whole", {});
  REQUIRE(whole.run());
  SmallTraining stopped(place / "stopped", {});
  REQUIRE_FALSE(stopped.run(9));
  for (const std::string& file : files_of(place / "stopped")) {
    if (file.ends_with("quench.json")) {
      fs::remove(place / "stopped" / file);
    }
  }
  REQUIRE(stopped.run());
  CHECK(stopped.has_said("quench.json: cannot be opened: No such file or directory; making it"));
  CHECK((stopped.outputs() == whole.outputs()));
}

TEST_CASE("damaged training: a file that cannot be opened is no reason to remove it", "[train]") {
  const TemporaryDir place;
  SmallTraining training(place / "h", {});
  REQUIRE_FALSE(training.run(9));
  const fs::path folder = fs::directory_iterator(place / "h/tokens")->path();
  const fs::path ids = folder / "000000.ids";
  fs::permissions(ids, fs::perms::none);
  quench::test::skip_unless(!std::ifstream(ids).good(), "this user may read every file");
  CHECK_THROWS_AS(training.run(), quench::Error);
  fs::permissions(ids, fs::perms::owner_all);
  REQUIRE(training.run());
  CHECK(verify_trained(place / "h", Depth::kContents).faults.empty());
}

TEST_CASE("verify: what trainings wrote is checked by sizes, and whole on request", "[train]") {
  const TemporaryDir place;
  SmallTraining training(place / "h", {});
  REQUIRE_FALSE(training.run(9));
  const auto sizes = verify_trained(place / "h", Depth::kSizes);
  CHECK(sizes.faults.empty());
  // Two checkpoints' folders with their optimizers', finished averages, open ones, a packed corpus.
  CHECK(sizes.checked >= 10);
  CHECK(verify_trained(place / "h", Depth::kContents).checked == sizes.checked);
  for (const std::string& file : files_of(place / "h")) {
    for (const Damage& damage : kDamages) {
      INFO(file << ": " << damage.what);
      const TemporaryDir other;
      fs::copy(place / "h", other / "h", fs::copy_options::recursive);
      damage.make(other / "h" / file);
      const auto whole = verify_trained(other / "h", Depth::kContents);
      REQUIRE(whole.faults.size() == 1);
      CHECK(whole.faults[0].find(fs::path(file).parent_path().string()) != std::string::npos);
      const bool sealed_alone = file.ends_with("training.json");
      const bool quick = damage.seen_by_size && !(sealed_alone && fs::exists(other / "h" / file));
      const bool is_list = file.ends_with("quench.json");
      CHECK(verify_trained(other / "h", Depth::kSizes).faults.size() ==
            (quick || is_list ? 1U : 0U));
    }
  }
}
