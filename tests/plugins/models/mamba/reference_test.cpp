#include <ATen/ops/zeros.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "quench/abi/kind/model.h"
#include "quench/kit/scalar.hpp"
#include "tests/plugins/models/mamba/reference.hpp"

namespace quench::test {

namespace {

// The reference's float32 is up to 4e-6 from its float64 (float32_distance).
struct Precision {
  quench_dtype dtype;
  double tolerance;
};
const std::vector<Precision> kPrecisions = {{kit::kFloat64, 1e-11}, {kit::kFloat32, 2e-5}};

}  // namespace

TEST_CASE("mamba: logits, losses and blocks are the reference's", "[models][mamba]") {
  const std::string name = GENERATE("plain", "variant");
  CAPTURE(name);
  const MambaReference reference(name);
  for (const auto& [dtype, tolerance] : kPrecisions) {
    CAPTURE(kit::name_of(dtype));
    ModelDriver driver(reference.config, reference.weights, dtype);
    std::vector<at::Tensor> outputs;
    const at::Tensor h = driver.forward(reference.tokens, Storage::kShared, &outputs);
    CHECK(identical(h, driver.forward(reference.tokens)));
    CHECK(distance(doubles(driver.logits(h)), reference.results.values("logits")) < tolerance);
    std::vector<double> nll;
    const std::vector<double> all = driver.next_id_nll(reference.tokens);
    for (size_t n = 0; n < all.size(); ++n) {
      if (n % 24 != 23) {
        nll.push_back(all[n]);
      }
    }
    CHECK(distance(nll, reference.results.values("nll")) < tolerance);
    for (size_t i = 0; i < outputs.size(); ++i) {
      CHECK(distance(doubles(outputs[i]), reference.results.values("block." + std::to_string(i))) <
            tolerance);
    }
  }
}

TEST_CASE("mamba: every linear reads what the reference's reads", "[models][mamba]") {
  constexpr double kTolerance = 1e-5;  // the file has float32
  const std::string name = GENERATE("plain", "variant");
  CAPTURE(name);
  const MambaReference reference(name);
  ModelDriver driver(reference.config, reference.weights, kit::kFloat64);
  at::Tensor h = driver.embed(reference.tokens);
  for (uint32_t b = 0; b < 2; ++b) {
    const quench_block_info& block = driver.block(b);
    REQUIRE(block.group_count == 4);
    size_t compared = 0;
    h = driver.run_block(b, reference.tokens, h, Storage::kSeparate,
                         [&](uint32_t stage, const std::vector<at::Tensor>& carried) {
                           for (uint32_t g = 0; g < block.group_count; ++g) {
                             const quench_group_info& group = block.groups[g];
                             if (group.stage == stage) {
                               const std::string linear = group.linears[0].name;
                               CAPTURE(linear);
                               const std::string key =
                                   "inputs." + std::to_string(b) + linear.substr(linear.rfind('.'));
                               CHECK(distance(doubles(carried[static_cast<size_t>(group.input)]),
                                              reference.results.values(key)) < kTolerance);
                               ++compared;
                             }
                           }
                         });
    CHECK(compared == 4);
  }
}

TEST_CASE("mamba: pads behind a text are the reference's masked ones", "[models][mamba]") {
  const std::string name = GENERATE("plain", "variant");
  CAPTURE(name);
  const MambaReference reference(name);
  const std::vector<double> ids = reference.results.values("padded_ids");
  Tokens tokens{1, 24, {ids.begin(), ids.end()}};
  tokens.segments.assign(24, 0);
  std::fill(tokens.segments.begin() + 16, tokens.segments.end(), QUENCH_SEGMENT_ATTENDING_PADDING);
  ModelDriver driver(reference.config, reference.weights, kit::kFloat64);
  CHECK(distance(doubles(driver.logits(driver.forward(tokens))),
                 reference.results.values("padded")) < 1e-11);
}

TEST_CASE("mamba: gradients have the reference's norms", "[models][mamba]") {
  const std::string name = GENERATE("plain", "variant");
  CAPTURE(name);
  const MambaReference reference(name);
  ModelDriver driver(reference.config, reference.weights, kit::kFloat64);
  const at::Tensor gradient =
      at::zeros({driver.parameters().numel()}, at::TensorOptions(at::kDouble));
  driver.gradient(reference.tokens, next_ids(reference.tokens), gradient, 1.0 / 46);
  size_t compared = 0;
  for (const quench_parameter_info& info : driver.parameter_infos()) {
    CAPTURE(info.name);
    int64_t count = 1;
    for (int32_t d = 0; d < info.dimensions; ++d) {
      count *= info.shape[d];
    }
    double square = 0;
    for (const double value :
         doubles(gradient.narrow(0, static_cast<int64_t>(info.offset), count))) {
      square += value * value;
    }
    CHECK(std::sqrt(square) ==
          Approx(reference.notes.at("gradient_norms").at(info.name).get<double>()).epsilon(1e-10));
    ++compared;
  }
  CHECK(compared == reference.notes.at("gradient_norms").size());
}

TEST_CASE("mamba: 16-bit logits are near the reference's", "[models][mamba]") {
  const std::string name = GENERATE("plain", "variant");
  CAPTURE(name);
  const MambaReference reference(name);
  const std::vector<double> wanted = reference.results.values("logits");
  // About ten unit roundoffs of the largest logits, which are near 10.
  for (const auto& [dtype, tolerance] :
       {Precision{kit::kFloat16, 0.05}, Precision{kit::kBFloat16, 0.4}}) {
    CAPTURE(kit::name_of(dtype));
    ModelDriver driver(reference.config, reference.weights, dtype);
    const double found = distance(doubles(driver.logits(driver.forward(reference.tokens))), wanted);
    CHECK(found < tolerance);
    CHECK(found > 1e-4);
  }
}

}  // namespace quench::test
