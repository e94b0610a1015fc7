#include <catch2/catch.hpp>

#include "cli/table.hpp"
#include "cli/terminal_text.hpp"

using quench::Record;
using quench::records_table;

namespace {

Record record(const nlohmann::json& revision, const nlohmann::json& quantizer, double value) {
  Record out;
  out.checkpoint = {{"model", "runs/a"}, {"revision", revision}};
  out.quantizer = quantizer;
  out.metric = "validation_loss";
  out.value = value;
  return out;
}

Record error_of(const Record& quantized, double value, const nlohmann::json& standard_error) {
  Record out = quantized;
  out.metric = "quantization_error";
  out.details = {{"metric", quantized.metric}, {"quantized", quantized.value}};
  out.value = value;
  out.standard_error = standard_error;
  return out;
}

}  // namespace

TEST_CASE("table: a line per checkpoint and quantizer, with its error beside it", "[core][cli]") {
  const nlohmann::json rtn = {{"label", "rtn bits=3"}, {"bits_per_weight", 3.25}};
  Record floating = record("step10", nullptr, 3.0);
  floating.standard_error = 0.01;
  const Record quantized = record("step10", rtn, 3.5);
  CHECK(records_table({floating, quantized, error_of(quantized, 1.0 / 6, 0.001)}) ==
        "checkpoint  quantizer   bits  metric           value              error ΔQL\n"
        "step10      float       -     validation_loss  3.00000 ± 0.01000\n"
        "step10      rtn bits=3  3.25  validation_loss  3.50000            16.667 ± 0.100 %\n");
}

TEST_CASE("table: points of a sweep are told apart by what they set", "[core][cli]") {
  const auto at = [](double peak, int seed) {
    Record out = record("step10", nullptr, 3.0 + peak + seed);
    out.environment["sweep"] = {
        {"train.lr", {{"peak", peak}, {"kind", "cosine"}}}, {"seed", seed}, {"train.seed", 7}};
    out.job = static_cast<uint64_t>(seed);
    return out;
  };
  CHECK(records_table({at(0.25, 0), at(0.5, 1)}) ==
        "seed  peak  checkpoint  quantizer  bits  metric           value    error ΔQL\n"
        "0     0.25  step10      float      -     validation_loss  3.25000\n"
        "1     0.5   step10      float      -     validation_loss  4.50000\n");
  Record failed = at(0.5, 0);
  failed.error = "no memory";
  CHECK_THAT(records_table({at(0.25, 0), failed}),
             Catch::EndsWith("failed: peak 0.5, step10, float, validation_loss: no memory\n"));
}

TEST_CASE("table: errors find their own line", "[core][cli]") {
  const nlohmann::json a = {{"label", "a"}};
  const nlohmann::json b = {{"label", "b"}};
  const Record one = record("step1", a, 1);
  const Record two = record("step1", b, 2);
  const Record three = record("step2", a, 3);
  const std::string table =
      records_table({one, two, three, error_of(two, 0.02, nullptr), error_of(three, 0.03, nullptr),
                     error_of(one, 0.01, nullptr)});
  CHECK(table ==
        "checkpoint  quantizer  bits  metric           value    error ΔQL\n"
        "step1       a          -     validation_loss  1.00000  1.000 %\n"
        "step1       b          -     validation_loss  2.00000  2.000 %\n"
        "step2       a          -     validation_loss  3.00000  3.000 %\n");
}

TEST_CASE("table: an error stands beside its loss, of two losses of one cell", "[core][cli]") {
  const nlohmann::json a = {{"label", "a"}};
  const auto on = [&](double value, const std::string& content) {
    Record out = record("step1", a, value);
    out.parts["metric"] = {{"params", {{"block", 64}}},
                           {"corpora", {{"corpus", {{"files", content}}}}}};
    out.details = {{"corpora", {{"corpus", {{"name", "text"}}}}}};
    return out;
  };
  const Record alone = on(1, "aaaaaaaa0");  // its float loss is not there
  const Record two = on(2, "bbbbbbbb0");
  CHECK(records_table({alone, two, error_of(two, 0.02, nullptr)}) ==
        "corpus         checkpoint  quantizer  bits  metric           value    error ΔQL\n"
        "text aaaaaaaa  step1       a          -     validation_loss  1.00000\n"
        "text bbbbbbbb  step1       a          -     validation_loss  2.00000  2.000 %\n");
}

TEST_CASE("table: an error without its loss has a line of its own", "[core][cli]") {
  const Record one = record("step1", {{"label", "a"}}, 1);
  CHECK(records_table({error_of(one, 0.01, nullptr)}) ==
        "checkpoint  quantizer  bits  metric  value  error ΔQL\n"
        "step1       a          -                    1.000 %\n");
}

TEST_CASE("table: failed cells stand below with their error", "[core][cli]") {
  Record failed = record(nullptr, {{"label", "gptq"}}, 0);
  failed.value = nullptr;
  failed.error = "no memory";
  CHECK(records_table({record(nullptr, nullptr, 2), failed}) ==
        "checkpoint  quantizer  bits  metric           value    error ΔQL\n"
        "runs/a      float      -     validation_loss  2.00000\n"
        "failed: runs/a, gptq, validation_loss: no memory\n");
}

