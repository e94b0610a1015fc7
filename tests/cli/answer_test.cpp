// What --json prints: one shape for every verb, with the warnings and the error in it.
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "cli/answer.hpp"
#include "core/version.hpp"
#include "tests/cli/program.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/fixtures.hpp"

namespace fs = std::filesystem;
using nlohmann::json;
using quench::error_parts;
using quench::test::answer_of;
using quench::test::Outcome;
using quench::test::Workplace;

namespace {

const std::string kManifest =
    "name: m\n"
    "checkpoints: {model: tiny}\n"
    "calibration: {lines: {corpus: v, sequences: 4, length: 16}}\n"
    "quantizers:\n"
    "  - template_quantizer: {bits: 3}\n"
    "metrics:\n"
    "  - validation_loss: {corpus: v, block: 16}\n"
    "corpora: {v: {text: {path: t.txt}}}\n";
const std::string kMetric = "validation_loss:text=t.txt,block=16";

// What has no --json: their output is what another program reads.
const std::set<std::string> kWithout = {"schema",   "completion", "import",
                                        "tokenize", "export",     "watch"};

std::vector<std::string> verbs(const Workplace& here) {
  const std::string script = here.run({"completion", "bash"}).out;
  const std::string mark = "-gt 1 ] || words='";
  const size_t begin = script.find(mark) + mark.size();
  std::istringstream words(script.substr(begin, script.find('\'', begin) - begin));
  return {std::istream_iterator<std::string>(words), {}};
}

// A layer for `quench layer`: a weight of 4 rows and 16 columns.
void write_layer(const fs::path& path) {
  std::string header = R"({"weight":{"dtype":"F32","shape":[4,16],"data_offsets":[0,256]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  std::vector<float> values(64);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(i * 37 % 64) / 64 - 0.5F;
  }
  const uint64_t size = header.size();
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(&size), sizeof size);
  out << header;
  out.write(reinterpret_cast<const char*>(values.data()), 256);
}

// A command of every verb that takes --json, in an order in which each has what it needs.
std::vector<Workplace::Arguments> one_of_each() {
  const std::string library =
      (quench::test::binary_dir() / "template/quantizers/template_quantizer.so").string();
  return {{"init", "tiny"},
          {"fetch", "m.yaml", "--dry-run"},
          {"plan", "m.yaml"},
          {"plan", "m.yaml", "--jobs"},
          {"plan", "m.yaml", "--shares", "2"},
          {"submit", "m.yaml", "--to", "htcondor", "--dry-run"},
          {"run", "m.yaml"},
          {"status", "runs/m"},
          {"why", "m.yaml", "float"},
          {"results", "runs/m"},
          {"report", "runs/m"},
          {"diff", "runs/m", "runs/m"},
          {"merge", "runs/m", "--into", "joined"},
          {"verify", "runs/m"},
          {"forget", "quantizer.id=template_quantizer", "--run", "runs/m", "--reason", "test"},
          {"adopt", "m.yaml", "--plugin", "template_quantizer", "--reason", "test"},
          {"eval", "tiny", "--metric", kMetric},
          {"gate", "tiny", "tiny2", "--budget", "1%", "--metric", kMetric},
          {"compare", "tiny", "template_quantizer:bits=3", "--metric", kMetric},
          {"quantize", "tiny", "--quantizer", "template_quantizer:bits=3", "--format",
           "template_format", "-o", "quantized"},
          {"average", "tiny", "tiny2", "--scheme", "soup", "-o", "averaged"},
          {"layer", "layer.safetensors", "--quantizer", "template_quantizer:bits=3"},
          {"logits", "tiny", "--ids", "1,2,3", "-o", "logits.safetensors"},
          {"plugins"},
          {"plugins", "list"},
          {"plugins", "show", "template_quantizer"},
          {"plugins", "why", "template_quantizer"},
          {"plugins", "check", library},
          {"plugins", "rescan"},
          {"plugins", "markdown"},
          {"doctor"},
          {"clean", "--dry-run"}};
}

}  // namespace

