// What changes the key of a value, and what does not: through the program.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/plugin/library/elf_file.hpp"
#include "core/plugin/services/instruction_set.hpp"
#include "tests/cli/program.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/skip.hpp"

namespace fs = std::filesystem;
using nlohmann::json;
using quench::test::Outcome;
using quench::test::Page;
using quench::test::Workplace;

namespace {

const std::string kTinyManifest =
    "name: m\n"
    "checkpoints: {model: tiny}\n"
    "calibration: {lines: {corpus: v, sequences: 4, length: 16}}\n"
    "quantizers:\n"
    "  - template_quantizer: {bits: [3, 4]}\n"
    "metrics:\n"
    "  - validation_loss: {corpus: v, block: 16}\n"
    "corpora: {v: {text: {path: t.txt}}}\n";

std::string unhex(const std::string& hex) {
  std::string out;
  for (size_t i = 0; i < hex.size(); i += 2) {
    out += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return out;
}

const std::string kQuantizer = "template/quantizers/template_quantizer.so";

std::string build_id(const fs::path& built = kQuantizer) {
  return quench::read_elf(quench::test::binary_dir() / built).build_id;
}

// A run of three cells, and a folder of plugins that come before the built ones.
class Study {
 public:
  Study() {
    here.folder().write("m.yaml", kTinyManifest);
    const Outcome ran = here.run({"run", "m.yaml"});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
  }

  fs::path plugins() const { return here.folder() / "plugins"; }

  // The built quantizer, its bytes changed.
  template <typename Change>
  void put_quantizer(Change change) const {
    put(kQuantizer, "quantizers", change);
  }
  template <typename Change>
  void put(const fs::path& built, const std::string& folder, Change change) const {
    std::string bytes = quench::test::read_file(quench::test::binary_dir() / built);
    change(bytes);
    fs::create_directories(plugins() / folder);
    std::ofstream(plugins() / folder / built.filename(), std::ios::binary) << bytes;
  }
  // As if it had been built of other sources.
  void put_rebuilt(const fs::path& built, const std::string& folder) const {
    put(built, folder, [&](std::string& bytes) {
      const size_t at = bytes.find(unhex(build_id(built)));
      REQUIRE(at != std::string::npos);
      bytes[at] = static_cast<char>(bytes[at] ^ 1);
    });
  }

  // `plan`, as counts and as text.
  json counts(const quench::test::Environment& more = {}) const {
    return quench::test::data_of(plan({"--json"}, more)).at("counts");
  }
  std::string plan(Workplace::Arguments more_arguments,
                   const quench::test::Environment& more = {}) const {
    Workplace::Arguments arguments = {"plan", "m.yaml", "--plugin-path", plugins().string()};
    arguments.insert(arguments.end(), more_arguments.begin(), more_arguments.end());
    quench::Command command = here.command(arguments);
    for (const auto& [name, value] : more) {
      command.environment->push_back(name + "=" + value);
    }
    quench::ChildProcess process = quench::ChildProcess::start(command);
    const Outcome got = here.wait(process);
    INFO(got.err);
    REQUIRE(got.code == 0);
    return got.out;
  }

  const Workplace here{Page::kNone};
};

const json kAllDone = {{"done", 3}};
const json kQuantizedToDo = {{"done", 1}, {"to do", 2}};

}  // namespace

TEST_CASE("keys: a copy of a plugin elsewhere changes none, and other bytes with its build id do",
          "[cli][keys]") {
  const Study study;
  study.put_quantizer([](std::string&) {});
  CHECK(study.counts() == kAllDone);
  study.put_quantizer([](std::string& bytes) { bytes += "patched"; });
  CHECK(study.counts() == kQuantizedToDo);
  CHECK_THAT(study.plan({"--all"}), Catch::Contains("the build of template_quantizer changed"));
  const Outcome why = study.here.run(
      {"why", "m.yaml", "template_quantizer bits=3", "--plugin-path", study.plugins().string()});
  CHECK_THAT(why.out, Catch::Contains("quantizer.code.sha256: was \"") &&
                          !Catch::Contains("quantizer.code.build_id: was"));
  const Outcome adopted =
      study.here.run({"adopt", "m.yaml", "--plugin", "template_quantizer", "--reason", "signed",
                      "--plugin-path", study.plugins().string()});
  INFO(adopted.err);
  CHECK(adopted.code == 0);
  CHECK(study.counts() == kAllDone);
}

TEST_CASE("keys: another build of a plugin is another key, and the plan names it", "[cli][keys]") {
  const Study study;
  study.put_rebuilt(kQuantizer, "quantizers");
  CHECK(study.counts() == kQuantizedToDo);
  CHECK_THAT(study.plan({"--all"}), Catch::Contains("the build of template_quantizer changed"));
  const Outcome why = study.here.run(
      {"why", "m.yaml", "template_quantizer bits=3", "--plugin-path", study.plugins().string()});
  CHECK_THAT(why.out, Catch::Contains("quantizer.code.build_id: was \"" + build_id().substr(0, 12) +
                                      "…\", is \""));
  const Outcome adopted =
      study.here.run({"adopt", "m.yaml", "--plugin", "template_quantizer", "--reason",
                      "nothing but its id", "--plugin-path", study.plugins().string()});
  INFO(adopted.err);
  CHECK(adopted.code == 0);
  CHECK_THAT(adopted.out, Catch::Contains("2 cells computed again and equal"));
  CHECK(study.counts() == kAllDone);
  // And back: the build that is in the tree counts as itself.
  fs::remove(study.plugins() / "quantizers/template_quantizer.so");
  CHECK(study.counts() == kAllDone);
}

TEST_CASE("keys: after a rebuild of several plugins all of them are adopted at once",
          "[cli][keys]") {
  const Study study;
  study.put_rebuilt(kQuantizer, "quantizers");
  study.put_rebuilt("lib/quench/metrics/validation_loss.so", "metrics");
  CHECK(study.counts() == json{{"to do", 3}});
  const auto adopt = [&](Workplace::Arguments more) {
    Workplace::Arguments words = {"adopt",         "m.yaml",
                                  "--reason",      "another compiler",
                                  "--plugin-path", study.plugins().string()};
    words.insert(words.end(), more.begin(), more.end());
    return study.here.run(words);
  };
  const Outcome alone = adopt({"--plugin", "template_metric"});
  CHECK(alone.code == 2);  // it was not rebuilt
  const Outcome both = adopt({});
  INFO(both.err);
  REQUIRE(both.code == 0);
  CHECK_THAT(both.out, Catch::Contains("metric validation_loss: ") &&
                           Catch::Contains("quantizer template_quantizer: "));
  CHECK(study.counts() == kAllDone);
  CHECK(adopt({}).code == 2);  // nothing is left to adopt
}

TEST_CASE("keys: a rebuilt family is adopted for weights that it has not been asked about",
          "[cli][keys]") {
  const Study study;
  study.put_rebuilt("template/models/template_model.so", "models");
  CHECK(study.counts() == json{{"to do", 3}});
  CHECK_THAT(study.plan({"--all"}), Catch::Contains("config of tiny not read yet"));
  const Outcome adopted = study.here.run({"adopt", "m.yaml", "--reason", "another compiler",
                                          "--plugin-path", study.plugins().string()});
  INFO(adopted.err);
  CHECK(adopted.code == 0);
  CHECK(study.counts() == kAllDone);
}

TEST_CASE("keys: a plugin without a build id goes by its bytes", "[cli][keys]") {
  const Study study;
  const auto without_id = [](const std::string& behind) {
    return [behind](std::string& bytes) {
      const size_t at = bytes.find(unhex(build_id()));
      REQUIRE(at != std::string::npos);
      bytes[at - 8] = 77;  // the type of the note: name and content follow it
      bytes += behind;
    };
  };
  study.put_quantizer(without_id(""));
  CHECK(study.counts() == kQuantizedToDo);
  const auto key = [&] {
    return quench::test::data_of(study.plan({"--json"}))
        .at("cells")
        .at(1)
        .at("key")
        .get<std::string>();
  };
  const std::string one = key();
  study.put_quantizer(without_id("more"));
  CHECK(key() != one);
}

TEST_CASE("keys: another build of the tokenizer's plugin is another key", "[cli][keys]") {
  const Study study;
  study.put_rebuilt("lib/quench/tokenizers/tokenizer_json.so", "tokenizers");
  CHECK(study.counts() == json{{"to do", 3}});
  CHECK_THAT(study.plan({"--all"}), Catch::Contains("the build of tokenizer_json changed"));
}

TEST_CASE("keys: another decoder of the same weights reads them again and changes no key",
          "[cli][keys]") {
  quench::test::need_plugin("quantizers/rtn");
  const Study study;
  const Outcome packed =
      study.here.run({"quantize", "tiny", "--quantizer", "rtn:bits=4,group_size=16", "--format",
                      "template_format", "-o", "packed"});
  INFO(packed.err);
  REQUIRE(packed.code == 0);
  study.here.folder().write("m.yaml",
                            "name: p\ncheckpoints: {model: packed}\n"
                            "metrics: [validation_loss: {corpus: v, block: 16}]\n"
                            "corpora: {v: {text: {path: t.txt}}}\n");
  // Hashes of files that have just changed are not remembered.
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  REQUIRE(study.here.run({"run", "m.yaml"}).code == 0);
  const auto remembered = [&] {
    const fs::recursive_directory_iterator all(study.here.folder() / "home/fingerprints");
    return std::count_if(begin(all), end(all), [](const auto& e) { return e.is_regular_file(); });
  };
  CHECK(study.counts() == json{{"done", 1}});
  const auto before = remembered();
  study.put_rebuilt("template/formats/template_format.so", "formats");
  CHECK(study.counts() == json{{"done", 1}});
  CHECK(remembered() > before);
}

TEST_CASE("keys: other kernels are another key", "[cli][keys]") {
  const Study study;
  const auto available = quench::available_instruction_sets();
  quench::test::skip_unless(available.size() > 1, "this processor has one kind of kernels");
  const std::string isa = quench::to_text(available.front());
  CHECK(study.counts({{"QUENCH_ISA", isa}}) == json{{"to do", 3}});
  CHECK_THAT(study.plan({"--all"}, {{"QUENCH_ISA", isa}}),
             Catch::Contains("environment.isa changed"));
}

TEST_CASE("keys: they hold the host's arithmetic, the C library's and no path", "[cli][keys]") {
  const Study study;
  const std::string why = study.here.run({"why", "m.yaml", "bits=3", "--parts"}).out;
  CHECK_THAT(study.here.run({"why", "m.yaml", "bits=3"}).out,
             Catch::EndsWith("; --parts shows what it is made of\n") &&
                 !Catch::Contains("host.build_id") && !Catch::Contains("nearest"));
  CHECK_THAT(why, Catch::Matches("(.|\n)*host\\.build_id = \"[0-9a-f]{40}\"(.|\n)*"));
  CHECK_THAT(why, Catch::Contains("environment.libm = \"glibc ") && !Catch::Contains("libm.so") &&
                      !Catch::Contains("libstdc++") &&
                      !Catch::Contains(study.here.folder().path().string()) &&
                      !Catch::Contains(quench::test::binary_dir().string()));
}

TEST_CASE("why: a cell with a record is not compared with others", "[cli][keys]") {
  const Study study;
  const std::string reused = study.here.run({"why", "m.yaml", "bits=3", "--out", "runs/other"}).out;
  CHECK_THAT(reused, Catch::Contains("\nreused: measured before") && !Catch::Contains("nearest"));
}

TEST_CASE("why: of two to four cells it lists the names before it explains each", "[cli][keys]") {
  const Study study;
  const Outcome got = study.here.run({"why", "m.yaml", "tiny"});
  CHECK(got.code == 0);
  CHECK_THAT(got.out, Catch::StartsWith("3 cells match \"tiny\":\n  tiny, ") &&
                          Catch::Matches("(.|\n)*\n\ntiny, (.|\n)*key (.|\n)*\n\ntiny, (.|\n)*"));
}

TEST_CASE("why: of more than four cells it lists the names", "[cli][keys]") {
  const Study study;
  const Outcome got =
      study.here.run({"why", "m.yaml", "tiny", "--set", "metrics.0.validation_loss.block=[8, 16]"});
  CHECK(got.code == 0);
  CHECK_THAT(got.out, Catch::StartsWith("6 cells match \"tiny\"") &&
                          Catch::Contains("\n  tiny, template_quantizer bits=3, validation_loss") &&
                          !Catch::Contains("key "));
  CHECK(std::count(got.out.begin(), got.out.end(), '\n') == 7);
}

TEST_CASE("keys: a quantizer that measures its own layers has no judge in its key", "[cli][keys]") {
  quench::test::need_plugin("quantizers/gptq");
  quench::test::need_plugin("quantizers/rtn");
  const Workplace here{Page::kNone};
  here.folder().write("m.yaml",
                      "name: m\ncheckpoints: {model: tiny, family: template_model}\n"
                      "calibration: {lines: {corpus: v, sequences: 4, length: 16}}\n"
                      "quantizers:\n"
                      "  - template_quantizer: {bits: 3}\n    calibration: lines\n"
                      "  - gptq: {bits: 3, group_size: 16}\n    calibration: lines\n"
                      "metrics: [validation_loss: {corpus: v, block: 16}]\n"
                      "corpora: {v: {text: {path: t.txt}}}\n");
  const std::string judged = here.run({"why", "m.yaml", "template_quantizer", "--parts"}).out;
  CHECK_THAT(judged, Catch::Contains("calibration.judge.id = "));
  const std::string own = here.run({"why", "m.yaml", "gptq", "--parts"}).out;
  CHECK_THAT(own, Catch::Contains("quantizer.id = \"gptq\"") && !Catch::Contains("judge"));
  CHECK_THAT(own, Catch::Contains("environment.libraries.libtorch_cpu.so = ") &&
                      !Catch::Contains("libdl.so") && !Catch::Contains("libcupti.so") &&
                      !Catch::Contains("libgcc_s.so"));
}

TEST_CASE("eval: its records say on what kind of machine they were measured", "[cli][keys]") {
  const Workplace here{Page::kNone};
  const Outcome got =
      here.run({"eval", "tiny", "--metric", "validation_loss:text=t.txt,block=16", "--json"});
  INFO(got.err);
  REQUIRE(got.code == 0);
  const json environment = quench::test::data_of(got.out).at("records").at(0).at("environment");
  CHECK(environment.at("isa").is_string());
  CHECK_THAT(environment.at("libm").get<std::string>(), Catch::StartsWith("glibc "));
  CHECK(environment.at("device") == "cpu");
}
