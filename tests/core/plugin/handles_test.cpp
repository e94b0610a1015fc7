#include <catch2/catch.hpp>
#include <cstring>
#include <numeric>

#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/host_tensor.hpp"
#include "core/error.hpp"
#include "core/plugin/calls/table_call.hpp"
#include "core/plugin/catalog/choose.hpp"
#include "core/plugin/catalog/parameters.hpp"
#include "core/plugin/handles/corpus_handle.hpp"
#include "core/plugin/handles/model_handle.hpp"
#include "core/plugin/handles/optimizer_handle.hpp"
#include "quench/abi/kind/quantizer.h"
#include "tests/core/plugin/fault_plugins.hpp"

using quench::Catalog;
using quench::test::PluginFolder;

TEST_CASE("corpus handle: documents come in order until the end", "[core][plugin]") {
  PluginFolder folder;
  folder.add("good");
  Catalog catalog = folder.catalog();
  const auto& item = catalog.require("corpus", "good");
  std::vector<quench::ParameterProblem> problems;
  quench::CorpusHandle corpus(
      catalog, item, quench::complete_parameters(item, nlohmann::json::object(), problems));
  quench_document document{};
  std::string text;
  while (corpus.next(document)) {
    text += std::string(document.text, document.text_bytes) + " ";
  }
  CHECK(text == "one two ");
  CHECK(corpus.fingerprint() == std::string(64, 'a'));
  CHECK(&catalog.load(item) == &catalog.load(item));
  quench::shutdown_plugins();
}

TEST_CASE("model family: without a family the config is refused by its path", "[core][plugin]") {
  PluginFolder folder;
  folder.add("good");
  Catalog catalog = folder.catalog();
  CHECK_THROWS_WITH(quench::choose_family(catalog, R"({"model_type": "olmo"})", "m/config.json"),
                    "m/config.json: no model family is installed");
  CHECK_THROWS_WITH(quench::choose_family(catalog, "{", "m/config.json"),
                    Catch::Matchers::StartsWith("m/config.json"));
}

TEST_CASE("optimizer handle: a closure that is not used as it should be is told",
          "[core][plugin]") {
  PluginFolder folder;
  folder.add("idle_optimizer");
  Catalog catalog = folder.catalog();
  quench::OptimizerHandle optimizer(catalog, catalog.require("optimizer", "idle_optimizer"),
                                    nlohmann::json::object());
  REQUIRE(optimizer.takes_closure());
  quench::HostTensor held_weights(quench::kFloat32, {3});
  quench::HostTensor held_gradient(quench::kFloat32, {3});
  const std::span<float> gradient = held_gradient.as<float>();
  std::iota(held_weights.as<float>().begin(), held_weights.as<float>().end(), 1.0F);
  const quench_tensor weights = held_weights.view();
  const quench_tensor to_gradient = held_gradient.view();
  const auto doubled = [](const quench_tensor& at, const quench_tensor& to) {
    for (int64_t i = 0; i < 3; ++i) {
      static_cast<float*>(to.data)[i] = 2 * static_cast<const float*>(at.data)[i];
    }
    return 1.0;
  };
  const auto stopped = [](const quench_tensor&, const quench_tensor&) -> double {
    quench::fail(QUENCH_CANCELLED, "stopped on request");
  };
  CHECK_THROWS_WITH(optimizer.gradient(1, weights, doubled, to_gradient),
                    "optimizer idle_optimizer: made a gradient without evaluating the batch");
  CHECK_THROWS_WITH(
      optimizer.gradient(2, weights, doubled, to_gradient),
      "optimizer idle_optimizer: closure: weights: wanted float32 [3] in host memory");
  optimizer.gradient(3, weights, doubled, to_gradient);
  CHECK(std::vector<float>(gradient.begin(), gradient.end()) == std::vector<float>{2, 4, 6});
  for (const uint64_t step : {3u, 4u}) {
    CHECK_THROWS_WITH(optimizer.gradient(step, weights, stopped, to_gradient),
                      "stopped on request");
  }
  quench::shutdown_plugins();
}

TEST_CASE("table call: a status becomes an error that names the plugin", "[core][plugin]") {
  quench_error error{sizeof error, 0, {}};
  const auto message = [&](quench_status status) {
    try {
      quench::throw_status("quantizer x", "begin", status, error);
    } catch (const quench::Error& failure) {
      return std::to_string(failure.code()) + " " + failure.what();
    }
  };
  std::strcpy(error.message, "not\nfinite");
  CHECK(message(QUENCH_NUMERICAL) == "7 quantizer x: not\\x0afinite");
  CHECK(message(77) == "9 quantizer x: begin returned 77, which is no status");
  error.message[0] = '\0';
  CHECK(message(QUENCH_NUMERICAL) ==
        "7 quantizer x: begin failed without a message (numerical failure)");
  std::memset(error.message, 'x', sizeof error.message);  // no end
  CHECK(message(QUENCH_INTERNAL).size() == std::strlen("9 quantizer x: ") + sizeof error.message);
}

TEST_CASE("table: missing, short and incomplete tables are faults", "[core][plugin]") {
  CHECK(quench::table_fault("quantizer", nullptr) == "its table is NULL");
  quench_quantizer_table table{};
  table.struct_size = 16;
  const size_t required = offsetof(quench_quantizer_table, gram_get);  // all behind is optional
  CHECK(quench::table_fault("quantizer", &table) ==
        "its table has struct_size 16, wanted at least " + std::to_string(required));
  table.struct_size = sizeof table;
  CHECK(quench::table_fault("quantizer", &table) == "function create of its table is NULL");
}
