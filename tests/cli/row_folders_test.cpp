// Folders of weights that a run writes: what is written is what was measured, whoever wrote there
// before.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "core/store/sealed_folder.hpp"
#include "tests/cli/program.hpp"
#include "tests/support/answer.hpp"

namespace fs = std::filesystem;
using nlohmann::json;
using quench::test::Outcome;
using quench::test::Page;
using quench::test::Workplace;

namespace {

const std::string kHead =
    "name: m\n"
    "checkpoints: {model: models, revisions: \"step{step}\"}\n"
    "metrics:\n"
    "  - validation_loss: {corpus: v, block: 16}\n"
    "corpora: {v: {text: {path: t.txt}}}\n";
const std::string kExport =
    "quantizers:\n"
    "  - template_quantizer: {bits: 4, group_size: 16}\n"
    "    label: q\n"
    "    export: gptq\n";
const std::string kKeep = "averaging:\n  - soup: {}\n    keep: true\n";

// Two checkpoints, and the manifest m.yaml of what is given.
class Folders {
 public:
  explicit Folders(const std::string& manifest, Page page = Page::kNone) : here(page) {
    fs::create_directory(path() / "models");
    for (const char* step : {"models/step1", "models/step2"}) {
      fs::copy(path() / "tiny", path() / step, fs::copy_options::recursive);
    }
    change_weights("models/step2", 3);
    here.folder().write("m.yaml", kHead + manifest);
  }

