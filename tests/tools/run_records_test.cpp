// The reader in Python against the program, on a run with everything that does not count.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <limits>
#include <set>

#include "core/store/heartbeat.hpp"
#include "core/store/record_file.hpp"
#include "core/store/record_schema.hpp"
#include "core/store/run_folder.hpp"
#include "core/store/sealed_line.hpp"
#include "tests/cli/program.hpp"
#include "tests/core/store/sample_records.hpp"
#include "tests/support/answer.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/subprocess.hpp"
#include "tests/support/temporary.hpp"

namespace fs = std::filesystem;
using nlohmann::json;
using quench::Record;
using quench::test::run_program;
using quench::test::sample_record;
using quench::test::TemporaryDir;

namespace {

constexpr const char* kPython = "/usr/bin/python3";

void need_python() {
  quench::test::skip_unless(fs::exists(kPython), std::string(kPython) + " is not there");
}

void write_attempt(const fs::path& folder, const std::vector<std::vector<Record>>& groups) {
  quench::RecordFile file(folder, "0");
  for (const auto& group : groups) {
    file.append(group);
  }
  file.close();
}

// Fields and what is not of their types.
std::vector<std::pair<std::string, json>> odd_values() {
  std::vector<std::pair<std::string, json>> out = {
      {"items", {"x"}}, {"items", {{1}}}, {"index", -1}, {"job", 1.5}};
  for (const char* field : {"value", "stderr", "seconds"}) {
    for (const json& value : {json("x"), json("3.5"), json("\t"), json(true), json{1}}) {
      out.emplace_back(field, value);
    }
  }
  for (const char* field : {"metric", "unit", "label", "details", "parts", "checkpoint"}) {
    out.emplace_back(field, 1);
  }
  out.emplace_back("direction", true);
  out.emplace_back("checkpoint", json{{"model", 1}});
  out.emplace_back("checkpoint", json{{"model", "m"}, {"branch", 1}});
  out.emplace_back("quantizer", json{{"id", "q"}});
  out.emplace_back("averaging", json{{"label", 1}});
  return out;
}

// Damaged, torn, incomplete, failed, done again, superseded, forgotten, derived, conflicting.
void write_run(const fs::path& folder) {
  const Record floating = sample_record(200, "", 2);
  const Record quantized = sample_record(200, "q4", 3);
  const Record doubtful = sample_record(200, "q3", 4);
  Record odd = sample_record(300, "", -0.0);
  odd.value = std::numeric_limits<double>::quiet_NaN();
  odd.items = {std::numeric_limits<double>::infinity(), 5e-324};
  odd.details["text"] = "α \"quoted\"\n";
  const auto incomplete = quench::test::sample_group(500, 3);
  write_attempt(folder, {{floating},
                         {quantized},
                         {doubtful},
                         {quench::test::failed_record(700, "once")},
                         {quench::test::failed_record(800, "always")},
                         {odd},
                         {incomplete[0], incomplete[1]},
                         {sample_record(900, "", 1, "before")}});
  Record fork = floating;
  fork.checkpoint["branch"] = "decay";
  write_attempt(folder, {{sample_record(700)},
                         {quench::test::failed_record(800, "again")},
                         quench::test::sample_group(510, 2),
                         {sample_record(900, "", 2, "after")},
                         {fork},
                         {sample_record(300, "", 7)}});
  quench::forget_in_run(folder, {doubtful.key}, "doubtful");
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with("records-0-0002")) {
      std::ofstream file(entry.path(), std::ios::app);
      file << std::string(30, '\0') << "\n" << quench::seal("record", "{\"schema\":1}") << "\n";
      for (const auto& [field, value] : odd_values()) {
        json record = to_json(sample_record(950, "", 1, field));
        record[field] = value;
        file << quench::seal("record", quench::canonical_json(record)) << "\n";
      }
      for (const char* number :
           {"NaN", "1e999", "18446744073709551616"}) {  // no JSON, or too large
        std::string text = quench::canonical_json(to_json(sample_record(950, "", 1, number)));
        const std::string field =
            number[0] == '1' && number[1] == '8' ? "\"job\":" : "\"seconds\":";
        const size_t from = text.find(field) + field.size();
        text.replace(from, text.find_first_of(",}", from) - from, number);
        file << quench::seal("record", text) << "\n";
      }
      file << "{\"record\":{\"half";
    }
  }
}

