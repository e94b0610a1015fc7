// The loss landscape of a real trajectory: its plane against the reference's, its corners against
// the losses of the models that lie there.
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "core/base/json/canonical_json.hpp"
#include "core/store/sealed_line.hpp"
#include "tests/regression/program.hpp"
#include "tests/regression/reference.hpp"
#include "tests/support/fixtures.hpp"

namespace quench::test {

using json = nlohmann::json;

namespace {

std::string manifest(const std::string& model, const std::string& text, const std::string& rest,
                     const std::string& revisions = "\"step{step}\"") {
  return "name: landscape\n"
         "checkpoints:\n"
         "  model: \"" +
         model +
         "\"\n"
         "  revisions: " +
         revisions +
         "\n"
         "corpora:\n"
         "  val: {text: {path: \"" +
         text + "\"}}\n" + rest;
}

}  // namespace

TEST_CASE("landscape: the principal plane is the reference's", "[regression][landscape]") {
  const auto model = fixture("trajectories/gpt_neox-traj");
  const auto expected = fixture("geometry/pca.json");
  const auto text = ValidationText::make();
  const std::string center = GENERATE("mean", "last");
  const json reference = read_json(expected).at(center + "_centred");
  const json document = run_manifest(
      manifest(model.string(), text.file().string(),
               "metrics:\n  - landscape: {corpus: val, block: 128, blocks: 1, center: " + center +
                   ", resolution: [2, 2]}\n"));
  const json details = records_of(document, "landscape").at(0).at("details");
  Worst worst;
  for (size_t k = 0; k < 13; ++k) {
    const double wanted = reference.at("singular_values").at(k);
    worst.see(std::fabs(details.at("singular_values").at(k).get<double>() - wanted),
              "singular value " + std::to_string(k));
  }
  for (const json& point : details.at("points")) {
    const std::string name = point.at("name");
    for (size_t k = 0; k < 2; ++k) {
      worst.see(std::fabs(point.at("at").at(k).get<double>() -
                          reference.at("coordinates").at(name).at(k).get<double>()),
                name);
    }
  }
  worst.print("landscape: principal plane, " + center);
  CHECK(worst.value() <= 1e-8);
  CHECK(details.at("explained_variance").at(0).get<double>() ==
        Approx(reference.at("explained_variance_ratio").at(0).get<double>()).epsilon(1e-9));
}

TEST_CASE("landscape: corners have the losses of the models that lie there",
          "[regression][landscape]") {
  const auto model = fixture("trajectories/gpt_neox-traj");
  const auto text = ValidationText::make();
  const TemporaryDir folder;
  const std::string part =
      folder.write("part.txt", read_file(text.file()).substr(0, 8192)).string();
  const json document = run_manifest(manifest(
      model.string(), part,
      "quantizers:\n  - rtn: {bits: 3, group_size: 64}\n"
      "metrics:\n"
      "  - validation_loss: {corpus: val, block: 128}\n"
      "  - landscape: {corpus: val, block: 128, plane: corners, resolution: [2, 2]}\n"
      "  - landscape: {corpus: val, block: 128, plane: line, resolution: [3, 1], margin: 0}\n"
      "    label: line\n",
      "[step960, step1152, step1200]"));
  double last = 0;
  double before = 0;
  double quantized = 0;
  for (const json& record : records_of(document, "validation_loss")) {
    const std::string revision = record.at("checkpoint").at("revision");
    const double value = record.at("value");
    if (revision == "step1200") {
      (record.at("quantizer").is_null() ? last : quantized) = value;
    } else if (revision == "step1152" && record.at("quantizer").is_null()) {
      before = value;
    }
  }
  const auto landscapes = records_of(document, "landscape");
  REQUIRE(landscapes.size() == 2);  // the last checkpoint's quantized model alone
  const json& points = landscapes[0].at("details").at("points");
  CHECK(points.at(0).at("loss").get<double>() == Approx(last).epsilon(1e-7));
  CHECK(points.at(1).at("loss").get<double>() == Approx(before).epsilon(1e-6));
  CHECK(points.at(2).at("loss").get<double>() == Approx(quantized).epsilon(1e-6));
  // The line's grid begins and ends in its corners, and its barrier is a rise above both.
  const json& line = landscapes[1].at("details").at("loss").at(0);
  CHECK(line.at(0).get<double>() == Approx(last).epsilon(1e-7));
  CHECK(line.at(2).get<double>() == Approx(quantized).epsilon(1e-6));
  const double rise = line.at(1).get<double>() - (last + quantized) / 2;
  CHECK(landscapes[1].at("value").get<double>() == Approx(std::max(rise, 0.0)).margin(1e-6));
}

TEST_CASE("landscape: points that an earlier attempt finished are not computed again",
          "[regression][landscape]") {
  const auto model = fixture("trajectories/gpt_neox-traj");
  const auto text = ValidationText::make();
  const std::string yaml = manifest(
      model.string(), text.file().string(),
      "metrics:\n  - landscape: {corpus: val, block: 128, blocks: 1, resolution: [2, 2]}\n");
  const TemporaryDir first;
  const json record =
      records_of(run_manifest(yaml, {}, {{"QUENCH_HOME", first.path().string()}}), "landscape")
          .at(0);
  CHECK_FALSE(std::filesystem::exists(first / "partial/" / record.at("key").get<std::string>()));
  // What a killed attempt would have left, but with a value that no computation gives.
  const TemporaryDir second;
  (void)second.write("partial/" + record.at("key").get<std::string>() + ".jsonl",
                     seal("piece", canonical_json({1, std::bit_cast<uint64_t>(123.5)})) + "\n");
  const json resumed =
      records_of(run_manifest(yaml, {}, {{"QUENCH_HOME", second.path().string()}}), "landscape")
          .at(0);
  CHECK(resumed.at("details").at("loss").at(0).at(1) == 123.5);
  json expected = record.at("details");
  expected["loss"][0][1] = 123.5;
  CHECK(resumed.at("details") == expected);
  CHECK(std::filesystem::is_empty(second / "partial"));
}

}  // namespace quench::test
