#include "core/pass/metric_instances.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/run/built_catalog.hpp"
#include "tests/support/throws.hpp"

TEST_CASE("metric instances: one for each setting, and another after a failure", "[core][run]") {
  quench::Catalog& catalog = quench::test::built_catalog();
  quench::MetricCell cell;
  cell.plugin = &catalog.require("metric", "template_metric");
  cell.parameters = {{"corpus", "some"}, {"length", 16}};
  const quench::MetricCell other = cell;
  quench::MetricInstances metrics(catalog);
  CHECK(metrics.wanted(cell, {}).data_sets.empty());
  const quench_metric* first = metrics.ready(cell, {}).get();
  const quench_metric* second = metrics.ready(other, {}).get();
  CHECK(first != second);
  CHECK(metrics.ready(cell, {}).get() == first);
  metrics.drop(other);
  CHECK(metrics.ready(cell, {}).get() == first);
  CHECK(metrics.ready(other, {}).get() != first);

  quench::MetricCell refused = cell;
  refused.parameters = {{"corpus", "some"}, {"length", "long"}};
  for (int time = 0; time < 2; ++time) {
    CHECK_FALSE(quench::test::message_of([&] { metrics.ready(refused, {}); }).empty());
  }
}
