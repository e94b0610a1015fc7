// `quench layer`: two identities that need no reference.
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "tests/regression/layer_file.hpp"
#include "tests/regression/program.hpp"
#include "tests/regression/reference.hpp"
#include "tests/support/differences.hpp"

namespace fs = std::filesystem;

namespace quench::test {

namespace {

using json = nlohmann::json;

// Numbers in [−1, 1) from a fixed linear congruential generator.
class Drawn {
 public:
  double next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state_ >> 11) / static_cast<double>(uint64_t{1} << 52) - 1;
  }
  std::vector<double> matrix(int64_t rows, int64_t columns) {
    std::vector<double> out(static_cast<size_t>(rows * columns));
    for (double& value : out) {
      value = next();
    }
    return out;
  }

 private:
  uint64_t state_ = 4242;
};

}  // namespace

TEST_CASE("layer: GPTQ's loss is half the damped output error", "[regression][gptq]") {
  constexpr int64_t kRows = 9;
  constexpr int64_t kColumns = 48;
  constexpr int64_t kSamples = 100;
  constexpr double kDamp = 0.02;
  Drawn drawn;
  const std::vector<double> weight = drawn.matrix(kRows, kColumns);
  const std::vector<double> inputs = drawn.matrix(kSamples, kColumns);
  std::vector<double> hessian(kColumns * kColumns);  // 2/N XᵀX + damp · mean(diagonal) · I
  double trace = 0;
  for (int64_t i = 0; i < kColumns; ++i) {
    for (int64_t j = 0; j < kColumns; ++j) {
      double sum = 0;
      for (int64_t n = 0; n < kSamples; ++n) {
        sum += inputs[static_cast<size_t>(n * kColumns + i)] *
               inputs[static_cast<size_t>(n * kColumns + j)];
      }
      hessian[static_cast<size_t>(i * kColumns + j)] = 2.0 / kSamples * sum;
    }
    trace += hessian[static_cast<size_t>(i * kColumns + i)];
  }
  for (int64_t i = 0; i < kColumns; ++i) {
    hessian[static_cast<size_t>(i * kColumns + i)] += kDamp * trace / kColumns;
  }
  const TemporaryDir folder;
  const fs::path layer = folder / "layer.safetensors";
  write_layer(layer, weight, inputs, kColumns);
  const std::string options = GENERATE("sym=true", "sym=false", "desc_act=true", "block=16",
                                       "desc_act=true,static_groups=true", "scale_from=stale");
  const std::string out = (folder / "out.safetensors").string();
  const json document =
      quench_json({"layer", layer.string(), "--quantizer",
                   "gptq:bits=3,group_size=16,damp=0.02,precision=float64," + options, "-o", out});
  const json& result = document.at("results").at(0);
  INFO(options);
  CHECK(result.at("damp") == kDamp);
  const std::vector<double> quantized = values_of(SafetensorsFile(out));
  double twice = 0;
  for (int64_t r = 0; r < kRows; ++r) {
    std::vector<double> difference(kColumns);
    for (int64_t i = 0; i < kColumns; ++i) {
      const auto at = static_cast<size_t>(r * kColumns + i);
      difference[static_cast<size_t>(i)] = weight[at] - quantized[at];
    }
    for (int64_t i = 0; i < kColumns; ++i) {
      for (int64_t j = 0; j < kColumns; ++j) {
        twice += difference[static_cast<size_t>(i)] * difference[static_cast<size_t>(j)] *
                 hessian[static_cast<size_t>(i * kColumns + j)];
      }
    }
  }
  CHECK(relative(result.at("loss"), twice / 2) < 1e-9);
}

TEST_CASE("layer: with the identity as Hessian GPTQ is round to nearest", "[regression][gptq]") {
  constexpr int64_t kColumns = 64;
  constexpr int64_t kCopies = 2;
  Drawn drawn;
  // N = copies · columns rows of √(N/(2 · copies)) · I, so that 2/N XᵀX = I.
  std::vector<double> inputs(static_cast<size_t>(kCopies * kColumns * kColumns));
  for (int64_t n = 0; n < kCopies * kColumns; ++n) {
    inputs[static_cast<size_t>(n * kColumns + n % kColumns)] = std::sqrt(kColumns / 2.0);
  }
  const TemporaryDir folder;
  const fs::path layer = folder / "layer.safetensors";
  write_layer(layer, drawn.matrix(11, kColumns), inputs, kColumns);
  const std::string options =
      GENERATE("bits=3,group_size=16,sym=true", "bits=4,group_size=-1,sym=false");
  const auto codes_of = [&](const std::string& quantizer) {
    const std::string out = (folder / "out.safetensors").string();
    quench_json({"layer", layer.string(), "--quantizer", quantizer, "-o", out});
    return SafetensorsFile(out).elements<uint8_t>("codes");
  };
  const auto rounded = codes_of("rtn:" + options);
  CHECK(std::set<uint8_t>(rounded.begin(), rounded.end()).size() > 6);
  CHECK(differences(codes_of("gptq:precision=float64," + options), rounded) == "");
}

}  // namespace quench::test
