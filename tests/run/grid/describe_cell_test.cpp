#include "run/grid/describe_cell.hpp"

#include <catch2/catch.hpp>

#include "core/base/json/set_parameters.hpp"
#include "core/plugin/catalog/parameters.hpp"
#include "run/grid/grid.hpp"
#include "run/manifest/resolve_items.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/run/worker_catalog.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/template_checkpoint.hpp"
#include "tests/support/temporary.hpp"

using quench::Experiment;
using quench::Identities;
using quench::test::TemporaryDir;
using quench::test::worker_catalog;

namespace {

const quench::Variant kQuantized{0, 0, 0};

// One checkpoint, one quantizer and one metric on one text.
class Measured {
 public:
  Measured() {
    quench::test::write_template_checkpoint(folder_ / "tiny");
    folder_.write("t.txt", "a text of some bytes");
  }

  std::vector<Experiment> resolve(const std::string& more) const {
    const auto file = folder_.write("m.yaml",
                                    "checkpoints: {model: tiny, tokenizer: bytes}\n"
                                    "quantizers: [template_quantizer: {bits: 3}]\n"
                                    "metrics: [template_metric: {corpus: v}]\n"
                                    "corpora: {v: {text: {path: t.txt}}}\n" +
                                        more);
    return resolve_manifest(quench::load_manifest(file, {}), worker_catalog(), {});
  }

 private:
  TemporaryDir folder_;
};

// The key of the quantized model's value.
std::string key_of(const std::vector<Experiment>& experiments, Identities& identities) {
  for (const quench::Cell& cell : quench::cells_of(experiments)) {
    std::string missing;
    if (cell.variant.quantizer) {
      const auto parts = quench::evaluation_parts(
          identities, quench::parts_of(experiments.front(), cell), true, missing);
      INFO(missing);
      REQUIRE(parts);
      return quench::content_key(*parts);
    }
  }
  return "";
}

}  // namespace

TEST_CASE("describe cell: where a plugin ran is in its record, and in no key", "[core][run]") {
  const Measured here;
  const quench::Fingerprints none{""};
  Identities identities(worker_catalog(), none, {});
  const auto quantizer = [&](const std::vector<Experiment>& experiments) {
    return describe_quantizer(worker_catalog(), experiments.front(), kQuantized);
  };

  const std::vector<Experiment> usual = here.resolve("");
  CHECK(quantizer(usual).at("process") == "own");
  const std::string key = key_of(usual, identities);

  const std::vector<Experiment> shared =
      here.resolve("in_process: [template_quantizer, metric/template_metric, template_model]\n");
  CHECK(quantizer(shared).at("process") == "shared");
  CHECK(key_of(shared, identities) == key);  // a value does not depend on it

  // What one manifest says is forgotten with the next.
  CHECK(quantizer(here.resolve("")).at("process") == "own");
}

// Else a parameter that a plugin gains would change the keys of all settings without it.
TEST_CASE("describe cell: a plugin's parameter that is not set is in no record or key",
          "[core][run]") {
  quench::Catalog& built = quench::test::built_catalog();
  const quench::PluginDescription* shipped = built.find("quantizer", "rtn");
  if (shipped == nullptr) {
    quench::test::skip("rtn is not built without libtorch");
  }
  const auto said = [](const quench::PluginDescription& plugin, const char* not_set,
                       const nlohmann::json& given) {
    std::vector<quench::ParameterProblem> problems;
    const nlohmann::json complete = quench::complete_parameters(plugin, given, problems);
    CHECK(problems.empty());
    CHECK(complete.contains(not_set));
    return quench::set_parameters(complete);
  };
  const nlohmann::json before = {{"bits", 3},
                                 {"group_size", 128},
                                 {"sym", true},
                                 {"mse", 0.0},
                                 {"modules", nlohmann::json::array()},
                                 {"lm_head", false},
                                 {"embedding", false}};
  CHECK(said(*shipped, "format", {{"bits", 3}}) == before);
  CHECK(said(*shipped, "format", {{"format", "mxfp4"}}).at("format") == "mxfp4");
  const quench::PluginDescription& rotation = built.require("transform", "rotation");
  CHECK(said(rotation, "head_size", {{"draw", 1}}) == nlohmann::json{{"draw", 1}});
  const nlohmann::json adamw = {
      {"betas", {0.9, 0.95}}, {"epsilon", 1e-8}, {"weight_decay", 0.1}, {"decoupled", false}};
  CHECK(said(built.require("optimizer", "adamw"), "decay", nlohmann::json::object()) == adamw);
  const nlohmann::json hessian =
      said(built.require("metric", "hessian"), "tensors", {{"corpus", "v"}});
  CHECK(hessian.contains("parts"));
  CHECK_FALSE(hessian.contains("relative"));
}

TEST_CASE("describe cell: points of a sweep may each keep plugins in the program's process",
          "[core][run]") {
  const Measured here;
  here.resolve("in_process: [template_quantizer]\nsweep:\n  seed: [1, 2]\n");
  const quench::PluginDescription& quantizer =
      worker_catalog().require("quantizer", "template_quantizer");
  CHECK(worker_catalog().placed(quantizer).reason == "`in_process` of the manifest");
  here.resolve("");
}
