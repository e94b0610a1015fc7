#include "core/store/selection.hpp"

#include <catch2/catch.hpp>

#include "core/store/derived.hpp"
#include "core/store/record_columns.hpp"
#include "core/store/record_file.hpp"
#include "tests/core/store/sample_records.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

using quench::Record;
using quench::RunScan;
using quench::Selection;
using quench::test::message_of;
using quench::test::sample_record;
using quench::test::TemporaryDir;

namespace {

RunScan scan_of(const std::vector<Record>& records) {
  const TemporaryDir folder;
  quench::RecordFile file(folder.path(), "0");
  file.append(records);
  file.close();
  return quench::scan_run(folder.path());
}

// The steps of the records that are selected.
std::vector<std::string> selected(const std::string& expression) {
  static const RunScan scan = [] {
    Record quoted = sample_record(600, "it's \"4\"", -1e-3);
    quoted.quantizer["params"]["list"] = {1, 2};
    Record failed = quench::test::failed_record(800, "no memory, none");
    return scan_of({sample_record(200), sample_record(400, "q4", 2), quoted, failed});
  }();
  const Selection selection(expression);
  std::vector<std::string> out;
  for (const size_t i : scan.counted) {
    if (selection.matches(scan.lines[i])) {
      out.emplace_back(quench::FieldPath("step").of(scan.lines[i]));
    }
  }
  return out;
}

using Steps = std::vector<std::string>;

}  // namespace

TEST_CASE("selection: comparisons", "[store]") {
  CHECK(selected("") == Steps{"200", "400", "600", "800"});
  CHECK(selected("checkpoint.step>=400 and checkpoint.step<800") == Steps{"400", "600"});
  CHECK(selected("step=4e2") == Steps{"400"});
  CHECK(selected("step!=400") == Steps{"200", "600", "800"});
  CHECK(selected("value<0") == Steps{"600"});
  CHECK(selected("quantizer=null") == Steps{"200", "800"});
  CHECK(selected("quantizer!=null") == Steps{"400", "600"});
  CHECK(selected("quantizer=float") == Steps{"200", "800"});
  CHECK(selected("quantizer!=float") == Steps{"400", "600"});
  CHECK(selected("quantizer.id=q and quantizer.params.bits=4") == Steps{"400", "600"});
  CHECK(selected("quantizer.params.nothing=null and quantizer.id=q") == Steps{"400", "600"});
  CHECK(selected("error!=null") == Steps{"800"});
  CHECK(selected("error~memory") == Steps{"800"});
  CHECK(selected("error~'memory, n'") == Steps{"800"});
  CHECK(selected("metric=validation_loss and unit='nats/token'").size() == 4);
}

TEST_CASE("selection: columns of tables compare by their names", "[store]") {
  CHECK(selected("quantizer=q") == Steps{"400", "600"});
  CHECK(selected("quantizer == q") == Steps{"400", "600"});
  CHECK(selected("quantizer=q4") == Steps{"400"});
  CHECK(selected("quantizer!=q4") == Steps{"200", "600", "800"});
  CHECK(selected("quantizer~4") == Steps{"400", "600"});
  CHECK(selected("checkpoint=step600") == Steps{"600"});
  CHECK(selected("averaging=null and bits=4") == Steps{"400", "600"});
  CHECK(selected("step==4e2") == Steps{"400"});
}

TEST_CASE("selection: words bind as they are read", "[store]") {
  CHECK(selected("step=200 or step=400 and value=2") == Steps{"200", "400"});
  CHECK(selected("(step=200 or step=400) and value=2") == Steps{"400"});
  CHECK(selected("not step=200 and not (step=400 or step=800)") == Steps{"600"});
  CHECK(selected("  not  not step = 200 ") == Steps{"200"});
}

