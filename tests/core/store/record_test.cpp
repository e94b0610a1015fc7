#include "core/store/record.hpp"

#include <catch2/catch.hpp>
#include <cmath>

using quench::quantization_error;
using quench::Record;

namespace {

Record loss(double value, std::vector<double> items) {
  Record out;
  out.checkpoint = {{"model", "m"}};
  out.metric = "validation_loss";
  out.value = value;
  out.unit = "nats/token";
  out.direction = -1;
  out.items = std::move(items);
  out.seconds = 3;
  return out;
}

}  // namespace

TEST_CASE("quantization error: value and paired standard error by hand", "[core][store]") {
  const Record floating = loss(3.0, {1, 2, 3, 6});
  Record quantized = loss(3.5, {1.5, 2.25, 3.5, 6.75});
  quantized.quantizer = {{"id", "q"}};
  const Record error = quantization_error(floating, quantized);
  CHECK(error.metric == "quantization_error");
  CHECK(error.quantizer == quantized.quantizer);
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

TEST_CASE("quantization error: a shift of all blocks has no spread", "[core][store]") {
  const Record error = quantization_error(loss(2, {1, 3}), loss(2.5, {1.5, 3.5}));
  CHECK(error.value == 0.25);
  CHECK(error.standard_error == 0.0);
}

TEST_CASE("quantization error: without paired items there is no standard error", "[core][store]") {
  CHECK(quantization_error(loss(2, {}), loss(3, {})).standard_error.is_null());
  CHECK(quantization_error(loss(2, {2}), loss(3, {3})).standard_error.is_null());
  CHECK(quantization_error(loss(2, {1, 3}), loss(3, {3})).standard_error.is_null());
  CHECK(quantization_error(loss(2, {}), loss(3, {})).value == 0.5);
}

TEST_CASE("quantization error: of a failed cell is a failed cell", "[core][store]") {
  Record failed = loss(0, {});
  failed.value = nullptr;
  failed.error = "no memory";
  const Record error = quantization_error(loss(2, {}), failed);
  CHECK(error.value.is_null());
  CHECK(error.error == "quantization_error: no memory");
  CHECK(quantization_error(failed, loss(2, {})).error == "quantization_error: no memory");
}

TEST_CASE("record: the JSON form has every field", "[core][store]") {
  Record record = loss(2, {1, 3});
  record.standard_error = 0.5;
  const nlohmann::json json = quench::to_json(record);
  CHECK(json.at("schema") == 2);
  CHECK(json.at("value") == 2.0);
  CHECK(json.at("stderr") == 0.5);
  CHECK(json.at("quantizer").is_null());
  CHECK(json.at("error").is_null());
  CHECK(json.size() == 23);
  CHECK(json.at("items") == nlohmann::json({1.0, 3.0}));
  record.error = "broken";
  CHECK(quench::to_json(record).at("error") == "broken");
}

TEST_CASE("quantization error: of a float loss of 0 is an error, not an infinity",
          "[core][store]") {
  const Record error = quantization_error(loss(0, {}), loss(2, {}));
  CHECK(error.value.is_null());
  CHECK(error.error == "quantization_error: the float loss is 0, so that no ratio to it exists");
}

TEST_CASE("relative accuracy drop: what is lost, relative to what the float model got wrong",
          "[core][store]") {
  const auto accuracy = [](double value, std::vector<double> items) {
    Record out = loss(value, std::move(items));
    out.metric = "questions";
    out.unit = "accuracy";
    out.direction = 1;
    return out;
  };
  const Record drop =
      quench::relative_accuracy_drop(accuracy(0.75, {1, 1, 1, 0}), accuracy(0.5, {1, 0, 1, 0}));
  CHECK(drop.metric == "relative_accuracy_drop");
  CHECK(quench::is_derived(drop.metric));
  CHECK(drop.direction == -1);
  CHECK(drop.value.get<double>() == Approx(1.0));  // 0.25 of 0.25
  CHECK(drop.details.at("delta") == -0.25);
  // Differences 0, -1, 0, 0: mean -1/4, squares 3/4, variance of the mean 3/4 / 3 / 4 = 1/16.
  CHECK(drop.details.at("delta_stderr").get<double>() == Approx(0.25));
  CHECK(drop.standard_error.get<double>() == Approx(1.0));
  CHECK(quench::relative_accuracy_drop(accuracy(1, {}), accuracy(0.5, {})).error ==
        "relative_accuracy_drop: the float model errs nowhere, so that no ratio to its errors "
        "exists");
}
