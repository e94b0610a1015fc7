#include "core/store/run_folder.hpp"
#include <catch2/catch.hpp>
#include <fstream>
#include <functional>
#include <set>

#include "core/base/process/child_process.hpp"
#include "core/store/record_file.hpp"
#include "core/store/record_schema.hpp"
#include "core/store/run_scan.hpp"
#include "core/store/sealed_line.hpp"
#include "tests/core/store/sample_records.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

namespace fs = std::filesystem;
using quench::read_run;
using quench::Record;
using quench::RecordFile;
using quench::RunRecords;
using quench::test::failed_record;
using quench::test::message_of;
using quench::test::sample_group;
using quench::test::sample_record;
using quench::test::TemporaryDir;
using quench::test::write_attempt;

namespace {

std::string line_of(const Record& record) {
  return quench::seal("record", quench::canonical_json(to_json(record))) + "\n";
}

std::vector<double> values_of(const RunRecords& run) {
  std::vector<double> out;
  for (const Record& record : run.records) {
    out.push_back(record.value.is_null() ? -1 : record.value.get<double>());
  }
  return out;
}

// What a run folder with this one file holds.
RunRecords read_text(const TemporaryDir& folder, const std::string& text) {
  folder.write("records-0-0001-00000000.jsonl", text);
  return read_run(folder.path());
}

using Values = std::vector<double>;

}  // namespace

TEST_CASE("run folder: one that is not there has no records", "[store]") {
  const TemporaryDir folder;
  CHECK(read_run(folder / "none").records.empty());
}

TEST_CASE("run folder: what was appended is read in order", "[store]") {
  const TemporaryDir folder;
  {
    RecordFile file(folder.path(), "0");
    file.append(sample_record(1, "", 1.5));
    file.append(sample_group(2, 3));
    file.close();
  }
  const RunRecords run = read_run(folder.path());
  CHECK(values_of(run) == Values{1.5, 1, 2, 3});
  CHECK(run.damaged.empty());
  CHECK(run.conflicts.empty());
  CHECK(to_json(run.records[0]) == to_json(sample_record(1, "", 1.5)));
}

TEST_CASE("run folder: a last line torn at any byte does not count and is no damage", "[store]") {
  const TemporaryDir folder;
  const std::string first = line_of(sample_record(1, "", 1));
  const std::string second = line_of(sample_record(2, "", 2));
  for (size_t kept = 0; kept <= second.size(); ++kept) {
    CAPTURE(kept);
    const RunRecords run = read_text(folder, first + second.substr(0, kept));
    // The newline alone may be missing: the checksum holds.
    const bool whole = kept + 1 >= second.size();
    REQUIRE(values_of(run) == (whole ? Values{1, 2} : Values{1}));
    REQUIRE(run.damaged.empty());
    REQUIRE(run.unfinished.size() == (whole || kept == 0 ? 0 : 1));
    if (!run.unfinished.empty()) {
      REQUIRE(run.unfinished[0].line == 2);
      REQUIRE(run.unfinished[0].offset == first.size());
      REQUIRE(run.unfinished[0].reason == "cut short, or still being written");
    }
  }
}

TEST_CASE("run folder: values that a writer has not finished are no damage", "[store]") {
  const TemporaryDir folder;
  const auto group = sample_group(2, 3);
  const std::string whole = line_of(sample_record(1, "", 1));
  const std::string begun = line_of(group[0]) + line_of(group[1]);
  const std::string half = line_of(group[2]).substr(0, 100);
  for (const std::string& end : {begun, begun + half}) {
    const RunRecords run = read_text(folder, whole + end);
    CHECK(values_of(run) == Values{1});
    CHECK(run.damaged.empty());
    CHECK(run.unfinished.size() == (end == begun ? 1 : 2));
  }
  // Behind what was not finished nothing is written.
  for (const std::string& after : {whole, half + "\n"}) {
    const RunRecords run = read_text(folder, begun + after);
    CHECK(run.damaged.size() == (after == whole ? 1 : 2));
    CHECK(run.unfinished.empty());
  }
}