  // Flips bits in the middle of a float near the end of the file.
  void change_weights(const std::string& model, char bits) const {
    std::fstream file(path() / model / "model.safetensors",
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(-62, std::ios::end);
    char value = 0;
    file.get(value);
    file.seekp(-62, std::ios::end);
    file.put(static_cast<char>(value ^ bits));
  }

  json records(Workplace::Arguments more = {}) const {
    more.insert(more.begin(), {"run", "m.yaml", "--json"});
    const Outcome got = here.run(more);
    INFO(got.err);
    REQUIRE(got.code == 0);
    return quench::test::data_of(got.out).at("records");
  }
  json planned(Workplace::Arguments more = {}) const {
    more.insert(more.begin(), {"plan", "m.yaml", "--json"});
    const Outcome got = here.run(more);
    INFO(got.err);
    REQUIRE(got.code == 0);
    return quench::test::data_of(got.out).at("folders");
  }
  // The loss of what the folder holds.
  json loss_of(const fs::path& folder) const {
    const Outcome got = here.run(
        {"eval", folder.string(), "--metric", "validation_loss:text=t.txt,block=16", "--json"});
    INFO(got.err);
    REQUIRE(got.code == 0);
    return quench::test::data_of(got.out).at("records").at(0).at("value");
  }
  // The measured loss under this quantizer's label (empty: float) of this revision, or its average.
  static json measured(const json& records, const std::string& revision, const std::string& label,
                       bool averaged = false) {
    for (const json& record : records) {
      const json& quantizer = record.at("quantizer");
      if (record.at("metric") == "validation_loss" &&
          record.at("checkpoint").at("revision") == revision &&
          (quantizer.is_null() ? "" : quantizer.at("label")) == label &&
          record.at("averaging").is_null() != averaged) {
        return record.at("value");
      }
    }
    return nullptr;
  }

  fs::path path() const { return here.folder().path(); }
  fs::path exported(const std::string& name) const { return path() / "runs/m/exports" / name; }

  const Workplace here;
};

std::set<std::string> states(const json& folders) {
  std::set<std::string> out;
  for (const json& folder : folders) {
    out.insert(folder.at("state"));
  }
  return out;
}

}  // namespace

TEST_CASE("run: an export of other bits under the same label takes the old one's place", "[cli]") {
  const Folders folders(kExport);
  CHECK(states(folders.planned()) == std::set<std::string>{"to write"});
  const json four = folders.records();
  const fs::path written = folders.exported("step1/q");
  CHECK(folders.loss_of(written) == Folders::measured(four, "step1", "q"));
  CHECK(states(folders.planned()) == std::set<std::string>{"written"});
  const Workplace::Arguments change = {"--set", "quantizers.0.template_quantizer.bits=8"};
  const json plan = folders.planned(change);
  CHECK(states(plan) == std::set<std::string>{"to replace"});
  CHECK(plan.at(0).at("reason") == "quantizer.params.bits changed");
  const json eight = folders.records(change);
  CHECK(Folders::measured(eight, "step1", "q") != Folders::measured(four, "step1", "q"));
  CHECK(folders.loss_of(written) == Folders::measured(eight, "step1", "q"));
  CHECK(folders.loss_of(folders.exported("step2/q")) == Folders::measured(eight, "step2", "q"));
}

TEST_CASE("run: an export of changed weights, or with changed files beside them, is written again",
          "[cli]") {
  const Folders folders(kExport);
  folders.records();
  const fs::path written = folders.exported("step1/q");
  const std::string what = GENERATE("weights", "tokenizer");
  if (what == "weights") {
    folders.change_weights("models/step1", 0x30);
  } else {
    std::ofstream(folders.path() / "models/step1/tokenizer.json", std::ios::app) << " \n";
  }
  const json records = folders.records();
  CHECK(folders.loss_of(written) == Folders::measured(records, "step1", "q"));
  CHECK(quench::test::read_file(written / "tokenizer.json") ==
        quench::test::read_file(folders.path() / "models/step1/tokenizer.json"));
}

TEST_CASE("run: an export that lost or changed a file is written again, one that is whole is not",
          "[cli]") {
  const Folders folders(kExport);
  const json records = folders.records();
  const fs::path written = folders.exported("step1/q");
  const auto before = quench::identity_of_folder(written);
  folders.records();
  CHECK(quench::identity_of_folder(written) == before);
  const bool cut = GENERATE(false, true);
  if (cut) {
    fs::resize_file(written / "config.json", 3);
  } else {
    fs::remove(written / "model.safetensors");
  }
  CHECK(states(folders.planned()) == std::set<std::string>{"to replace", "written"});
  folders.records();
  CHECK(folders.loss_of(written) == Folders::measured(records, "step1", "q"));
  CHECK(quench::damage_of(written).empty());
}

TEST_CASE("run: a folder of weights whose seal has a flipped bit is put aside and made again",
          "[cli]") {
  const Folders folders(kExport + kKeep);
  const json records = folders.records();
  const fs::path kept = folders.path() / "runs/m/averages/soup+at+step2";
  const fs::path written = folders.exported("step1/q");
  for (const fs::path& folder : {kept, written}) {
    std::string seal = quench::test::read_file(folder / quench::kFolderSeal);
    seal[seal.size() / 2] ^= 1;
    std::ofstream(folder / quench::kFolderSeal, std::ios::binary) << seal;
  }
  std::ofstream(written / "notes.txt") << "mine";
  CHECK(states(folders.planned()) == std::set<std::string>{"to replace", "written"});
  const Outcome got = folders.here.run({"run", "m.yaml"});
  CHECK(got.code == 0);
  for (const fs::path& folder : {kept, written}) {
    const std::string inside = fs::relative(folder, folders.path()).string();
    CHECK_THAT(got.err, Catch::Contains("warning: " + inside +
                                        "/quench.json: the checksum does not match; " + inside +
                                        " is made again, what was there is now " +
                                        folder.filename().string() + "~damaged\n"));
    CHECK(quench::damage_of(folder).empty());
  }
  CHECK(quench::test::read_file(written.string() + "~damaged/notes.txt") == "mine");
  CHECK(folders.loss_of(written) == Folders::measured(records, "step1", "q"));
  CHECK(folders.loss_of(kept) == Folders::measured(records, "step2", "", true));
  CHECK(states(folders.planned()) == std::set<std::string>{"written"});
}

TEST_CASE("run: labels that look alike, and dots, have folders of their own", "[cli]") {
  std::string manifest = "quantizers:\n";
  const std::vector<std::string> labels = {"a b", "a_b", "a/b", "..", ".", "a+b"};
  for (size_t i = 0; i < labels.size(); ++i) {
    manifest += "  - template_quantizer: {bits: " + std::to_string(i % 2 == 0 ? 4 : 8) +
                ", group_size: 16}\n    label: \"" + labels[i] + "\"\n    export: gptq\n";
  }
  const Folders folders(manifest);
  const json records = folders.records();
  const json plan = folders.planned();
  CHECK(states(plan) == std::set<std::string>{"written"});
  std::set<std::string> paths;
  for (const json& folder : plan) {
    paths.insert(folder.at("folder"));
  }
  CHECK(paths.size() == 2 * labels.size());
  CHECK(folders.loss_of(folders.exported("step1/a+b")) ==
        Folders::measured(records, "step1", "a b"));
  CHECK(folders.loss_of(folders.exported("step1/a_b")) ==
        Folders::measured(records, "step1", "a_b"));
  CHECK(folders.loss_of(folders.exported("step1/%2E.")) ==
        Folders::measured(records, "step1", ".."));
}

TEST_CASE("run: points of a sweep have exports of their own", "[cli]") {
  const Folders folders(kExport + "sweep:\n  seed: [0, 1]\n");
  folders.records();
  CHECK(states(folders.planned()) == std::set<std::string>{"written"});
  CHECK(fs::exists(folders.exported("step1/q")));
  CHECK(fs::exists(folders.exported("job~1/step1/q")));
}

TEST_CASE("run: an export has a card with what was measured, and nobody's own is touched",
          "[cli]") {
  const Folders folders(kExport, Page::kDrawn);
  const json records = folders.records();
  const fs::path card = folders.exported("step1/q/README.md");
  const std::string text = quench::test::read_file(card);
  CAPTURE(text);
  CHECK_THAT(text, Catch::StartsWith("---\nquantized_by: \"quench\"\n") &&
                       Catch::Contains("# step1, q\n") && Catch::Contains("## Manifest\n") &&
                       Catch::Contains("    export: gptq\n"));
  const double before = Folders::measured(records, "step1", "");
  const double after = Folders::measured(records, "step1", "q");
  const std::string line = fmt::format(
      "| `validation_loss block=16` | `nats/token` | {:.6g} | {:.6g} | ", before, after);
  const size_t at = text.find(line);
  REQUIRE(at != std::string::npos);
  const std::string error = text.substr(at + line.size(), text.find('\n', at) - at - line.size());
  CHECK(std::stod(error) == Approx(100 * (after / before - 1)).epsilon(0.01));
  // With numpy it is an interval, else a standard error.
  CHECK_THAT(error, Catch::Contains("(95 % interval ") || Catch::Contains(" ± "));
  CHECK(quench::damage_of(card.parent_path()).empty());

  // Another metric completes the card of step2 and leaves the changed one of step1.
  std::ofstream(card, std::ios::app) << "my own words\n";
  const fs::path other = folders.exported("step2/q/README.md");
  const std::string short_card = quench::test::read_file(other);
  const auto seal = quench::identity_of_folder(other.parent_path());
  const Workplace::Arguments more = {
      "--set", "metrics+=[{validation_loss: {corpus: v, block: 8}, label: eight}]"};
  folders.records(more);
  CHECK(quench::test::read_file(card) == text + "my own words\n");
  const std::string long_card = quench::test::read_file(other);
  CHECK_THAT(short_card, !Catch::Contains("| `eight` |"));
  CHECK_THAT(long_card, Catch::Contains("| `eight` |") && Catch::Contains("block=16` |"));
  CHECK(quench::identity_of_folder(other.parent_path()) == seal);  // the weights stayed

  // One that is gone, as after a kill, is written without measuring; else nothing is.
  fs::remove(other);
  const auto time = fs::last_write_time(card);
  folders.records(more);
  CHECK(quench::test::read_file(other) == long_card);
  CHECK(fs::last_write_time(card) == time);

  // A folder with quench's card makes way for other bits; one with a changed card does not.
  const Outcome got = folders.here.run(
      {"run", "m.yaml", "--json", "--set", "quantizers.0.template_quantizer.bits=8"});
  CHECK(got.code == 1);
  CHECK_THAT(got.out, Catch::Contains("it holds README.md, which quench did not put there"));
  CHECK(quench::test::read_file(card) == text + "my own words\n");
  CHECK(quench::test::read_file(other) != short_card);
  CHECK_THAT(quench::test::read_file(other), Catch::Contains("\"bits\":8"));
}

TEST_CASE("run: a folder that quench did not write is refused before any work, and stays",
          "[cli]") {
  const Folders folders(kExport + kKeep);
  const std::string name = GENERATE("exports/step1/q", "averages/soup+at+step2");
  const std::string mine = "runs/m/" + name + "/mine.txt";
  folders.here.folder().write(mine, "mine");
  for (const char* command : {"plan", "run"}) {
    const Outcome got = folders.here.run({command, "m.yaml"});
    CHECK(got.code == 2);
    CHECK_THAT(got.err, Catch::Contains("runs/m/" + name) &&
                            Catch::Contains("quench did not write it: it has no quench.json; "
                                            "move it away"));
  }
  CHECK(quench::test::read_file(folders.path() / mine) == "mine");
  CHECK_FALSE(fs::exists(folders.path() / "runs/m/manifest.yaml"));
}

TEST_CASE("run: an old export with a file of the user's stays, the rest is measured and written",
          "[cli]") {
  const Folders folders(kExport);
  folders.records();
  folders.here.folder().write("runs/m/exports/step1/q/notes.txt", "mine");
  const Outcome got = folders.here.run(
      {"run", "m.yaml", "--json", "--set", "quantizers.0.template_quantizer.bits=8"});
  CHECK(got.code == 1);
  const json told = quench::test::data_of(got.out);
  REQUIRE(told.at("unwritten").size() == 1);
  CHECK_THAT(told.at("unwritten").at(0).get<std::string>(),
             Catch::StartsWith("the export of step1, q is not written: ") &&
                 Catch::Contains("it holds notes.txt, which quench did not put there"));
  for (const json& record : told.at("records")) {
    CHECK(record.at("error").is_null());
  }
  CHECK(fs::exists(folders.exported("step1/q/notes.txt")));
  CHECK(folders.loss_of(folders.exported("step2/q")) ==
        Folders::measured(told.at("records"), "step2", "q"));
}

TEST_CASE("run: a kept average of other members takes the old one's place", "[cli]") {
  const Folders folders(kKeep);
  const fs::path kept = folders.path() / "runs/m/averages/soup+at+step2";
  const json first = folders.records();
  CHECK(folders.loss_of(kept) == Folders::measured(first, "step2", "", true));
  const auto before = quench::identity_of_folder(kept);
  folders.records();
  CHECK(quench::identity_of_folder(kept) == before);
  folders.change_weights("models/step1", 0x30);
  const json second = folders.records();
  CHECK(Folders::measured(first, "step2", "", true) !=
        Folders::measured(second, "step2", "", true));
  CHECK(folders.loss_of(kept) == Folders::measured(second, "step2", "", true));
  fs::remove_all(kept);
  folders.records();  // every value is known, the folder is owed
  CHECK(folders.loss_of(kept) == Folders::measured(second, "step2", "", true));
}

TEST_CASE("run: an average by a search is kept again when its folder is gone", "[cli]") {
  const Folders folders("averaging:\n  - greedy_soup: {}\n    keep: true\n");
  const fs::path kept = folders.path() / "runs/m/averages/greedy_soup+at+step2";
  const json records = folders.records();
  CHECK(folders.loss_of(kept) == Folders::measured(records, "step2", "", true));
  fs::remove_all(kept);
  folders.records();
  CHECK(folders.loss_of(kept) == Folders::measured(records, "step2", "", true));
}

TEST_CASE("verify: reads the weights that a run wrote", "[cli]") {
  const Folders folders(kExport + kKeep);
  folders.records();
  CHECK(folders.here.run({"verify", "runs/m", "--read-data"}).code == 0);
  std::fstream file(folders.exported("step1/q") / "model.safetensors",
                    std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-9, std::ios::end);
  file.put('\x55');
  file.close();
  const Outcome got = folders.here.run({"verify", "runs/m", "--read-data"});
  CHECK(got.code == 1);
  CHECK_THAT(got.out, Catch::Contains("step1/q: model.safetensors was changed"));
}

TEST_CASE("average, quantize: the folder says what it holds", "[cli]") {
  const Folders folders("");
  const Outcome average = folders.here.run(
      {"average", "models/step1", "models/step2", "--scheme", "soup", "-o", "soup"});
  INFO(average.err);
  CHECK(average.code == 0);
  const Outcome quantize =
      folders.here.run({"quantize", "models/step1", "--quantizer",
                        "template_quantizer:bits=4,group_size=16", "--format", "gptq", "-o", "q"});
  INFO(quantize.err);
  CHECK(quantize.code == 0);
  for (const char* name : {"soup", "q"}) {
    const fs::path folder = folders.path() / name;
    CHECK(quench::foreign_content(folder).empty());
    CHECK(quench::damage_of(folder).empty());
    folders.loss_of(folder);  // which reads it as any checkpoint
  }
  CHECK_THAT(quench::test::read_file(folders.path() / "q/README.md"),
             Catch::StartsWith("---\nquantized_by: \"quench\"\n") &&
                 Catch::Contains("| bits a weight | ") && Catch::Contains("\n## Command\n"));
}
