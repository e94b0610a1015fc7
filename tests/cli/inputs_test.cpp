// What was measured from: hashed again by `quench verify --inputs`, and not believed by --fresh.
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/cli/program.hpp"
#include "tests/support/answer.hpp"

using Catch::Matchers::Contains;
using nlohmann::json;
using quench::test::Outcome;
using quench::test::Page;
using quench::test::Workplace;
namespace fs = std::filesystem;

namespace {

// Two cells of one checkpoint: float, quantized.
void write_manifest(const Workplace& here) {
  here.folder().write("m.yaml",
                      "name: m\n"
                      "checkpoints: {model: tiny}\n"
                      "quantizers:\n"
                      "  - template_quantizer: {bits: 4}\n"
                      "metrics:\n"
                      "  - validation_loss: {corpus: v, block: 16}\n"
                      "corpora: {v: {text: {path: t.txt}}}\n");
}

void run(const Workplace& here, Workplace::Arguments more = {}) {
  more.insert(more.begin(), {"run", "m.yaml"});
  const Outcome ran = here.run(more);
  INFO(ran.err);
  REQUIRE(ran.code == 0);
}

void change_weights(const Workplace& here) {
  std::fstream file(here.folder() / "tiny/model.safetensors",
                    std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-64, std::ios::end);
  file.put('\x11');
}

}  // namespace

TEST_CASE("verify: --inputs hashes again what the records were measured from", "[cli]") {
  const Workplace here{Page::kNone};
  write_manifest(here);
  run(here);
  const Outcome same = here.run({"verify", "runs/m", "--inputs"});
  INFO(same.err);
  CHECK(same.code == 0);
  CHECK(same.out == "2 checked, 0 do not verify\n");

  SECTION("and names what changed, with both hashes and the cells") {
    change_weights(here);
    here.folder().write("t.txt", "another text, which is as long as one block of tokens\n");
    const Outcome got = here.run({"verify", "runs/m", "--inputs", "--json"});
    CHECK(got.code == 1);
    const json data = quench::test::data_of(got.out);
    CHECK(data.at("checked") == 2);
    REQUIRE(data.at("faults").size() == 2);
    CHECK_THAT(data.at("faults")[0].get<std::string>(),
               Contains("metric.corpora.corpus.files: ") && Contains(" and 1 more)"));
    CHECK_THAT(data.at("faults")[1].get<std::string>(), Contains("weights: "));
  }
  SECTION("and names weights that were cut, which nothing can read any more") {
    const fs::path weights = here.folder() / "tiny/model.safetensors";
    fs::resize_file(weights, fs::file_size(weights) / 2);
    const Outcome got = here.run({"verify", "runs/m", "--inputs"});
    CHECK(got.code == 1);
    CHECK_THAT(got.out, Contains("tiny/model.safetensors: ") &&
                            Contains("2 checked, 1 do not verify\n") && !Contains("not checked"));
  }
  SECTION("and counts what it cannot hash; nothing checked is no success") {
    fs::rename(here.folder() / "t.txt", here.folder() / "gone.txt");
    const Outcome got = here.run({"verify", "runs/m", "--inputs"});
    CHECK(got.code == 1);
    CHECK_THAT(got.out, Contains("not checked: ") && Contains("t.txt") &&
                            Contains("0 checked, 0 do not verify, 1 cannot be checked\n"));
  }
  SECTION("with what --set changed, and where the records of other cells lie, too") {
    run(here, {"--set", "metrics.0.validation_loss.block=8"});
    const Outcome got = here.run({"verify", "runs/m", "--inputs"});
    INFO(got.out);
    CHECK(got.code == 0);
    CHECK_THAT(got.out, Contains("2 checked, 0 do not verify"));
  }
}

TEST_CASE("run: --fresh hashes inputs again and remembers the new hash", "[cli]") {
  const Workplace here{Page::kNone};
  write_manifest(here);
  // Files that changed less than two seconds ago are not remembered.
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  run(here);
  // A fingerprint that says something else of the unchanged file, as after bits of it flipped.
  size_t forged = 0;
  for (const auto& entry : fs::recursive_directory_iterator(here.folder() / "home/fingerprints")) {
    if (entry.is_regular_file() &&
        quench::test::read_file(entry.path()).find("\"blocks\"") != std::string::npos) {
      fs::remove(entry.path());
      ++forged;
    }
  }
  CHECK(forged == 1);  // one set of weights, however often it is opened
  const Outcome again = here.run({"run", "m.yaml", "--fresh"});
  INFO(again.err);
  CHECK(again.code == 0);
  CHECK_THAT(again.out, Contains("2 of them new"));
  size_t blocks = 0;
  for (const auto& entry : fs::recursive_directory_iterator(here.folder() / "home/fingerprints")) {
    blocks += entry.is_regular_file() &&
                      quench::test::read_file(entry.path()).find("\"blocks\"") != std::string::npos
                  ? 1
                  : 0;
  }
  CHECK(blocks == 1);
}