TEST_CASE("run folder: reading while another process appends finds whole evaluations, no damage",
          "[store]") {
  constexpr int kEvaluations = 300;
  const TemporaryDir folder;
  std::vector<Record> group = sample_group(1, 2);
  group[0].items.assign(5000, 1.0 / 3);  // so that a write takes a while
  group[1].items = group[0].items;
  quench::ChildProcess writer = quench::ChildProcess::start_copy([&] {
    RecordFile file(folder.path(), "0");
    for (int i = 0; i < kEvaluations; ++i) {
      for (Record& record : group) {
        record.key = quench::sha256_hex(std::to_string(i));
        record.checkpoint["step"] = i;
        record.checkpoint["revision"] = "step" + std::to_string(i);
      }
      file.append(group);
    }
    return 0;
  });
  size_t rounds = 0;
  size_t before = 0;
  for (bool done = false; !done; ++rounds) {
    done = writer.has_ended();
    const RunRecords run = read_run(folder.path());
    REQUIRE(run.damaged.empty());
    REQUIRE(run.records.size() % 2 == 0);
    REQUIRE(run.records.size() >= before);
    before = run.records.size();
  }
  CHECK(writer.wait().code() == 0);
  CHECK(before == 2 * kEvaluations);
  CHECK(rounds > 10);
}

TEST_CASE("run folder: a flipped bit anywhere is never another value", "[store]") {
  const TemporaryDir folder;
  const std::string text = line_of(sample_record(1, "", 1)) + line_of(sample_record(2, "", 2)) +
                           line_of(sample_record(3, "", 3));
  const std::set<double> written = {1, 2, 3};
  for (size_t i = 0; i < text.size(); i += 3) {
    std::string flipped = text;
    flipped[i] = static_cast<char>(flipped[i] ^ (1 << (i % 8)));
    CAPTURE(i, flipped[i]);
    const RunRecords run = read_text(folder, flipped);
    const Values values = values_of(run);
    // The last newline is the one byte that carries nothing.
    REQUIRE((run.damaged.size() >= 1 || i + 1 == text.size()));
    REQUIRE(values.size() <= (i + 1 == text.size() ? 3 : 2));
    for (const double value : values) {
      REQUIRE(written.contains(value));
    }
  }
}

TEST_CASE("run folder: zeros, merged and foreign lines are reported with their place", "[store]") {
  const TemporaryDir folder;
  const std::string line = line_of(sample_record(1, "", 1));
  const std::string other = line_of(sample_record(2, "", 2));
  const std::string merged = line.substr(0, line.size() - 1) + other;
  const RunRecords run = read_text(folder, std::string(100, '\0') + "\n" + merged + "\n{}\n" +
                                               quench::seal("record", "{}") + "\n" +
                                               quench::seal("record", "[1") + "\n" + line);
  CHECK(values_of(run) == Values{1});
  std::vector<std::string> reasons;
  for (const auto& damaged : run.damaged) {
    reasons.push_back(std::to_string(damaged.line) + ": " + damaged.reason);
  }
  CHECK(reasons ==
        std::vector<std::string>{"1: a line of zeros", "2: the checksum does not match",
                                 "3: an empty line", "4: it does not begin as a sealed line",
                                 "5: not a record of schema 2", "6: not a record of schema 2"});
}

TEST_CASE("run folder: a line whose values have other types is reported", "[store]") {
  const TemporaryDir folder;
  nlohmann::json bad = to_json(sample_record(1));
  bad["value"] = "three";
  const RunRecords run =
      read_text(folder, quench::seal("record", quench::canonical_json(bad)) + "\n");
  CHECK(run.records.empty());
  REQUIRE(run.damaged.size() == 1);
  CHECK(run.damaged[0].reason == "value is \"three\"");
}

TEST_CASE("run folder: a sealed line whose objects are none, or have no names, is reported",
          "[store]") {
  const std::vector<std::function<void(Record&)>> changes = {[](Record& r) { r.quantizer = {1}; },
                                                             [](Record& r) {
                                                               r.quantizer = {{"id", "q"}};
                                                             },
                                                             [](Record& r) { r.checkpoint = "m"; },
                                                             [](Record& r) {
                                                               r.checkpoint = {{"model", 7}};
                                                             },
                                                             [](Record& r) {
                                                               r.averaging = {{"label", 7}};
                                                             },
                                                             [](Record& r) { r.draw = "0"; }};
  for (const auto& change : changes) {
    const TemporaryDir folder;
    Record record = sample_record(1, "q4");
    change(record);
    folder.write("records-0-0001-aaaaaaaa.jsonl",
                 quench::seal("record", quench::canonical_json(to_json(record))) + "\n");
    const quench::RunScan scan = quench::scan_run(folder.path());
    CHECK(scan.counted.empty());
    CHECK(scan.damaged.size() == 1);
  }
}

