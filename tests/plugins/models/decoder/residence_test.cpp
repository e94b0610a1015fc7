// Weights that visit the device block by block, with host memory in its place.
#include "models/decoder/residence.hpp"

#include <ATen/ops/full.h>

#include <catch2/catch.hpp>

#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

const InstalledHost host_of_weights;

bool has_memory(const at::Tensor& tensor) {
  return tensor.storage().data() != nullptr;
}

}  // namespace

TEST_CASE("residence: a weight belongs to the block in its name", "[models]") {
  CHECK(decoder::block_of("model.layers.12.mlp.experts.3.up_proj.weight") == 12);
  CHECK(decoder::block_of("gpt_neox.layers.0.attention.dense.bias") == 0);
  CHECK(decoder::block_of("7") == 7);
  CHECK_FALSE(decoder::block_of("gpt_neox.embed_in.weight"));
  CHECK_FALSE(decoder::block_of("model.layer12.weight"));
  CHECK_FALSE(decoder::block_of("model.4x.weight"));
  CHECK_FALSE(decoder::block_of(""));
}

TEST_CASE("residence: only the weights of the block that computes have memory", "[models]") {
  decoder::VisitingWeights weights;
  const auto a = weights.make(0, {2, 3}, at::kFloat, at::kCPU);
  const auto b = weights.make(0, {4}, at::kFloat, at::kCPU);
  const auto c = weights.make(2, {5}, at::kDouble, at::kCPU);  // block 1 has none
  a.home.fill_(1.5);
  b.home.fill_(2.5);
  c.home.fill_(3.5);
  const at::Tensor view = a.on_device.t();
  CHECK_FALSE(has_memory(a.on_device));
  weights.enter(0);
  CHECK(a.on_device.equal(a.home));
  CHECK(b.on_device.equal(b.home));
  CHECK(view.equal(a.home.t()));
  CHECK(a.on_device.storage().data() != a.home.storage().data());
  CHECK_FALSE(has_memory(c.on_device));
  weights.enter(1);
  CHECK_FALSE(has_memory(a.on_device));
  weights.enter(2);
  CHECK_FALSE(has_memory(b.on_device));
  CHECK_FALSE(has_memory(view));
  CHECK(c.on_device.equal(c.home));
}

TEST_CASE("residence: a weight that is set is current, whether its block is there or comes",
          "[models]") {
  decoder::VisitingWeights weights;
  const auto here = weights.make(0, {3}, at::kFloat, at::kCPU);
  const auto away = weights.make(1, {3}, at::kFloat, at::kCPU);
  weights.enter(0);
  for (const auto& weight : {here, away}) {
    weight.home.fill_(7);
    weights.refresh(weight.on_device, weight.home);
  }
  CHECK(here.on_device.equal(at::full({3}, 7.0F)));
  CHECK_FALSE(has_memory(away.on_device));
  weights.enter(1);
  CHECK(away.on_device.equal(at::full({3}, 7.0F)));
}

TEST_CASE("residence: a model in host memory does not come block by block", "[models]") {
  CHECK_FALSE(decoder::comes_by_block(at::kCPU, uint64_t{1} << 60));
  {
    const decoder::ByBlock by_block;
    CHECK(decoder::comes_by_block(at::kCPU, 1));
  }
  CHECK_FALSE(decoder::comes_by_block(at::kCPU, 1));
}

}  // namespace quench::test