TEST_CASE("shortened: cuts before a number, never inside one", "[core][cli]") {
  CHECK(quench::shortened("gptq bits=3", 11) == "gptq bits=3");
  CHECK(quench::shortened("gptq bits=3, validation_loss", 12) == "gptq bits=3…");
  CHECK(quench::shortened("step1000, float", 7) == "step…");
  CHECK(quench::shortened("damp=0.05", 8) == "damp=…");
  CHECK(quench::shortened("a b c", 3) == "a…");
  CHECK(quench::shortened("ΔΔΔΔ", 3) == "ΔΔ…");
  CHECK(quench::shortened("1000", 3) == "…");
}

TEST_CASE("table: gives way to a width column by column, and says what is missing", "[core][cli]") {
  const std::vector<std::vector<std::string>> rows = {
      {"cell", "state", "time", "why"},
      {"a long name of a cell", "to do", "12 s", "no file of that name is there"}};
  const std::vector<quench::ColumnFit> fits = {{12, 0}, quench::kWhole, quench::kWhole, {10, 1}};
  CHECK(quench::aligned_table(rows, fits, 80) == quench::aligned_table(rows));
  CHECK(quench::aligned_table(rows, fits, 50) ==
        "cell               state  time  why\n"
        "a long name of a…  to do  12 s  no file of that n…\n");
  CHECK(quench::aligned_table(rows, fits, 30) ==
        "cell               state  time\n"
        "a long name of a…  to do  12 s\n"
        "too narrow for why; a wider\n  terminal or `| cat` shows\n  all\n");
  // Numbers stay whole, whatever the width is.
  CHECK(quench::aligned_table({{"value"}, {"3.14159"}}, {quench::kWhole}, 4) == "value\n3.14159\n");
}

TEST_CASE("table: a narrow table of records loses errors, bits and metric in this order",
          "[core][cli]") {
  const nlohmann::json rtn = {{"label", "rtn bits=3"}, {"bits_per_weight", 3.25}};
  Record floating = record("step10", nullptr, 3.0);
  floating.standard_error = 0.01;
  const Record quantized = record("step10", rtn, 3.5);
  const std::vector<Record> records = {floating, quantized, error_of(quantized, 1.0 / 6, 0.001)};
  CHECK(records_table(records, 200) == records_table(records));
  CHECK(records_table(records, 70) ==
        "checkpoint  quantizer   bits  value              error ΔQL\n"
        "step10      float       -     3.00000 ± 0.01000\n"
        "step10      rtn bits=3  3.25  3.50000            16.667 ± 0.100 %\n"
        "metric of every row: validation_loss\n");
  CHECK(records_table(records, 60) ==
        "checkpoint  quantizer   bits  value    error ΔQL\n"
        "step10      float       -     3.00000\n"
        "step10      rtn bits=3  3.25  3.50000  16.667 %\n"
        "too narrow for standard errors; a wider terminal or `| cat`\n  shows all\n"
        "metric of every row: validation_loss\n");
  CHECK(records_table(records, 46) ==
        "checkpoint  quantizer   value    error ΔQL\n"
        "step10      float       3.00000\n"
        "step10      rtn bits=3  3.50000  16.667 %\n"
        "too narrow for standard errors, bits; a wider\n  terminal or `| cat` shows all\n"
        "metric of every row: validation_loss\n");
  CHECK(records_table(records, 40) ==
        "checkpoi…  quantizer  value    error ΔQL\n"
        "step10     float      3.00000\n"
        "step10     rtn bits…  3.50000  16.667 %\n"
        "too narrow for standard errors, bits; a\n  wider terminal or `| cat` shows all\n"
        "metric of every row: validation_loss\n");
}

TEST_CASE("table: names of a narrow table tell its rows apart before it has standard errors",
          "[core][cli]") {
  std::vector<Record> records;
  for (const char* name : {"step300", "step450"}) {
    records.push_back(record(std::string("a branch of the study ") + name, nullptr, 2));
    records.back().standard_error = 0.01;
  }
  records.push_back(records[0]);
  records[2].metric = "accuracy";  // so that the metric stays in the rows
  CHECK(records_table(records, 78) ==
        "checkpoint                     quantizer  bits  metric      value    error ΔQL\n"
        "a branch of the study step300  float      -     validatio…  2.00000\n"
        "a branch of the study step450  float      -     validatio…  2.00000\n"
        "a branch of the study step300  float      -     accuracy    2.00000\n"
        "too narrow for standard errors; a wider terminal or `| cat` shows all\n");
}

TEST_CASE("table: weights that are stored as codes are not called float", "[core][cli]") {
  Record stored = record("step1", nullptr, 1);
  stored.checkpoint["stored"] = {{"format", "gptq"}, {"bits", 4}};
  Record unknown = stored;
  unknown.checkpoint["stored"] = {{"format", "gguf"}, {"bits", nullptr}};
  CHECK(records_table({stored, unknown}) ==
        "checkpoint  quantizer        bits  metric           value    error ΔQL\n"
        "step1       4 bits (stored)  4.00  validation_loss  1.00000\n"
        "step1       stored           -     validation_loss  1.00000\n");
}