TEST_CASE("run folder: a line with a value that the parser of records refuses does not count",
          "[store]") {
  using nlohmann::json;
  const std::vector<json> values = {nullptr,
                                    true,
                                    1,
                                    -1,
                                    1.5,
                                    "x",
                                    "3.5",
                                    "\t",
                                    "\\",
                                    "",
                                    "NaN",
                                    "Infinity",
                                    json::array(),
                                    json{"x"},
                                    {1, 2},
                                    {1, "-Infinity"},
                                    {1, "\t"},
                                    {{1}},
                                    json::object()};
  const json whole = to_json(sample_record(1, "q4"));
  for (const auto& [field, before] : whole.items()) {
    for (const json& value : values) {
      CAPTURE(field, value);
      json changed = whole;
      changed[field] = value;
      const std::string text = quench::canonical_json(changed);
      const TemporaryDir folder;
      folder.write("records-0-0001-aaaaaaaa.jsonl", quench::seal("record", text) + "\n");
      if (quench::test::message_of([&] { quench::record_from_json(changed, "here"); }).empty()) {
        continue;
      }
      const quench::RunScan scan = quench::scan_run(folder.path());
      CHECK(scan.lines.empty());
      CHECK(scan.damaged.size() == 1);
    }
  }
}

TEST_CASE("run folder: an incomplete group does not count", "[store]") {
  const TemporaryDir folder;
  std::vector<Record> group = sample_group(5, 3);
  group.pop_back();
  const fs::path path = write_attempt(folder.path(), group);
  const RunRecords run = read_run(folder.path());
  CHECK(run.records.empty());
  REQUIRE(run.unfinished.size() == 1);
  CHECK(run.unfinished[0].file == path);
  CHECK_THAT(run.unfinished[0].reason, Catch::StartsWith("incomplete: 2 of 3 values of "));
  // The same evaluation, whole in a later attempt.
  write_attempt(folder.path(), sample_group(5, 3));
  CHECK(values_of(read_run(folder.path())) == Values{1, 2, 3});
}

TEST_CASE("run folder: halves of a group in two attempts make no whole", "[store]") {
  const TemporaryDir folder;
  const std::vector<Record> group = sample_group(5, 2);
  write_attempt(folder.path(), {group[0]});
  write_attempt(folder.path(), {group[1]});
  const RunRecords run = read_run(folder.path());
  CHECK(run.records.empty());
  CHECK(run.unfinished.size() == 1);
  CHECK(run.damaged.size() == 1);  // the second half has no beginning
}

TEST_CASE("run folder: the first success of a key counts, whatever its times", "[store]") {
  const TemporaryDir folder;
  Record again = sample_record(1, "", 1.5);
  again.seconds = 99;
  again.environment["threads"] = 8;
  write_attempt(folder.path(), {sample_record(1, "", 1.5)});
  write_attempt(folder.path(), {again});
  const RunRecords run = read_run(folder.path());
  REQUIRE(run.records.size() == 1);
  CHECK(run.records[0].seconds == 1.5);
  CHECK(run.conflicts.empty());
}

TEST_CASE("run folder: two values of one key are a conflict and both stay", "[store]") {
  const TemporaryDir folder;
  write_attempt(folder.path(), {sample_record(1, "", 1.5)});
  write_attempt(folder.path(), {sample_record(1, "", 1.75)});
  const RunRecords run = read_run(folder.path());
  CHECK(values_of(run) == Values{1.5, 1.75});
  CHECK(run.conflicts == std::vector<std::string>{sample_record(1).key});
}

TEST_CASE("run folder: what manifests call a corpus and a calibration is no conflict", "[store]") {
  const TemporaryDir folder;
  const auto called = [](const char* name) {
    Record out = sample_record(1, "", 1.5);
    out.details = {{"corpora", {{"corpus", {{"name", name}, {"fingerprint", "f"}}}}},
                   {"params", {{"corpus", name}, {"block", 64}}},
                   {"calibration", {{"name", name}, {"tokens", 100}}}};
    return out;
  };
  write_attempt(folder.path(), {called("one")});
  write_attempt(folder.path(), {called("two")});
  CHECK(read_run(folder.path()).conflicts.empty());
  Record other = called("two");
  other.details["corpora"]["corpus"]["fingerprint"] = "g";
  write_attempt(folder.path(), {other});
  CHECK(read_run(folder.path()).conflicts.size() == 1);
}