TEST_CASE("json: every verb answers in one shape, whether it succeeds or not", "[cli]") {
  const Workplace here;
  here.folder().write("m.yaml", kManifest);
  fs::copy(here.folder() / "tiny", here.folder() / "tiny2", fs::copy_options::recursive);
  write_layer(here.folder() / "layer.safetensors");
  std::set<std::string> seen;
  for (Workplace::Arguments arguments : one_of_each()) {
    CAPTURE(arguments);
    const bool own = arguments[0] == "plugins" && arguments.size() > 1;
    const std::string verb = own ? "plugins " + arguments[1] : arguments[0];
    seen.insert(arguments[0]);
    arguments.emplace_back("--json");
    const Outcome got = here.run(arguments);
    CAPTURE(got.out, got.err, got.code);
    const json document = answer_of(got.out);
    CHECK(document["quench"] == json{{"schema", 1}, {"verb", verb}, {"version", quench::kVersion}});
    CHECK(document["error"].is_null() == (got.code == 0));
    if (got.code == 0) {
      CHECK_FALSE(document["data"].is_null());
    } else {
      CHECK(document["error"]["exit_code"] == got.code);
    }
    // The command line is wrong.
    Workplace::Arguments wrong = arguments;
    wrong.emplace_back("--no-such-option");
    const Outcome refused = here.run(wrong);
    CHECK(refused.code == 2);
    const json refusal = answer_of(refused.out);
    CHECK(refusal["quench"]["verb"] == verb);
    CHECK(refusal["data"].is_null());
    CHECK(refusal["error"]["exit_code"] == 2);
    CHECK_THAT(refusal["error"]["what"], Catch::Contains("--no-such-option"));
  }
  const auto schema =
      json::parse(quench::test::read_file(quench::test::source_dir() / "docs/answer.schema.json"));
  for (const std::string& verb : verbs(here)) {
    CAPTURE(verb);
    CHECK(seen.contains(verb) != kWithout.contains(verb));  // test it here, and describe its data
    CHECK(schema.at("definitions").contains(verb + "_data") == seen.contains(verb));
  }
}

TEST_CASE("json: an answer holds the data of what failed, too", "[cli]") {
  const Workplace here;
  here.folder().write("m.yaml", kManifest);
  REQUIRE(here.run({"run", "m.yaml"}).code == 0);
  for (const auto& entry : fs::directory_iterator(here.folder() / "runs/m")) {
    if (quench::test::holds_records(entry.path())) {
      std::string content = quench::test::read_file(entry.path());
      content[content.size() - 10] ^= 1;
      here.folder().write(fs::relative(entry.path(), here.folder().path()).string(), content);
    }
  }
  const Outcome got = here.run({"verify", "runs/m", "--json"});
  CHECK(got.code == 1);
  const json document = answer_of(got.out);
  REQUIRE(document["data"]["faults"].size() == 1);
  CHECK(document["error"]["status"] == "failed");
  CHECK(document["error"]["what"] == "1 of 2 checked do not verify");
}

TEST_CASE("json: the problems of a manifest come with their places", "[cli]") {
  const Workplace here;
  std::string manifest = kManifest;
  manifest.replace(manifest.find("bits: 3"), 7, "bits: 90");
  manifest.replace(manifest.find("block: 16"), 9, "blocks: 16");
  here.folder().write("m.yaml", manifest);
  const Outcome got = here.run({"plan", "m.yaml", "--json"});
  CAPTURE(got.out, got.err);
  CHECK(got.code == 2);
  const json error = answer_of(got.out).at("error");
  CHECK(error["status"] == "invalid argument");
  const auto lines = std::count(got.err.begin(), got.err.end(), '\n');
  CHECK(error["problems"].size() == static_cast<size_t>(lines));
  CHECK(error["problems"].size() >= 2);
  CHECK_THAT(error["where"], Catch::StartsWith("m.yaml:5:"));
  CHECK(error["where"] == error["problems"][0]["where"]);
  // The lines of stderr, put together again.
  std::string text;
  for (const json& problem : error["problems"]) {
    text += problem["where"].get<std::string>() + ": " + problem["what"].get<std::string>() + "\n";
  }
  CHECK(text == got.err);
}

TEST_CASE("json: warnings of stderr are in the answer", "[cli]") {
  const Workplace here;
  here.folder().write("m.yaml", kManifest);
  REQUIRE(here.run({"run", "m.yaml"}).code == 0);
  const Outcome got = here.run({"results", "runs/m", "--json", "--where", "step=77"});
  CHECK(got.code == 0);
  const json document = answer_of(got.out);
  REQUIRE(document["warnings"].size() == 1);
  CHECK(document["warnings"][0].get<std::string>() + "\n" == got.err);
  CHECK(document["data"]["records"].empty());
}

