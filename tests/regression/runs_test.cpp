// A whole study in one manifest: branches, averages, draws, two methods, and its numbers against
// the reference implementation.
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <set>

#include "tests/regression/program.hpp"
#include "tests/regression/reference.hpp"
#include "tests/support/fixtures.hpp"

namespace quench::test {

using json = nlohmann::json;

namespace {

std::string manifest(const std::string& model, const std::string& text,
                     const std::string& calibration) {
  return "name: study\n"
         "checkpoints:\n"
         "  model: \"" +
         model +
         "\"\n"
         "  branches:\n"
         "    constant:\n"
         "      revisions: [step480, step600, step720, step840, step960]\n"
         "      lr: {schedule: wsd, peak: 0.002, warmup: 50, steps: 1200, decay_steps: 240}\n"
         "    decay:\n"
         "      revisions: [step1008, step1056, step1104, step1152, step1200]\n"
         "      parent: constant\n"
         "      lr: {schedule: wsd, peak: 0.002, warmup: 50, steps: 1200, decay_steps: 240}\n"
         "averaging:\n"
         "  - lawa: {window: 5, every: 120}\n"
         "  - lawa: {window: 5, every: 48}\n"
         "calibration:\n"
         "  ids: {corpus: calibration, sequences: 8, length: 128, packing: concat}\n"
         "quantizers:\n"
         "  - rtn: {bits: [3, 4], group_size: 128}\n"
         "  - gptq: {bits: [3, 4], group_size: 128}\n"
         "    calibration: ids\n"
         "    replicates: {draws: 3, jitter: 1, at: [last]}\n"
         "metrics:\n"
         "  - validation_loss: {corpus: validation, block: 128}\n"
         "corpora:\n"
         "  validation: {text: {path: \"" +
         text +
         "\"}}\n"
         "  calibration: {tokens: {path: \"" +
         calibration + "\"}}\n";
}

std::string revision_of(const json& record) {
  return record.at("checkpoint").at("revision").get<std::string>();
}

// The reference's entry for a record's weights.
const json& entry_of(const json& reference, const json& record) {
  const std::string wanted = record.at("averaging").is_null() ? revision_of(record)
                             : record.at("checkpoint").at("branch") == "decay"
                                 ? "lawa_last5"
                                 : "lawa_constant_last5";
  for (const char* list : {"revisions", "lawa"}) {
    for (const json& entry : reference.at(list)) {
      if (entry.at("revision") == wanted) {
        return entry;
      }
    }
  }
  throw std::runtime_error("no reference for " + wanted);
}

}  // namespace

TEST_CASE("run: a study of branches, averages and draws has the reference's numbers",
          "[regression][run]") {
  const auto model = fixture("trajectories/gpt_neox-traj");
  const auto expected = fixture("quantization/trajectory.json");
  const auto calibration = fixture("quantization/calibration.safetensors");
  const auto text = ValidationText::make();
  const json reference = read_json(expected);
  const json document =
      run_manifest(manifest(model.string(), text.file().string(), calibration.string()));
  Worst averaged;
  Worst floating;
  Worst rtn;
  size_t averages = 0;
  std::map<std::string, std::set<double>> draws;  // distinct losses by weights and bits
  std::map<std::string, size_t> counts;
  for (const json& record : document.at("records")) {
    REQUIRE(record.at("error").is_null());
    if (record.at("metric") != "validation_loss") {
      continue;
    }
    const json& entry = entry_of(reference, record);
    const double value = record.at("value");
    const bool is_average = !record.at("averaging").is_null();
    if (record.at("quantizer").is_null()) {
      averages += is_average ? 1 : 0;
      (is_average ? averaged : floating)
          .see(relative(value, entry.at("ce_fp32")), entry.at("revision"));
      continue;
    }
    const json& quantizer = record.at("quantizer");
    const std::string bits = std::to_string(quantizer.at("params").at("bits").get<int>());
    if (quantizer.at("id") == "rtn") {
      CHECK(record.at("draw").is_null());  // no calibration, hence no draws
      rtn.see(relative(value, entry.at("rtn" + bits).at("ce")), entry.at("revision"));
      continue;
    }
    CHECK(record.at("draw").is_number());
    const std::string where = (is_average ? "average " : "") + revision_of(record) + " " + bits;
    draws[where].insert(value);
    ++counts[where];
    CHECK(std::fabs(value - entry.at("gptq" + bits).at("ce").get<double>()) < 0.05);
  }
  floating.print("float loss of the study, relative");
  averaged.print("loss of its averages, relative");
  rtn.print("rtn of the study, relative");
  CHECK(floating.value() < 1e-6);
  CHECK(averaged.value() < 1e-6);
  CHECK(rtn.value() < 1e-6);
  CHECK(averages == 2);
  // At the last checkpoint of each branch, and at the average there: three draws that differ, and
  // one jitter, which on a model as small as this may round to the same codes.
  for (const auto& [where, losses] : draws) {
    CAPTURE(where);
    const bool replicated =
        where.find("step960") != std::string::npos || where.find("step1200") != std::string::npos;
    CHECK(losses.size() >= (replicated ? 3 : 1));
    CHECK(counts.at(where) == (replicated ? 4 : 1));
  }
  CHECK(draws.size() == 2 * (10 + 2));
}

}  // namespace quench::test
