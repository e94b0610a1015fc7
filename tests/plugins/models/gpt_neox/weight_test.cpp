// Weights by name, replacements of linears, device memory.
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/mm.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <set>

#include "models/decoder/residence.hpp"
#include "quench/kit/error.hpp"
#include "quench/kit/torch.hpp"
#include "tests/plugins/models/gpt_neox/tiny_model.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

const std::string kDense = "gpt_neox.layers.1.attention.dense.weight";

struct OpenedWeights {
  TinyModel model;
  MemorySource source;
  std::unique_ptr<ModelDriver> driver;

  explicit OpenedWeights(quench_dtype dtype, bool tied = false) {
    model.tied = tied;
    model.draw();
    model.store(source, kit::kFloat32);
    driver = std::make_unique<ModelDriver>(model.config(), source, dtype);
  }
  at::Tensor forward() const { return driver->forward(some_tokens(model, 2, 8)); }
};

}  // namespace

TEST_CASE("gpt_neox: a weight that is set and restored leaves no trace", "[models][gpt_neox]") {
  const quench_dtype dtype = GENERATE(kit::kFloat64, kit::kFloat32, kit::kBFloat16, kit::kFloat16);
  const OpenedWeights opened(dtype);
  const at::Tensor before = opened.forward();
  const at::Tensor held = opened.driver->weight(kDense, kit::scalar_type(dtype));
  CHECK(opened.driver->generation(kDense) == 0);
  opened.driver->set_weight(kDense, held.mul(2.0));
  CHECK(opened.driver->generation(kDense) == 1);
  CHECK_FALSE(identical(before, opened.forward()));
  opened.driver->set_weight(kDense, held);
  CHECK(opened.driver->generation(kDense) == 2);
  CHECK(opened.driver->generation("gpt_neox.layers.0.attention.dense.weight") == 0);
  CHECK(identical(before, opened.forward()));
}

TEST_CASE("gpt_neox: a name without the prefix is the same weight", "[models][gpt_neox]") {
  const OpenedWeights opened(kit::kFloat32);
  opened.driver->set_weight("layers.1.attention.dense.weight",
                            at::full({24, 24}, 0.5, at::TensorOptions(at::kFloat)));
  CHECK(opened.driver->generation(kDense) == 1);
  CHECK(opened.driver->weight(kDense, at::kFloat).eq(0.5).all().item<bool>());
}

TEST_CASE("gpt_neox: values are rounded once", "[models][gpt_neox]") {
  // 1 + 2^-8 is halfway between two bfloat16, 1 + 2^-11 between two float16; a little more must go
  // up, but float32 would drop the little and the tie would go down to even.
  const auto [dtype, value, wanted] = GENERATE(table<quench_dtype, double, double>(
      {{kit::kBFloat16, 1.0 + std::ldexp(1.0, -8) + std::ldexp(1.0, -40),
        1.0 + std::ldexp(1.0, -7)},
       {kit::kFloat16, 1.0 + std::ldexp(1.0, -11) + std::ldexp(1.0, -40),
        1.0 + std::ldexp(1.0, -10)}}));
  SECTION("by weight_set") {
    const OpenedWeights opened(dtype);
    opened.driver->set_weight(kDense, at::full({24, 24}, value, at::TensorOptions(at::kDouble)));
    CHECK(opened.driver->weight(kDense, at::kDouble).eq(wanted).all().item<bool>());
  }
  SECTION("by weight_get") {
    const OpenedWeights opened(kit::kFloat64);
    opened.driver->set_weight(kDense, at::full({24, 24}, value, at::TensorOptions(at::kDouble)));
    CHECK(opened.driver->weight(kDense, kit::scalar_type(dtype)).eq(wanted).all().item<bool>());
  }
  SECTION("by open") {
    TinyModel model;
    model.draw();
    model.weights["layers.1.attention.dense.weight"].assign(24 * 24, value);
    MemorySource source;
    model.store(source, kit::kFloat64);
    ModelDriver driver(model.config(), source, dtype);
    CHECK(driver.weight(kDense, at::kDouble).eq(wanted).all().item<bool>());
  }
}

TEST_CASE("gpt_neox: tied names change together", "[models][gpt_neox]") {
  const OpenedWeights opened(kit::kFloat32, /*tied=*/true);
  opened.driver->set_weight("embed_out.weight",
                            at::full({37, 24}, 0.25, at::TensorOptions(at::kFloat)));
  CHECK(opened.driver->generation("gpt_neox.embed_in.weight") == 1);
  CHECK(opened.driver->weight("gpt_neox.embed_in.weight", at::kFloat).eq(0.25).all().item<bool>());
}

TEST_CASE("gpt_neox: parameters lie one after the other in the flat vector", "[models][gpt_neox]") {
  const bool tied = GENERATE(true, false);
  const OpenedWeights opened(kit::kFloat32, tied);
  const quench_parameter_info* infos = nullptr;
  uint64_t count = 0;
  REQUIRE(opened.driver->table().parameters(opened.driver->get(), &infos, &count, nullptr) == 0);
  CHECK(count == opened.model.weights.size());
  uint64_t offset = 0;
  std::set<std::string> names;
  for (uint64_t i = 0; i < count; ++i) {
    CHECK(infos[i].offset == offset);
    CHECK(names.insert(infos[i].name).second);
    uint64_t elements = 1;
    for (int32_t d = 0; d < infos[i].dimensions; ++d) {
      elements *= static_cast<uint64_t>(infos[i].shape[d]);
    }
    offset += elements;
  }
  CHECK(names.contains("embed_out.weight") != tied);
}

