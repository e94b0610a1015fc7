#include "core/pass/metric_sink.hpp"

#include <catch2/catch.hpp>

#include "core/base/json/canonical_json.hpp"

using quench::MetricSink;

TEST_CASE("metric sink: text of a plugin that is none is made printable", "[run]") {
  MetricSink sink;
  const quench_metric_sink* table = sink.get();
  quench_error error{sizeof error, 0, {}};
  CHECK(table->value(table->context, "loss\xff", 1, "nats\x1b[31m", -1, 0, &error) == QUENCH_OK);
  CHECK(table->detail(table->context, "n\xc3", 2, &error) == QUENCH_OK);
  CHECK(table->json(table->context, "a\nb", "[1]", 3, &error) == QUENCH_OK);
  REQUIRE(sink.values.size() == 1);
  CHECK(sink.values[0].name == "loss\\xff");
  CHECK(sink.values[0].unit == "nats\\x1b[31m");
  CHECK(quench::canonical_json(sink.details) == R"({"a\\x0ab":[1],"n\\xc3":2})");
}

TEST_CASE("metric sink: JSON of a plugin that is none is an error of its call", "[run]") {
  MetricSink sink;
  const quench_metric_sink* table = sink.get();
  quench_error error{sizeof error, 0, {}};
  const std::string text = "\"\xff\"";
  CHECK(table->json(table->context, "layers", text.data(), text.size(), &error) ==
        QUENCH_INVALID_ARGUMENT);
  CHECK(sink.details.empty());
}

TEST_CASE("metric sink: more than records can hold is refused, whatever the plugin makes of it",
          "[run]") {
  MetricSink sink;
  const quench_metric_sink* table = sink.get();
  quench_error error{sizeof error, 0, {}};
  const std::string text = "\"" + std::string(size_t{60} << 20, 't') + "\"";
  const auto give = [&] {
    return table->json(table->context, "layers", text.data(), text.size(), &error);
  };
  for (int i = 0; i < 4; ++i) {
    REQUIRE(give() == QUENCH_OK);
  }
  CHECK_NOTHROW(sink.room.require_enough("metric loud"));
  CHECK(give() == QUENCH_RESOURCE_EXHAUSTED);
  const std::string why =
      "layers: got 62914562 bytes beside 251659296 before, wanted at most 268435456 for all "
      "results of one metric";
  CHECK(std::string(error.message) == why);
  CHECK_THROWS_WITH(sink.room.require_enough("metric loud"), "metric loud: " + why);
}
