// Scales that preceding weights absorb leave the model as it was.
#include <ATen/ops/arange.h>

#include <catch2/catch.hpp>

#include "quench/kit/scalar.hpp"
#include "tests/plugins/models/gpt_neox/tiny_model.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

TEST_CASE("gpt_neox: dividing the sites and multiplying the columns changes nothing",
          "[models][gpt_neox]") {
  TinyModel model;
  model.parallel = GENERATE(true, false);
  model.attention_bias = GENERATE(true, false);
  model.draw();
  MemorySource source;
  model.store(source, kit::kFloat32);
  ModelDriver driver(model.config(), source, kit::kFloat64);
  const Tokens tokens = some_tokens(model, 2, 9);
  const std::vector<double> before = doubles(driver.logits(driver.forward(tokens)));

  const auto group_index = GENERATE(0u, 1u, 2u);
  const quench_group_info& group = driver.block(0).groups[group_index];
  REQUIRE(group.site_count > 0);
  const int64_t channels = group.linears[0].in_features;
  // 0.5 .. 2, another factor for each channel.
  const at::Tensor scale =
      at::arange(channels, at::TensorOptions(at::kDouble)).mul(1.5 / 24.0).add(0.5);
  for (uint32_t s = 0; s < group.site_count; ++s) {
    const quench_scale_site& site = group.sites[s];
    const at::Tensor weight = driver.weight(site.parameter, at::kDouble);
    for (int64_t c = 0; c < channels; ++c) {
      weight.select(0, site.rows != nullptr ? site.rows[c] : c).div_(scale.select(0, c));
    }
    driver.set_weight(site.parameter, weight);
  }
  CHECK(distance(doubles(driver.logits(driver.forward(tokens))), before) > 1e-3);
  for (uint32_t l = 0; l < group.linear_count; ++l) {
    const std::string name = group.linears[l].weight;
    driver.set_weight(name, driver.weight(name, at::kDouble).mul(scale));
  }
  CHECK(distance(doubles(driver.logits(driver.forward(tokens))), before) < 1e-10);
}

TEST_CASE("gpt_neox: the linear after the GELU has no site", "[models][gpt_neox]") {
  TinyModel model;
  model.draw();
  MemorySource source;
  model.store(source, kit::kFloat32);
  const ModelDriver driver(model.config(), source, kit::kFloat32);
  const quench_block_info& block = driver.block(0);
  REQUIRE(block.group_count == 4);
  CHECK(block.stage_count == 5);
  const std::vector<std::string> roles = {"qkv", "o", "up", "down"};
  for (uint32_t g = 0; g < 4; ++g) {
    CHECK(block.groups[g].linears[0].role == roles[g]);
    CHECK(block.groups[g].stage == g);
    CHECK((block.groups[g].site_count == 0) == (g == 3));
  }
}

}  // namespace quench::test