TEST_CASE("gpt_neox: a weight call that cannot be is refused by name", "[models][gpt_neox]") {
  const OpenedWeights opened(kit::kFloat32);
  CHECK_THROWS_WITH(opened.driver->generation("nonsense"), Catch::Contains("nonsense"));
  CHECK_THROWS_WITH(
      opened.driver->set_weight(kDense, at::full({24, 23}, 0.0, at::TensorOptions(at::kFloat))),
      Catch::Contains(kDense) && Catch::Contains("[24, 23], wanted [24, 24]"));
  CHECK_THROWS_WITH(
      opened.driver->set_weight(kDense, at::full({24, 24}, 0, at::TensorOptions(at::kInt))),
      Catch::Contains("int32, wanted a float dtype"));
  CHECK(opened.driver->generation(kDense) == 0);
}

namespace {

// x Wᵀ by libtorch, counting calls and releases.
struct Product {
  at::Tensor weight;
  int calls = 0;
  int releases = 0;
  bool fails = false;

  quench_linear_op op() {
    return {sizeof(quench_linear_op), this,
            [](void* context, const quench_tensor* x, const quench_tensor* y, void*,
               quench_error* error) noexcept -> quench_status {
              auto& self = *static_cast<Product*>(context);
              ++self.calls;
              if (self.fails) {
                return kit::report(error, QUENCH_NUMERICAL, "the op failed");
              }
              return kit::guard(error, [&] {
                at::Tensor out = kit::borrow(*y);
                at::mm_out(out, kit::borrow(*x), self.weight.t());
              });
            },
            [](void* context) noexcept { ++static_cast<Product*>(context)->releases; }, nullptr};
  }
};

}  // namespace

TEST_CASE("gpt_neox: a replaced linear computes what its replacement says", "[models][gpt_neox]") {
  need_host_memory();
  const uint32_t group = GENERATE(0u, 1u, 2u, 3u);
  auto opened = std::make_unique<OpenedWeights>(kit::kFloat64);
  const at::Tensor before = opened->forward();
  const quench_linear_info& linear = opened->driver->block(1).groups[group].linears[0];
  Product product{opened->driver->weight(linear.weight, at::kDouble)};
  const quench_linear_op op = product.op();
  opened->driver->set_linear_op(1, group, 0, &op);
  CHECK(distance(doubles(opened->forward()), doubles(before)) < 1e-11);  // the bias is still added
  CHECK(product.calls == 1);
  product.weight = product.weight.mul(1.5);
  const at::Tensor scaled = opened->forward();
  CHECK_FALSE(identical(scaled, before));
  product.fails = true;
  CHECK_THROWS_WITH(opened->forward(), "the op failed");
  opened->driver->set_linear_op(1, group, 0, nullptr);
  CHECK(product.releases == 1);
  CHECK(identical(opened->forward(), before));
  opened->driver->set_linear_op(1, group, 0, &op);
  opened.reset();
  CHECK(product.releases == 2);
}

TEST_CASE("gpt_neox: memory for tensors comes from the host and goes back", "[models][gpt_neox]") {
  need_host_memory();
  const int64_t live = live_allocations();
  {
    const OpenedWeights opened(kit::kFloat32);
    const quench_model_table& table = opened.driver->table();
    void* memory = nullptr;
    REQUIRE(table.allocate(opened.driver->get(), 4096, &memory, nullptr) == QUENCH_OK);
    CHECK(reinterpret_cast<uintptr_t>(memory) % 64 == 0);
    table.release(opened.driver->get(), memory);
    limit_allocation(1000);
    quench_error error{sizeof error, 0, {}};
    CHECK(table.allocate(opened.driver->get(), 4096, &memory, &error) == QUENCH_RESOURCE_EXHAUSTED);
    CHECK_THAT(error.message, Catch::Contains("4096 bytes"));
    limit_allocation(UINT64_MAX);
    const at::Tensor from = at::full({3, 5}, 7.0, at::TensorOptions(at::kFloat));
    const at::Tensor to = at::empty({3, 5}, at::TensorOptions(at::kFloat));
    const quench_tensor source = kit::view_of(from);
    const quench_tensor target = kit::view_of(to);
    REQUIRE(table.copy(opened.driver->get(), &source, &target, nullptr, nullptr) == QUENCH_OK);
    CHECK(identical(from, to));
    int stream = 0;
    CHECK(table.copy(opened.driver->get(), &source, &target, &stream, nullptr) ==
          QUENCH_UNSUPPORTED);
  }
  CHECK(live_allocations() == live);
}

TEST_CASE("gpt_neox: block by block it computes what it does as a whole", "[models][gpt_neox]") {
  TinyModel model;
  model.blocks = 4;
  model.draw();
  MemorySource source;
  model.store(source, kit::kFloat32);
  const Tokens tokens = some_tokens(model, 3, 11);
  const quench_dtype dtype = GENERATE(kit::kFloat64, kit::kFloat32, kit::kBFloat16);
  ModelDriver whole(model.config(), source, dtype);
  const decoder::ByBlock by_block;
  ModelDriver visited(model.config(), source, dtype);
  const auto check = [&] {
    CHECK(identical(visited.forward(tokens), whole.forward(tokens)));
    CHECK(visited.next_id_nll(tokens) == whole.next_id_nll(tokens));
    CHECK(identical(visited.parameters(), whole.parameters()));
  };
  check();
  // The last block is there now, the first is not.
  for (const char* name :
       {"gpt_neox.layers.3.mlp.dense_4h_to_h.weight", "gpt_neox.layers.0.attention.dense.weight"}) {
    const at::Tensor other = whole.weight(name, at::kDouble).mul(0.5);
    whole.set_weight(name, other);
    visited.set_weight(name, other);
    CHECK(visited.generation(name) == whole.generation(name));
  }
  check();
}

}  // namespace quench::test
