// Weights that visit the device block by block, with host memory in its place.
#include "models/decoder/residence.hpp"

#include <ATen/ops/full.h>

#include <catch2/catch.hpp>

#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

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

TEST_CASE("residence: the block that computes has memory, and the next one that has weights",
          "[models]") {
  decoder::VisitingWeights weights;
  const auto a = weights.make(0, {2, 3}, at::kFloat, at::kCPU);
  const auto b = weights.make(0, {4}, at::kFloat, at::kCPU);
  const auto c = weights.make(2, {5}, at::kDouble, at::kCPU);  // block 1 has none
  const auto d = weights.make(3, {6}, at::kFloat, at::kCPU);
  a.home.fill_(1.5);
  b.home.fill_(2.5);
  c.home.fill_(3.5);
  d.home.fill_(4.5);
  const at::Tensor view = a.on_device.t();
  CHECK_FALSE(has_memory(a.on_device));
  weights.enter(0);
  CHECK(a.on_device.equal(a.home));
  CHECK(b.on_device.equal(b.home));
  CHECK(view.equal(a.home.t()));
  CHECK(a.on_device.storage().data() != a.home.storage().data());
  CHECK(c.on_device.equal(c.home));
  CHECK_FALSE(has_memory(d.on_device));
  const void* place = c.on_device.storage().data();
  weights.enter(2);
  CHECK_FALSE(has_memory(b.on_device));
  CHECK_FALSE(has_memory(view));
  CHECK(c.on_device.storage().data() == place);  // it was there already
  CHECK(d.on_device.equal(d.home));
  weights.enter(3);
  CHECK_FALSE(has_memory(c.on_device));
  CHECK(view.equal(a.home.t()));  // the first follows the last
  weights.enter(1);               // which has no weights
  CHECK_FALSE(has_memory(a.on_device));
  CHECK_FALSE(has_memory(d.on_device));
  CHECK(c.on_device.equal(c.home));
}

TEST_CASE("residence: a block that is entered out of turn is brought, and its follower with it",
          "[models]") {
  decoder::VisitingWeights weights;
  std::vector<decoder::VisitingWeights::Made> blocks;
  for (uint32_t block = 0; block < 4; ++block) {
    blocks.push_back(weights.make(block, {3}, at::kFloat, at::kCPU));
    blocks.back().home.fill_(block);
  }
  std::optional<uint32_t> last;
  for (const uint32_t block : {0U, 2U, 3U, 2U, 1U, 0U, 3U, 3U, 0U}) {
    CAPTURE(block);
    const bool backwards = last == block + 1;  // as gradients go
    const uint32_t next = last == block ? (block + 1) % 4 : (block + (backwards ? 3 : 1)) % 4;
    last = block;
    weights.enter(block);
    for (uint32_t other = 0; other < 4; ++other) {
      CAPTURE(other);
      const bool there = other == block || other == next;
      CHECK(has_memory(blocks[other].on_device) == there);
      if (there) {
        CHECK(blocks[other].on_device.equal(blocks[other].home));
      }
    }
  }
}

TEST_CASE("residence: a weight that is set is current, whether its block is there, next or away",
          "[models]") {
  decoder::VisitingWeights weights;
  const auto here = weights.make(0, {3}, at::kFloat, at::kCPU);
  const auto next = weights.make(1, {3}, at::kFloat, at::kCPU);
  const auto away = weights.make(2, {3}, at::kFloat, at::kCPU);
  const at::Tensor wanted = at::full({3}, 7.0F);
  weights.enter(0);
  for (const auto& weight : {here, next, away}) {
    weights.settle();
    weight.home.fill_(7);
    weights.refresh(weight.on_device, weight.home);
  }
  CHECK(here.on_device.equal(wanted));
  CHECK_FALSE(has_memory(away.on_device));
  weights.enter(1);
  CHECK(next.on_device.equal(wanted));
  weights.enter(2);
  CHECK(away.on_device.equal(wanted));
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
