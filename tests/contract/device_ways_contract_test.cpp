// The ways that a run can go on a device beside the plain one: weights that a transform changes, a
// search that runs blocks, files of quantized weights, plugins in processes of their own, other
// dtypes, and a model that is larger than the device.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <set>
#include <string>

#include "tests/cli/copied_plugins.hpp"
#include "tests/contract/device.hpp"
#include "tests/support/fixtures.hpp"

namespace quench::test {

namespace {

struct Way {
  const char* dtype;
  double off;  // of a value from the processor's, relative to the largest of its kind
};

// Asymmetric grids: on a symmetric one the extreme of a group lies between two codes, and the last
// bit decides. Values in 16 bits differ by 2^-9 of themselves, and codes with them.
constexpr Way kWays[] = {{"float64", 1e-6}, {"float32", 1e-3}, {"bfloat16", 5e-2}};
// Of the last, a change of the loss by rounding, which is small beside the loss: in nats.
constexpr double kRoundedIn16Bits = 1e-2;
// awq's search for clipped ranges has float32 products on the processor and float64 on a GPU, so of
// two nearly equal ranges the other one may win.
constexpr double kOtherRange = 5e-2;
// Derivatives of a model that comes block by block are made by another recurrence, and vectors over
// its weights lie in host memory.
constexpr double kByBlock = 1e-5;

// The model has 37 KB of weights: by block.
const std::string kLittleMemory = "PRETENDED_FREE_BYTES=30000";

// In processes of their own.
const std::set<std::string> kApart = {"gptq", "int8", "taylor"};

// What is for every dtype.
constexpr const char* kQuantizers =
    "quantizers:\n"
    "  - gptq: {bits: 3, group_size: 16, sym: false}\n"
    "    calibration: rows\n"
    "    transform: rotation\n"
    "  - gptq: {bits: 4, group_size: 16, sym: false}\n"
    "    calibration: rows\n"
    "    export: gptq_v2\n"
    "  - gptq: {bits: 3, group_size: 16, sym: false}\n"
    "    calibration: rows\n"
    "  - awq: {bits: 4, group_size: 16, objective: block}\n"
    "    calibration: rows\n"
    "  - awq: {bits: 3, group_size: 16, clip: all}\n"
    "    calibration: rows\n"
    "  - int8: {activations: false}\n"
    "    calibration: rows\n"
    "  - rtn: {bits: 3, lm_head: true, embedding: true}\n";
constexpr const char* kMetrics =
    "metrics:\n"
    "  - validation_loss: {corpus: text, block: 16}\n"
    "  - divergence: {corpus: text, block: 16}\n"
    "  - weights\n";
// What wants float32: scales that no weight absorbs, and derivatives.
constexpr const char* kMoreQuantizers =
    "  - gptq: {bits: 4, group_size: 16, sym: false}\n"
    "    calibration: rows\n"
    "    transform: smoothquant\n";
constexpr const char* kMoreMetrics =
    "  - hessian: {corpus: text, length: 16, rows: 8, top: 1, trace_samples: 4}\n"
    "    of: float\n"
    "  - taylor: {corpus: text, length: 16, rows: 8}\n"
    "  - sharpness: {corpus: text, length: 16, rows: 8}\n"
    "    of: float\n"
    "  - landscape: {corpus: text, block: 16, plane: line, resolution: [3, 1]}\n";

bool is_in_16_bits(const Way& way) {
  return std::string(way.dtype) == "bfloat16";
}

std::string manifest_of(const Way& way, const std::string& device) {
  return "name: m\n"
         "checkpoints: {model: " +
         (source_dir() / "tests/data/training/trained").string() +
         ", tokenizer: bytes}\n"
         "dtype: " +
         way.dtype + "\ndevice: " + device +
         "\n"
         "calibration: {rows: {corpus: text, sequences: 8, length: 16}}\n"
         "corpora: {text: {text: {path: sums.txt}}}\n" +
         kQuantizers + (is_in_16_bits(way) ? "" : kMoreQuantizers) + kMetrics +
         (is_in_16_bits(way) ? "" : kMoreMetrics);
}

Values measured_by(const Way& way, const std::string& device,
                   const std::vector<std::string>& environment = {}) {
  const Workplace here(Page::kNone);
  std::string text;
  for (int i = 0; i < 60; ++i) {
    text += "12 + 34 = 46, 7 - 5 = 2; ";
  }
  here.folder().write("sums.txt", text);
  here.folder().write("m.yaml", manifest_of(way, device));
  copy_plugins(here, kApart);
  return measured(here, device, environment);
}

bool takes_vectors(const std::vector<std::string>& place) {
  return place[0].starts_with("landscape") || place[0].starts_with("hessian") ||
         place[0] == "taylor" || place[0].starts_with("sharpness");
}

// How far a value may be from the processor's, relative to the largest of its kind.
double bound_of(const std::vector<std::string>& place, const Way& way) {
  const bool searches_ranges = place.back().find("clip=all") != std::string::npos;
  return std::max({way.off, jump_of(place), searches_ranges ? kOtherRange : 0.0});
}

void check_near(const Values& got, const Values& wanted, const Way& way) {
  REQUIRE(got.size() == wanted.size());
  const std::map<std::string, double> largest = largest_of(wanted);
  for (const auto& [place, value] : wanted) {
    CAPTURE(place, got.at(place), value);
    const double least = is_in_16_bits(way) ? kRoundedIn16Bits : 0;
    CHECK(std::fabs(got.at(place) - value) <=
          std::max(least, bound_of(place, way) * largest.at(kind_of(place))));
  }
}

void check_ways_on(const std::string& device) {
  need_plugin("models/gpt_neox");
  need_device(Workplace(Page::kNone), device);
  for (const Way& way : kWays) {
    CAPTURE(device, way.dtype);
    const Values got = measured_by(way, device);
    REQUIRE(got.size() >= 30);
    CHECK(got == measured_by(way, device));
    const Values by_block = measured_by(way, device, {kLittleMemory});
    REQUIRE(by_block.size() == got.size());
    const std::map<std::string, double> largest = largest_of(got);
    for (const auto& [place, value] : got) {
      CAPTURE(place);
      const double off = takes_vectors(place) ? std::max(kByBlock, jump_of(place)) : 0;
      CHECK(std::fabs(by_block.at(place) - value) <= off * largest.at(kind_of(place)));
    }
    check_near(got, device == "cpu" ? got : measured_by(way, "cpu"), way);
  }
}

}  // namespace

TEST_CASE("contract: on cpu a run goes every way twice with the same bits", "[contract]") {
  check_ways_on("cpu");
}

TEST_CASE("contract: on cuda:0 a run goes every way with the processor's values within bounds",
          "[contract][cuda]") {
  check_ways_on("cuda:0");
}

}  // namespace quench::test
