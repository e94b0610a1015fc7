#include "core/pass/metric_instances.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "core/base/io/sha256.hpp"
#include "core/error.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

TEST_CASE("metric instances: one for each setting, and another after a failure", "[core][run]") {
  quench::Catalog& catalog = quench::test::built_catalog();
  quench::MetricCell cell;
  cell.plugin = &catalog.require("metric", "template_metric");
  cell.parameters = {{"corpus", "some"}, {"length", 16}};
  const quench::MetricCell other = cell;
  quench::MetricInstances metrics(catalog);
  quench::Corpora corpora(catalog);
  CHECK(metrics.wanted(cell, {}).data_sets.empty());
  const quench_metric* first = metrics.ready(cell, corpora).get();
  const quench_metric* second = metrics.ready(other, corpora).get();
  CHECK(first != second);
  CHECK(metrics.ready(cell, corpora).get() == first);
  metrics.drop(other);
  CHECK(metrics.ready(cell, corpora).get() == first);
  CHECK(metrics.ready(other, corpora).get() != first);

  quench::MetricCell refused = cell;
  refused.parameters = {{"corpus", "some"}, {"length", "long"}};
  for (int time = 0; time < 2; ++time) {
    CHECK_FALSE(quench::test::message_of([&] { metrics.ready(refused, corpora); }).empty());
  }
}

TEST_CASE("metric records: what was read must be what the keys name", "[core][run]") {
  const quench::test::TemporaryDir folder;
  const auto yaml = folder.write("tasks.yaml", "a: 1\n");
  const auto data = folder.write("data.json", "[1]");
  const quench::WantedRecords keyed{
      {}, {{yaml, quench::sha256_hex("a: 1\n")}, {data, quench::sha256_hex("[1]"), true}}};
  quench::WantedRecords read = keyed;
  const auto fault = [&] {
    return quench::test::message_of([&] { quench::check_read("tasks", read, keyed); },
                                    folder.path());
  };
  CHECK_NOTHROW(quench::check_read("tasks", read, keyed));
  folder.write("tasks.yaml", "a: 2\n");  // it was read before
  CHECK_NOTHROW(quench::check_read("tasks", read, keyed));
  folder.write("data.json", "[2]");
  CHECK_THAT(fault(), Catch::StartsWith("metric tasks: data.json changed before it was read"));
  folder.write("data.json", "[1]");
  read.files[0].sha256 = quench::sha256_hex("a: 2\n");
  CHECK_THAT(fault(), Catch::StartsWith("metric tasks: tasks.yaml changed before it was read"));
  read.files.pop_back();
  CHECK(
      fault() ==
      "metric tasks: its files are not those that were hashed for the keys; run the command again");
}
