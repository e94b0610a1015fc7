#include "core/store/record.hpp"

#include <catch2/catch.hpp>

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

TEST_CASE("record: the JSON form has every field", "[core][store]") {
  Record record = loss(2, {1, 3});
  record.standard_error = 0.5;
  const nlohmann::json written = quench::to_json(record);
  CHECK(written.at("schema") == 2);
  CHECK(written.at("value") == 2.0);
  CHECK(written.at("stderr") == 0.5);
  CHECK(written.at("quantizer").is_null());
  CHECK(written.at("error").is_null());
  CHECK(written.size() == 23);
  CHECK(written.at("items") == nlohmann::json({1.0, 3.0}));
  record.error = "broken";
  CHECK(quench::to_json(record).at("error") == "broken");
}
