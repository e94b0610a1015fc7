#include "core/store/derived.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>

#include "core/base/json/canonical_json.hpp"
#include "core/store/record_file.hpp"
#include "core/store/run_folder.hpp"
#include "core/store/sealed_line.hpp"
#include "tests/core/store/sample_records.hpp"
#include "tests/support/temporary.hpp"

namespace fs = std::filesystem;
using quench::Record;
using quench::RunScan;
using quench::with_derived;
using quench::test::sample_record;
using quench::test::TemporaryDir;
using quench::test::write_attempt;

namespace {

// A value of the float model, or of the quantizer with this label.
Record loss(const std::string& quantizer, double value, std::vector<double> items = {}) {
  Record out = sample_record(200, quantizer, value);
  out.items = std::move(items);
  return out;
}

Record accuracy(const std::string& quantizer, double value, std::vector<double> items = {}) {
  Record out = loss(quantizer, value, std::move(items));
  out.metric = "questions";
  out.unit = "accuracy";
  out.direction = 1;
  return out;
}

Record only_derived(const std::vector<Record>& records) {
  std::vector<Record> all = with_derived(records);
  REQUIRE(all.size() == records.size() + 1);
  return all.back();
}

// The derived values of a run's folder, as `metric label value`.
std::vector<std::string> derived_of(const fs::path& folder) {
  RunScan scan = quench::scan_run(folder);
  const size_t stored = scan.counted.size();
  quench::add_derived(scan);
  std::vector<std::string> out;
  for (size_t i = stored; i < scan.counted.size(); ++i) {
    const quench::RecordLine& line = scan.lines[scan.counted[i]];
    out.push_back(std::string(line.field("metric")) + " " + std::string(line.field("value")));
  }
  return out;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("derived: ΔQL and its paired standard error by hand", "[store]") {
  const Record quantized = loss("q4", 3.5, {1.5, 2.25, 3.5, 6.75});
  const Record error = only_derived({loss("", 3.0, {1, 2, 3, 6}), quantized});
  CHECK(error.metric == "quantization_error");
  CHECK(error.quantizer == quantized.quantizer);
  CHECK(error.label == quantized.label);
  CHECK(error.key.empty());
  CHECK(error.parts.is_null());
  CHECK(error.unit == "1");
  CHECK(error.direction == -1);
  CHECK(error.value.get<double>() == Approx(1.0 / 6).epsilon(1e-14));
  CHECK(error.details.at("delta") == 0.5);
  CHECK(error.details.at("float") == 3.0);
  CHECK(error.details.at("quantized") == 3.5);
  CHECK(error.details.at("metric") == "validation_loss");
  // Differences 1/2, 1/4, 1/2, 3/4: mean 1/2, squares 0 + 1/16 + 0 + 1/16 = 1/8, variance of the
  // mean 1/8 / 3 / 4 = 1/96.
  CHECK(error.details.at("items") == 4);
  CHECK(error.details.at("delta_stderr").get<double>() == Approx(std::sqrt(1.0 / 96)));
  CHECK(error.standard_error.get<double>() == Approx(std::sqrt(1.0 / 96) / 3));
  CHECK(error.seconds == 0);
  CHECK(error.items.empty());
}

TEST_CASE("derived: a shift of all blocks has no spread", "[store]") {
  const Record error = only_derived({loss("", 2, {1, 3}), loss("q4", 2.5, {1.5, 3.5})});
  CHECK(error.value == 0.25);
  CHECK(error.standard_error == 0.0);
}

TEST_CASE("derived: without paired items there is no standard error", "[store]") {
  for (const auto& [of_float, of_quantized] :
       std::vector<std::pair<std::vector<double>, std::vector<double>>>{
           {{}, {}}, {{2}, {3}}, {{1, 3}, {3}}}) {
    const Record error = only_derived({loss("", 2, of_float), loss("q4", 3, of_quantized)});
    CHECK(error.standard_error.is_null());
    CHECK(error.value == 0.5);
  }
}

TEST_CASE("derived: nothing of a failed value", "[store]") {
  Record failed = loss("q4", 0);
  failed.value = nullptr;
  failed.error = "no memory";
  CHECK(with_derived({loss("", 2), failed}).size() == 2);
  failed.quantizer = nullptr;
  CHECK(with_derived({failed, loss("q4", 2)}).size() == 2);
}

TEST_CASE("derived: of a float loss of 0 is an error, not an infinity", "[store]") {
  const Record error = only_derived({loss("", 0), loss("q4", 2)});
  CHECK(error.value.is_null());
  CHECK(error.error == "quantization_error: the float loss is 0, so there is no ratio to it");
}

TEST_CASE("derived: of a value that is no finite number is none either", "[store]") {
  const Record error = only_derived(
      {loss("", 2, {1, 3}), loss("q4", std::numeric_limits<double>::quiet_NaN(), {1, 3})});
  CHECK(std::isnan(error.value.get<double>()));
  CHECK(error.details.at("quantized") == "NaN");
}

TEST_CASE("derived: the relative accuracy drop is what is lost of what the float model got wrong",
          "[store]") {
  const Record drop =
      only_derived({accuracy("", 0.75, {1, 1, 1, 0}), accuracy("q4", 0.5, {1, 0, 1, 0})});
  CHECK(drop.metric == "relative_accuracy_drop");
  CHECK(quench::is_derived(drop.metric));
  CHECK(drop.direction == -1);
  CHECK(drop.value.get<double>() == Approx(1.0));  // 0.25 of 0.25
  CHECK(drop.details.at("delta") == -0.25);
  // Differences 0, -1, 0, 0: mean -1/4, squares 3/4, variance of the mean 3/4 / 3 / 4 = 1/16.
  CHECK(drop.details.at("delta_stderr").get<double>() == Approx(0.25));
  CHECK(drop.standard_error.get<double>() == Approx(1.0));
  CHECK(only_derived({accuracy("", 1), accuracy("q4", 0.5)}).error ==
        "relative_accuracy_drop: the float model makes no error, so there is no ratio to its "
        "errors");
}

TEST_CASE(
    "derived: accuracies of a part of the questions give a drop where both are of the same part",
    "[store]") {
  const auto part = [](const std::string& quantizer, double value, const std::string& unit) {
    Record out = accuracy(quantizer, value, {1, 1, 1, 0});
    out.unit = unit;
    return out;
  };
  const std::string most = "accuracy of 4 of 5 questions";
  const Record drop = only_derived({part("", 0.75, most), part("q4", 0.5, most)});
  CHECK(drop.metric == "relative_accuracy_drop");
  CHECK(drop.value.get<double>() == Approx(1.0));  // 0.25 of 0.25
  for (const std::string other : {"accuracy", "accuracy of 4 of 6 questions", "accuracy_of 1"}) {
    CHECK(with_derived({part("", 0.75, most), part("q4", 0.5, other)}).size() == 2);
  }
  CHECK(with_derived({part("", 0.75, "accuracy_of 1"), part("q4", 0.5, "accuracy_of 1")}).size() ==
        2);
}

TEST_CASE("derived: a metric says by unit and direction whether anything derives from it",
          "[store]") {
  const auto with = [](const std::function<void(Record&)>& change) {
    std::vector<Record> records = {loss("", 2), loss("q4", 3)};
    std::for_each(records.begin(), records.end(), change);
    return with_derived(records).size();
  };
  CHECK(with([](Record&) {}) == 3);
  CHECK(with([](Record& record) { record.unit = "bits/byte"; }) == 2);
  CHECK(with([](Record& record) { record.direction = 0; }) == 2);
  CHECK(with([](Record& record) {
          record.index = 1;
          record.count = 2;
        }) == 2);
}

TEST_CASE("derived: stands behind all values of its evaluation", "[store]") {
  std::vector<Record> records = {loss("", 2), loss("q4", 3), loss("q4", 7)};
  records[1].count = records[2].count = 2;
  records[2].index = 1;
  records[2].metric += "/perplexity";
  const std::vector<Record> all = with_derived(records);
  REQUIRE(all.size() == 4);
  CHECK(all[3].metric == "quantization_error");
  CHECK(all[3].value == 0.5);
  CHECK(all[3].index == 0);
  CHECK(all[3].count == 1);
}

TEST_CASE("derived: only of values that have all in common", "[store]") {
  const Record floating = loss("", 2);
  for (const auto& change : std::vector<std::function<void(Record&)>>{
           [](Record& r) { r.checkpoint["step"] = 201; },
           [](Record& r) { r.checkpoint["commit"] = "ab"; },
           [](Record& r) { r.checkpoint["branch"] = "decay"; },
           [](Record& r) {
             r.averaging = {{"id", "soup"}, {"label", "soup"}};
           },
           [](Record& r) { r.metric = "other_loss"; }, [](Record& r) { r.label += " and y"; },
           [](Record& r) {
             r.details["corpora"] = {{"corpus", "y"}};
           },
           [](Record& r) { r.environment["dtype"] = "float64"; },
           [](Record& r) { r.parts["weights"] = "ab"; },
           [](Record& r) { r.parts["tokenizer"] = "ab"; }}) {
    Record quantized = loss("q4", 3);
    CHECK(with_derived({floating, quantized}).size() == 3);
    change(quantized);
    CHECK(with_derived({floating, quantized}).size() == 2);
  }
}

TEST_CASE("derived: contents pair values, whatever manifests call them", "[store]") {
  const auto of = [](Record record, const std::string& name, const std::string& weights,
                     const std::string& corpus, const std::string& trajectory) {
    record.checkpoint = {{"model", name}, {"revision", name}, {"branch", name}, {"commit", name}};
    record.label = "validation_loss on " + name;
    record.details = {{"params", {{"block", 64}, {"corpus", name}}},
                      {"corpora", {{"corpus", {{"name", name}}}}}};
    record.averaging = {{"id", "soup"}, {"label", name}};
    record.parts = {{"weights", weights},
                    {"trajectory", {{{"weights", trajectory}}}},
                    {"metric",
                     {{"id", "validation_loss"},
                      {"params", {{"block", 64}}},
                      {"corpora", {{"corpus", {{"files", corpus}}}}}}}};
    return record;
  };
  const Record floating = of(loss("", 2), "a", "w1", "c1", "t1");
  const Record quantized = of(loss("q4", 3), "b", "w1", "c1", "t1");
  CHECK(only_derived({floating, quantized}).value == 0.5);
  CHECK(with_derived({floating, of(loss("q4", 3), "a", "w2", "c1", "t1")}).size() == 2);
  CHECK(with_derived({floating, of(loss("q4", 3), "a", "w1", "c2", "t1")}).size() == 2);
  CHECK(with_derived({floating, of(loss("q4", 3), "a", "w1", "c1", "t2")}).size() == 2);
}

TEST_CASE("derived: a quantized value without its float value is named", "[store]") {
  const TemporaryDir folder;
  Record other = loss("q4", 3);
  other.parts["weights"] = "w2";
  write_attempt(folder.path(), {loss("", 2), loss("q3", 4)});
  write_attempt(folder.path(), {other});
  RunScan scan = quench::scan_run(folder.path());
  const std::vector<size_t> alone = quench::add_derived(scan);
  REQUIRE(alone.size() == 1);
  CHECK_THAT(std::string(scan.lines[alone[0]].field("quantizer")), Catch::Contains("q4"));
}

TEST_CASE("derived: the float value of the same point of a sweep comes first", "[store]") {
  Record first = loss("", 2);
  Record second = loss("", 4);
  second.job = 1;
  Record quantized = loss("q4", 5);
  const auto value = [&](uint64_t job) {
    quantized.job = job;
    return only_derived({first, second, quantized}).value.get<double>();
  };
  CHECK(value(0) == 1.5);
  CHECK(value(1) == 0.25);
  CHECK(value(2) == 1.5);
}

TEST_CASE("derived: is gone when what it derives from is forgotten", "[store]") {
  const Record floating = loss("", 2);
  const Record quantized = loss("q4", 3);
  for (const Record& gone : {floating, quantized}) {
    const TemporaryDir folder;
    write_attempt(folder.path(), {floating, quantized});
    CHECK(derived_of(folder.path()) == Texts{"\"quantization_error\" 0.5"});
    quench::forget_in_run(folder.path(), {gone.key}, "doubtful");
    CHECK(derived_of(folder.path()).empty());
    CHECK(quench::read_run(folder.path()).damaged.empty());
    write_attempt(folder.path(), {gone});
    CHECK(derived_of(folder.path()) == Texts{"\"quantization_error\" 0.5"});
  }
}
