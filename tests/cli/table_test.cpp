#include "cli/table.hpp"

#include <catch2/catch.hpp>

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
  out.details = {{"metric", quantized.metric}};
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