TEST_CASE("selection: texts with quotes and escapes", "[store]") {
  CHECK(selected(R"(quantizer.label~"it's")") == Steps{"600"});
  CHECK(selected(R"(quantizer.label~'"4"')") == Steps{"600"});
}

TEST_CASE("selection: a fault is told with its place", "[store]") {
  const auto message = [](const std::string& text) {
    return message_of([&] { Selection selection(text); });
  };
  CHECK(message("stepp=3") ==
        "selection at character 1: a record has no field 'stepp'; did you mean step?");
  CHECK(message("step=3 & value=2") ==
        "selection at character 8: wanted `and`, `or` or the end, got '&'");
  CHECK(message("step=3 and") == "selection at character 11: wanted a field, got the end");
  CHECK(
      message("bits=3;step=300") ==
      "selection at character 7: wanted `and`, `or` or the end, got ';step=300'; a value that has "
      "this stands "
      "in quotes");
  CHECK(message("step") == "selection at character 5: wanted one of = != < <= > >= ~, got the end");
  CHECK(message("step= ") == "selection at character 7: wanted a value, got the end");
  CHECK(message("step<many") == "selection at character 6: < compares numbers, got 'many'");
  CHECK(message("(step=3") == "selection at character 8: wanted ')', got the end");
  CHECK(message("label='x") == "selection at character 7: a quote is not closed");
  CHECK(message("parts=q") ==
        "selection at character 1: parts has members; compare one of them, as in parts.id");
  CHECK(message("quantizer>3") ==
        "selection at character 1: quantizer has members; compare one of them, as in quantizer.id");
  CHECK_THAT(message("weather=fine"),
             Catch::StartsWith("selection at character 1: a record has no field 'weather'; it has "
                               "averaging, averaging_label, bits, ") &&
                 Catch::EndsWith(", value"));
  CHECK_THAT(message(std::string(5000, '(')), Catch::EndsWith("nested deeper than 100 levels"));
}

TEST_CASE("selection: a member that no record has is told, with near ones", "[store]") {
  Record swept = sample_record(600, "q4");
  swept.environment["sweep"] = {{"train.lr", {{"peak", 0.003}}}, {"seed", 1}};
  const RunScan scan = scan_of({sample_record(200), swept});
  const auto message = [&](const std::string& text) {
    return message_of([&] { Selection(text).check_fields(scan); });
  };
  CHECK(message("step=3 and checkpoint.stepp>=600") ==
        "selection at character 12: no record here has the field 'checkpoint.stepp'; did you mean "
        "checkpoint.step?");
  CHECK(message("not quantizer.params.bitz=3") ==
        "selection at character 5: no record here has the field 'quantizer.params.bitz'; did you "
        "mean "
        "quantizer.params.bits?");
  CHECK(
      message("sweep.train.lr.peek=3") ==
      "selection at character 1: no record here has the field 'sweep.train.lr.peek'; did you mean "
      "sweep.train.lr.peak?");
  CHECK(message("value.mean=3") ==
        "selection at character 1: no record here has the field 'value.mean'");
  for (const char* sound :
       {"", "step=3", "checkpoint.step=3", "sweep.train.lr.peak=0.003", "averaging.label=x",
        "averaging.params.window=3", "quantizer.bits_per_weight>3", "environment.threads=2"}) {
    CHECK(message(sound).empty());
  }
}

TEST_CASE("selection: what a point of a sweep sets is a field by its path", "[store]") {
  Record low = sample_record(200);
  low.environment["sweep"] = {{"train.lr", {{"peak", 0.001}}}};
  Record high = sample_record(400);
  high.environment["sweep"] = {{"train.lr", {{"peak", 0.003}}}};
  const RunScan scan = scan_of({low, high});
  const Selection selection("sweep.train.lr.peak>0.002");
  CHECK_FALSE(selection.matches(scan.lines[0]));
  CHECK(selection.matches(scan.lines[1]));
}

TEST_CASE("record columns: each value that a sweep sets has a column of its type", "[store]") {
  std::vector<Record> records;
  for (const nlohmann::json& scheme : nlohmann::json{"cosine", 2}) {
    records.push_back(sample_record(200));
    records.back().environment["sweep"] = {
        {"train.lr", {{"peak", 0.5 + static_cast<double>(records.size())}, {"kind", scheme}}},
        {"seed", records.size()}};
    records.back().parts["sweep"] = records.size();
    records.back().key = quench::sha256_hex(quench::canonical_json(records.back().parts));
  }
  const RunScan scan = scan_of(records);
  const auto columns = quench::columns_of(scan, scan.counted);
  REQUIRE(columns.size() == quench::record_columns().size() + 3);
  CHECK(columns[1].name == "sweep.seed");
  CHECK(columns[1].type == quench::ColumnType::kInteger);
  CHECK(columns[2].name == "sweep.train.lr.kind");
  CHECK(columns[2].type == quench::ColumnType::kText);
  CHECK(columns[3].name == "sweep.train.lr.peak");
  CHECK(columns[3].type == quench::ColumnType::kReal);
  quench::ColumnReader reader(columns);
  CHECK(reader.read(scan.lines[0])[3] == "1.5");
  const auto& row = reader.read(scan.lines[1]);
  for (size_t c = 0; c < row.size(); ++c) {
    CAPTURE(columns[c].name);
    CHECK(row[c] == quench::FieldPath(columns[c].path).of(scan.lines[1]));
  }
}

TEST_CASE("record columns: rows come in an order that no history changes", "[store]") {
  std::vector<Record> records = {sample_record(1000, "q4"), sample_record(1000),
                                 sample_record(200, "q4"), sample_record(200)};
  records[0].draw = 1u;
  const auto order = [](const std::vector<Record>& given) {
    RunScan scan = scan_of(given);
    add_derived(scan);
    std::vector<size_t> lines = scan.counted;
    sort_records(scan, lines);
    std::string out;
    for (const size_t i : lines) {
      out += std::string(scan.lines[i].body) + "\n";
    }
    return out;
  };
  const std::string expected = order({records[3], records[2], records[1], records[0]});
  std::sort(records.begin(), records.end(),
            [](const Record& a, const Record& b) { return a.key < b.key; });
  CHECK(order(records) == expected);
}

TEST_CASE("record columns: every column is a field of a record", "[store]") {
  const RunScan scan = scan_of({sample_record(200, "q4", 2)});
  quench::ColumnReader reader(quench::record_columns());
  const auto& row = reader.read(scan.lines[0]);
  const auto& columns = quench::record_columns();
  REQUIRE(row.size() == columns.size());
  for (size_t c = 0; c < row.size(); ++c) {
    CAPTURE(columns[c].name);
    CHECK(row[c] == quench::FieldPath(columns[c].path).of(scan.lines[0]));
  }
}