TEST_CASE("run folder: one key under two names is two cells", "[store]") {
  const TemporaryDir folder;
  Record fork = sample_record(1, "", 1.5);
  fork.checkpoint["branch"] = "decay";
  write_attempt(folder.path(), {sample_record(1, "", 1.5), fork});
  write_attempt(folder.path(), {fork});
  const RunRecords run = read_run(folder.path());
  CHECK(run.records.size() == 2);
  CHECK(run.conflicts.empty());
}

TEST_CASE("run folder: a failure counts until its cell succeeds", "[store]") {
  const TemporaryDir folder;
  write_attempt(folder.path(), {failed_record(1, "no memory"), sample_record(2, "", 2)});
  write_attempt(folder.path(), {failed_record(1, "no disk")});
  const RunRecords failed = read_run(folder.path());
  REQUIRE(failed.records.size() == 2);
  CHECK(failed.records[0].value == 2.0);
  CHECK(failed.records[1].error == "no disk");
  write_attempt(folder.path(), {sample_record(1, "", 1)});
  CHECK(values_of(read_run(folder.path())) == Values{2, 1});
}

TEST_CASE("run folder: a cell computed again under another key hides the older value", "[store]") {
  const TemporaryDir folder;
  const Record before = sample_record(1, "", 1, "corpus a");
  const Record after = sample_record(1, "", 2, "corpus b");
  write_attempt(folder.path(), {before, sample_record(2, "", 9)});
  write_attempt(folder.path(), {after});
  const RunRecords run = read_run(folder.path());
  CHECK(values_of(run) == Values{9, 2});
  REQUIRE(run.superseded.size() == 1);
  CHECK(run.superseded[0].key == before.key);
  // Back to what it was: the runner appends the value again instead of computing it.
  write_attempt(folder.path(), {before});
  CHECK(values_of(read_run(folder.path())) == Values{1, 9});
}

TEST_CASE("run folder: a tombstone hides what was there and nothing later", "[store]") {
  const TemporaryDir folder;
  write_attempt(folder.path(), {sample_record(1, "", 1), sample_record(2, "", 2)});
  quench::forget_in_run(folder.path(), {sample_record(1).key}, "power cut");
  CHECK(values_of(read_run(folder.path())) == Values{2});
  write_attempt(folder.path(), {sample_record(1, "", 1)});
  CHECK(values_of(read_run(folder.path())) == Values{2, 1});
  quench::forget_in_run(folder.path(), {std::string(64, '0')}, "not there");
  for (const auto& entry : fs::directory_iterator(folder.path())) {
    if (entry.path().filename().string().starts_with("tombstone-")) {
      std::ofstream(entry.path(), std::ios::app) << "x";
    }
  }
  const RunRecords run = read_run(folder.path());
  REQUIRE(run.damaged.size() == 1);
  CHECK(run.damaged[0].reason == "the tombstone does not verify");
}

TEST_CASE("run folder: records of a newer version are refused", "[store]") {
  const TemporaryDir folder;
  nlohmann::json newer = to_json(sample_record(1));
  newer["schema"] = 3;
  newer["colour"] = "red";
  folder.write("records-0-0001-00000000.jsonl",
               quench::seal("record", quench::canonical_json(newer)) + "\n");
  CHECK(message_of([&] { read_run(folder.path()); }, folder.path()) ==
        "records-0-0001-00000000.jsonl:1: a newer version wrote this record of schema 3; this one "
        "reads up to 2");
}

TEST_CASE("run folder: attempts are ordered by their number, not by time or chance", "[store]") {
  const TemporaryDir folder;
  folder.write("records-0-0010-00000000.jsonl", line_of(sample_record(10, "", 10)));
  folder.write("records-0-0002-ffffffff.jsonl", line_of(sample_record(2, "", 2)));
  folder.write("records-3-0001-88888888.jsonl", line_of(sample_record(1, "", 1)));
  CHECK(values_of(read_run(folder.path())) == Values{1, 2, 10});
  const RecordFile next(folder.path(), "0");
  CHECK(next.attempt().starts_with("0011-"));
}