std::multiset<std::string> texts(const json& document) {
  std::multiset<std::string> out;
  for (const json& record : document.at("records")) {
    out.insert(record.dump());
  }
  return out;
}

// The document that the reader in Python prints of a run; NaN and Infinity as text, which Python
// writes bare.
json read_by_python(const std::string& run, const fs::path& folder, std::string* err = nullptr) {
  const auto python = run_program(
      {kPython, (quench::test::source_dir() / "python/quench/run_records.py").string(), run},
      {{"PYTHONDONTWRITEBYTECODE", "1"}}, folder);
  INFO(python.err);
  REQUIRE(python.code == 0);
  if (err != nullptr) {
    *err = python.err;
  }
  std::string text = python.out;
  for (const char* name : {"NaN", "Infinity"}) {
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 10)) {
      if (text[at - 1] != '"') {
        text.replace(at, std::string(name).size(), "\"" + std::string(name) + "\"");
      }
    }
  }
  return json::parse(text);
}

}  // namespace

TEST_CASE("run_records.py: reads what the program reads", "[tools]") {
  need_python();
  const TemporaryDir place;
  write_run(place / "r");
  std::string warning;
  const json python = read_by_python("r", place.path(), &warning);
  const auto program =
      run_program({(quench::test::binary_dir() / "bin/quench").string(), "results", "r", "--json"},
                  {}, place.path());
  REQUIRE(program.code == 0);
  const auto expected = texts(quench::test::data_of(program.out));
  CHECK(expected.size() == 11);
  CHECK(texts(python) == expected);
  CHECK_THAT(warning,
             Catch::Contains(fmt::format("{} lines do not count", 6 + odd_values().size())));
}

TEST_CASE("run_records.py: derives from a run's records what the program does", "[tools]") {
  need_python();
  const quench::test::Workplace here;
  here.folder().write("m.yaml",
                      "name: m\n"
                      "checkpoints: {model: tiny}\n"
                      "quantizers:\n"
                      "  - template_quantizer: {bits: [3, 4]}\n"
                      "metrics:\n"
                      "  - validation_loss: {corpus: v, block: 16}\n"
                      "corpora: {v: {text: {path: t.txt}}}\n");
  const auto run = here.run({"run", "m.yaml", "--json"});
  INFO(run.err);
  REQUIRE(run.code == 0);
  const auto program = here.run({"results", "runs/m", "--json"});
  REQUIRE(program.code == 0);
  const auto expected = texts(quench::test::data_of(program.out));
  CHECK(expected.size() == 5);
  CHECK(texts(quench::test::data_of(run.out)) == expected);
  CHECK(texts(read_by_python("runs/m", here.folder().path())) == expected);
  size_t errors = 0;
  for (const std::string& text : expected) {
    const json record = json::parse(text);
    if (record.at("metric") == "quantization_error") {
      ++errors;
      CHECK(record.at("details").at("items") > 1);
      CHECK(record.at("stderr").is_number());
    }
  }
  CHECK(errors == 2);
  // The files hold what was measured and nothing else; without it there is no error either.
  CHECK(quench::read_run(here.folder() / "runs/m").records.size() == 3);
  REQUIRE(here.run({"forget", "metric=validation_loss and quantizer.params.bits=3", "--run",
                    "runs/m", "--reason", "doubtful"})
              .code == 0);
  CHECK(read_by_python("runs/m", here.folder().path()).at("records").size() == 3);
  const auto left = here.run({"results", "runs/m", "--json"});
  CHECK(texts(read_by_python("runs/m", here.folder().path())) ==
        texts(quench::test::data_of(left.out)));
  CHECK_THAT(here.run({"verify", "runs/m"}).out, Catch::Contains("2 checked, 0 do not verify"));
}