TEST_CASE("json: a command that no verb was recognized in has an answer without one", "[cli]") {
  const Workplace here;
  const Outcome got = here.run({"frobnicate", "--json"});
  CHECK(got.code == 2);
  const json document = answer_of(got.out);
  CHECK(document["quench"]["verb"].is_null());
  CHECK(document["error"]["where"] == "quench");
  CHECK_THAT(document["error"]["what"], Catch::Contains("frobnicate"));
  const Outcome help = here.run({"plan", "--json", "--help"});
  CHECK(help.code == 0);
  CHECK(help.out == here.run({"plan", "--help"}).out);
}

TEST_CASE("json: Ctrl-C is in the answer, with its exit code", "[cli]") {
  const Workplace here;
  here.write_long_text();
  std::string manifest = kManifest;
  manifest.replace(manifest.find("t.txt"), 5, "long.txt");
  here.folder().write("m.yaml", manifest);
  quench::ChildProcess process =
      here.start({"run", "m.yaml", "--json", "--progress", "json", "--out", "r"});
  REQUIRE(here.wait_for_work());
  process.signal(SIGINT);
  const Outcome got = here.wait(process);
  CAPTURE(got.err);
  CHECK(got.code == 130);
  const json error = answer_of(got.out).at("error");
  CHECK(error["exit_code"] == 130);
  CHECK(error["status"] == "cancelled");
  CHECK_THAT(error["what"], Catch::StartsWith("stopped on request"));
}

TEST_CASE("json: the page's example is what verify prints", "[cli]") {
  const std::string page = quench::test::read_file(quench::test::source_dir() / "docs/json.md");
  const size_t begin = page.find("```json\n") + 8;
  const json example = answer_of(page.substr(begin, page.find("```", begin) - begin));
  json error = error_parts("1 of 4 checked do not verify");
  error["problems"] = json::array({error});
  error["status"] = "failed";
  error["exit_code"] = 1;
  CHECK(example["error"] == error);
  CHECK(example["quench"]["version"] == quench::kVersion);
}

TEST_CASE("error parts: place, got and wanted are found in the messages of all kinds", "[cli]") {
  const auto parts = [](const char* where, const char* what, const char* got, const char* wanted) {
    const auto or_null = [](const char* text) { return text == nullptr ? json() : json(text); };
    return json{{"where", or_null(where)},
                {"what", what},
                {"got", or_null(got)},
                {"wanted", or_null(wanted)}};
  };
  CHECK(error_parts("configs/a.yaml:14: quantizer rtn: bits: got 9, wanted 2..8") ==
        parts("configs/a.yaml:14", "quantizer rtn: bits: got 9, wanted 2..8", "9", "2..8"));
  CHECK(error_parts("rtn: group_size = 0, wanted -1 or at least 1") ==
        parts("rtn", "group_size = 0, wanted -1 or at least 1", "0", "-1 or at least 1"));
  CHECK(error_parts("selection at character 6: < compares numbers, got 'many'").at("where") ==
        "selection at character 6");
  CHECK(
      error_parts("--job: got 5, wanted one of the 3 points, 0..2") ==
      parts("--job", "got 5, wanted one of the 3 points, 0..2", "5", "one of the 3 points, 0..2"));
  CHECK(error_parts("m.yaml:3:9: metrics: `block`: got text, wanted a number; see the page") ==
        parts("m.yaml:3:9", "metrics: `block`: got text, wanted a number; see the page", "text",
              "a number"));
  CHECK(error_parts("stopped on request; 3 new records are in r; continue with: quench run") ==
        parts(nullptr, "stopped on request; 3 new records are in r; continue with: quench run",
              nullptr, nullptr));
  CHECK(error_parts("internal error: vector") ==
        parts(nullptr, "internal error: vector", nullptr, nullptr));
  CHECK(error_parts("no memory left") == parts(nullptr, "no memory left", nullptr, nullptr));
  CHECK(error_parts("r: forgotten, unwanted") ==
        parts("r", "forgotten, unwanted", nullptr, nullptr));
  CHECK(error_parts("") == parts(nullptr, "", nullptr, nullptr));
  CHECK(error_parts("x: got") == parts("x", "got", nullptr, nullptr));
}
