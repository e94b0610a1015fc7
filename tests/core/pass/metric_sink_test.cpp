#include "core/pass/metric_sink.hpp"

#include <catch2/catch.hpp>

#include "core/json/canonical_json.hpp"

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
