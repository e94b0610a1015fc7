// The reader in Python against the program, on a run with everything that does not count.
#include <catch2/catch.hpp>
#include <cstdio>
#include <fstream>
#include <limits>
#include <set>

#include "core/store/record_file.hpp"
#include "core/store/record_schema.hpp"
#include "core/store/run_folder.hpp"
#include "core/store/sealed_line.hpp"
#include "tests/core/store/sample_records.hpp"
#include "tests/support/fixtures.hpp"
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

bool has_python() {
  const bool there = fs::exists(kPython);
  if (!there) {
    std::fprintf(stderr, "SKIPPED: %s is not there\n", kPython);
  }
  return there;
}

void write_attempt(const fs::path& folder, const std::vector<std::vector<Record>>& groups) {
  quench::RecordFile file(folder, "0");
  for (const auto& group : groups) {
    file.append(group);
  }
  file.close();
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
                         {quantized, quantization_error(floating, quantized)},
                         {doubtful},
                         {quantization_error(floating, doubtful)},
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
      std::ofstream(entry.path(), std::ios::app)
          << std::string(30, '\0') << "\n"
          << quench::seal("record", "{\"schema\":1}") << "\n{\"record\":{\"half";
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

}  // namespace

TEST_CASE("quench_records.py: reads what the program reads", "[tools]") {
  if (!has_python()) {
    return;
  }
  const TemporaryDir place;
  write_run(place / "r");
  const auto python =
      run_program({kPython, (quench::test::source_dir() / "tools/quench_records.py").string(), "r"},
                  {{"PYTHONDONTWRITEBYTECODE", "1"}}, place.path());
  INFO(python.err);
  REQUIRE(python.code == 0);
  const auto program =
      run_program({(quench::test::binary_dir() / "bin/quench").string(), "results", "r", "--json"},
                  {}, place.path());
  REQUIRE(program.code == 0);
  // Python writes NaN and Infinity bare, the program as text.
  std::string text = python.out;
  for (const char* name : {"NaN", "Infinity"}) {
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 10)) {
      if (text[at - 1] != '"') {
        text.replace(at, std::string(name).size(), "\"" + std::string(name) + "\"");
      }
    }
  }
  const auto expected = texts(json::parse(program.out));
  CHECK(expected.size() == 11);
  CHECK(texts(json::parse(text)) == expected);
  CHECK_THAT(python.err, Catch::Contains("3 lines do not count"));
}

TEST_CASE("quench_records.py: refuses a newer schema", "[tools]") {
  if (!has_python()) {
    return;
  }
  const TemporaryDir place;
  json newer = to_json(sample_record(1));
  newer["schema"] = 3;
  place.write("r/records-0-0001-00000000.jsonl",
              quench::seal("record", quench::canonical_json(newer)) + "\n");
  const auto python =
      run_program({kPython, (quench::test::source_dir() / "tools/quench_records.py").string(), "r"},
                  {{"PYTHONDONTWRITEBYTECODE", "1"}}, place.path());
  CHECK(python.code == 1);
  CHECK_THAT(python.err, Catch::Contains("a record of schema 3"));
}

TEST_CASE("quench_records.py: has the schema of the program", "[tools]") {
  const std::string text =
      quench::test::read_file(quench::test::source_dir() / "tools/quench_records.py");
  CHECK_THAT(text, Catch::Contains("SCHEMA = " + std::to_string(quench::kRecordSchema) + "\n"));
  for (const quench::RecordField& field : quench::record_fields()) {
    CHECK_THAT(text, Catch::Contains("\"" + std::string(field.name) +
                                     "\": " + std::to_string(field.since)));
  }
}