TEST_CASE("run_records.py: pairs a corpus that two manifests name differently as the program does",
          "[tools]") {
  need_python();
  const TemporaryDir place;
  const auto named = [](const std::string& quantizer, double value, const std::string& name,
                        const std::string& content) {
    Record out = sample_record(200, quantizer, value, content);
    out.parts["weights"] = "w1";
    out.parts["metric"] = {{"id", "validation_loss"}, {"corpora", {{"corpus", content}}}};
    out.checkpoint["model"] = name;
    out.label = name;
    out.details["corpora"] = {{"corpus", {{"name", name}, {"fingerprint", content}}}};
    return out;
  };
  write_attempt(place / "r", {{named("", 2, "held_out", "c1")},
                              {named("q4", 3, "text", "c1")},
                              {named("q3", 4, "held_out", "c2")}});
  const auto program =
      run_program({(quench::test::binary_dir() / "bin/quench").string(), "results", "r", "--json"},
                  {}, place.path());
  REQUIRE(program.code == 0);
  json data = quench::test::data_of(program.out);
  for (json& record : data.at("records")) {
    CHECK(record.erase("text") == 1);  // what `results` says beside a record where texts differ
  }
  const auto expected = texts(data);
  CHECK(expected.size() == 4);  // the error of q4
  CHECK(texts(read_by_python("r", place.path())) == expected);
}

TEST_CASE("run_status.py: a run is at work as long as its heartbeat says so", "[tools]") {
  need_python();
  const TemporaryDir folder;
  const auto runs = [&] {
    const auto python = run_program(
        {kPython, "-c", "from quench.run_status import Watcher; print(Watcher().runs('r'))"},
        {{"PYTHONDONTWRITEBYTECODE", "1"},
         {"PYTHONPATH", (quench::test::source_dir() / "python").string()}},
        folder.path());
    return python.out + python.err;
  };
  fs::create_directory(folder / "r");
  CHECK(runs() == "False\n");
  {
    quench::Heartbeat heart(folder / "r", "0", "0001-00000000", 8);
    CHECK(runs() == "True\n");
  }
  CHECK(runs() == "False\n");
  {
    quench::Heartbeat heart(folder / "r", "0", "0002-00000000", 8);
    heart.finish(8, 0);
    CHECK(runs() == "False\n");
  }
}

TEST_CASE("run_records.py: refuses a newer schema", "[tools]") {
  need_python();
  const TemporaryDir place;
  json newer = to_json(sample_record(1));
  newer["schema"] = 3;
  place.write("r/records-0-0001-00000000.jsonl",
              quench::seal("record", quench::canonical_json(newer)) + "\n");
  const auto python = run_program(
      {kPython, (quench::test::source_dir() / "python/quench/run_records.py").string(), "r"},
      {{"PYTHONDONTWRITEBYTECODE", "1"}}, place.path());
  CHECK(python.code == 1);
  CHECK_THAT(
      python.err,
      Catch::Contains("r/records-0-0001-00000000.jsonl:1: a newer version wrote this record of "
                      "schema 3; this one reads up to 2"));
}

TEST_CASE("run_records.py: has the schema of the program", "[tools]") {
  const std::string text =
      quench::test::read_file(quench::test::source_dir() / "python/quench/run_records.py");
  CHECK_THAT(text, Catch::Contains("SCHEMA = " + std::to_string(quench::kRecordSchema) + "\n"));
  for (const quench::RecordField& field : quench::record_fields()) {
    CHECK_THAT(text, Catch::Contains("\"" + std::string(field.name) + "\""));
  }
}

TEST_CASE("run_records.py: a run of an earlier version's keys is read as the program reads it",
          "[tools]") {
  need_python();
  const TemporaryDir place;
  fs::copy(quench::test::source_dir() / "tests/data/earlier_store/run", place / "r",
           fs::copy_options::recursive);
  const auto program =
      run_program({(quench::test::binary_dir() / "bin/quench").string(), "results", "r", "--json"},
                  {}, place.path());
  REQUIRE(program.code == 0);
  const auto expected = texts(quench::test::data_of(program.out));
  CHECK(expected.size() == 15);  // 9 losses, 6 errors that follow from them
  CHECK(texts(read_by_python("r", place.path())) == expected);
}
