#include "run/manifest/place_plugins.hpp"

#include <catch2/catch.hpp>

#include "core/error.hpp"
#include "run/manifest/resolve_items.hpp"
#include "tests/run/apart_catalog.hpp"
#include "tests/run/manifest_folder.hpp"
#include "tests/support/throws.hpp"

using Catch::Matchers::Contains;
using quench::Placed;
using quench::Placement;
using quench::test::apart_catalog;
using quench::test::complaints_of_schema;
using quench::test::ManifestFolder;

namespace {

// Resolves a sound manifest with the catalog that has processes.
void resolve(const ManifestFolder& here, const std::string& text) {
  CHECK(complaints_of_schema(text) == "");
  here.add_revisions("run", {"step1"});
  const auto file = here.folder().write("m.yaml", text);
  resolve_manifest(quench::load_manifest(file, {}), apart_catalog(), {});
}

Placed placed(const std::string& kind, const std::string& id) {
  return apart_catalog().placed(apart_catalog().require(kind, id));
}

const std::string kSound = quench::test::with_checkpoints("{model: run}");

}  // namespace

TEST_CASE("process: beside an id and in `processes` it says where a plugin runs", "[core][run]") {
  const ManifestFolder here;
  resolve(here,
          "checkpoints: {model: run}\n"
          "averaging:\n"
          "  - template_averaging: {window: 1}\n"
          "    process: shared\n"
          "quantizers:\n"
          "  - template_quantizer: {bits: 3}\n"
          "    process: shared\n"
          "metrics:\n"
          "  - template_metric: {corpus: v}\n"
          "    process: own\n"
          "corpora: {v: {template_corpus: {}, process: shared}}\n"
          "processes: {model/template_model: shared}\n");
  for (const char* kind : {"averaging", "quantizer", "corpus", "model"}) {
    CAPTURE(kind);
    const Placed at = placed(kind, std::string("template_") + kind);
    CHECK(at.placement == Placement::kShared);
    CHECK_THAT(at.reason, Contains("`process: shared` at ") && Contains("m.yaml:"));
  }
  CHECK(placed("metric", "template_metric").placement == Placement::kOwn);
  CHECK(placed("metric", "template_metric").fixed);
}

TEST_CASE("process: what one manifest says is forgotten with the next", "[core][run]") {
  const ManifestFolder here;
  resolve(here, kSound + "processes: {template_quantizer: shared}\n");
  CHECK(placed("quantizer", "template_quantizer").placement == Placement::kShared);
  resolve(here, kSound);
  CHECK(placed("quantizer", "template_quantizer").reason == "not part of this installation");
}

TEST_CASE("process: two words about one library contradict each other", "[core][run]") {
  const ManifestFolder here;
  const std::string said = quench::test::message_of(
      [&] {
        resolve(here, kSound +
                          "quantizers:\n"
                          "  - template_quantizer: {bits: 3}\n"
                          "    process: shared\n"
                          "processes: {quantizer/template_quantizer: own}\n");
      },
      here.folder().path());
  CHECK_THAT(said, Contains("m.yaml:6:14: process: shared of quantizer/template_quantizer: "
                            "`process: own` at m.yaml:7:13 says otherwise of quantizer "
                            "template_quantizer, and both are in "));
}

TEST_CASE("process: points of a sweep agree", "[core][run]") {
  const ManifestFolder here;
  const std::string quantizer = "quantizers:\n  - template_quantizer: {bits: 3}\n";
  CHECK_THAT(quench::test::message_of([&] {
               resolve(here,
                       kSound + quantizer + "sweep:\n  quantizers.0.process: [own, shared]\n");
             }),
             Contains("process: shared of quantizer/template_quantizer"));
  CHECK_NOTHROW(resolve(here, kSound + quantizer + "    process: own\nsweep:\n  seed: [1, 2]\n"));
}
