#include "run/grid/plugins_apart.hpp"

#include <catch2/catch.hpp>

#include "run/grid/describe_cell.hpp"
#include "run/grid/grid.hpp"
#include "run/manifest/resolve_items.hpp"
#include "tests/run/apart_catalog.hpp"
#include "tests/support/template_checkpoint.hpp"
#include "tests/support/temporary.hpp"

using quench::Experiment;
using quench::Identities;
using quench::test::apart_catalog;
using quench::test::TemporaryDir;

namespace {

const quench::Variant kQuantized{0, 0, 0};

// One checkpoint, one quantizer and one metric on one text.
class Measured {
 public:
  Measured() {
    quench::test::write_template_checkpoint(folder_ / "tiny");
    folder_.write("t.txt", "a text of some bytes");
  }

  std::vector<Experiment> resolve(const std::string& processes) const {
    const auto file = folder_.write("m.yaml",
                                    "checkpoints: {model: tiny, tokenizer: bytes}\n"
                                    "quantizers: [template_quantizer: {bits: 3}]\n"
                                    "metrics: [template_metric: {corpus: v}]\n"
                                    "corpora: {v: {text: {path: t.txt}}}\n" +
                                        processes);
    return resolve_manifest(quench::load_manifest(file, {}), apart_catalog(), {});
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

TEST_CASE("plugins apart: those that see a model on a device are foretold to get copies",
          "[core][run]") {
  const Measured here;
  const quench::Fingerprints none{""};
  Identities identities(apart_catalog(), none, {});
  std::vector<std::string> told;
  for (const quench::PluginApart& each : plugins_apart(
           here.resolve("device: cuda:1\nprocesses: {template_model: own}\n"), identities)) {
    told.push_back(each.plugin->kind + ": " + each.reason);
  }
  constexpr const char* kCopies = "; it gets copies in host memory of what is on cuda:1";
  CHECK(told ==
        std::vector<std::string>{std::string("quantizer: not part of this installation") + kCopies,
                                 std::string("metric: not part of this installation") + kCopies});
}

TEST_CASE("plugins apart: a run's own are foretold with the reason, and told in its records",
          "[core][run]") {
  const Measured here;
  const quench::Fingerprints none{""};
  Identities identities(apart_catalog(), none, {});
  const auto quantizer = [&](const std::vector<Experiment>& experiments) {
    return describe_quantizer(apart_catalog(), experiments.front(), kQuantized);
  };

  const std::vector<Experiment> usual = here.resolve("");
  std::vector<std::string> ids;
  for (const quench::PluginApart& each : plugins_apart(usual, identities)) {
    CHECK(each.reason == "not part of this installation");
    ids.push_back(each.plugin->id);
  }
  CHECK(ids == std::vector<std::string>{"template_quantizer", "template_metric"});
  CHECK(quantizer(usual).at("process") == "own");
  const std::string key = key_of(usual, identities);

  const std::vector<Experiment> shared = here.resolve(
      "processes: {template_quantizer: shared, template_metric: shared, "
      "template_model: shared}\n");
  CHECK(plugins_apart(shared, identities).empty());
  CHECK_FALSE(quantizer(shared).contains("process"));
  CHECK(key_of(shared, identities) == key);  // a value does not depend on it
}
