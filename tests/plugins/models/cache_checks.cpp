#include "tests/plugins/models/cache_checks.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/zeros_like.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <vector>

#include "quench/kit/error.hpp"
#include "quench/kit/scalar.hpp"
#include "quench/kit/torch.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

// An op that calls `change` with keys and values [N,K,D], and counts.
struct Op {
  std::function<void(at::Tensor& keys, at::Tensor& values)> change;
  std::vector<int32_t> ids = {};  // of the batch that it was given last
  int calls = 0;
  int releases = 0;

  quench_cache_op table() {
    return {sizeof(quench_cache_op), this,
            [](void* context, const quench_cache_args* args,
               quench_error* error) noexcept -> quench_status {
              auto& self = *static_cast<Op*>(context);
              ++self.calls;
              return kit::guard(error, [&] {
                const auto given = kit::elements<int32_t>(*args->batch->tokens, "tokens");
                self.ids.assign(given.begin(), given.end());
                at::Tensor keys = kit::borrow(*args->keys);
                at::Tensor values = kit::borrow(*args->values);
                self.change(keys, values);
              });
            },
            [](void* context) noexcept { ++static_cast<Op*>(context)->releases; }};
  }
};

// What attention gives in a block [N, H*D]: the input of the block's last linear before its MLP.
at::Tensor attended(ModelDriver& driver, uint32_t block, const Tokens& tokens,
                    const at::Tensor& h) {
  at::Tensor out;
  driver.run_block(block, tokens, h, Storage::kSeparate,
                   [&](uint32_t stage, const std::vector<at::Tensor>& carried) {
                     if (stage == 1) {
                       out = carried[1].clone();
                     }
                   });
  return out;
}

// Fixed numbers of the shape of x.
at::Tensor waves(const at::Tensor& x) {
  return at::arange(x.numel(), x.options()).mul(0.7).sin().view(x.sizes());
}

// With an op that adds what does not depend on keys and values, the gradients of a block's first
// linears are those of differences.
void has_the_derivative_of_the_identity(ModelDriver& driver, uint32_t block, const Tokens& tokens,
                                        const at::Tensor& h) {
  constexpr double kStep = 1e-4;
  const at::Tensor slope = waves(h);
  const quench_group_info& first = driver.block(block).groups[0];
  for (uint32_t l = 0; l < first.linear_count; ++l) {
    const std::string name = first.linears[l].weight;
    CAPTURE(name);
    const at::Tensor weight = driver.weight(name, at::kDouble);
    const at::Tensor gradient = at::zeros_like(weight);
    driver.block_gradient(block, tokens, h, slope, true, {name}, {gradient});
    const at::Tensor along = waves(weight).div_(waves(weight).norm());
    const auto loss = [&](double step) {
      driver.set_weight(name, weight.add(along, step));
      return driver.run_block(block, tokens, h).mul(slope).sum().item<double>();
    };
    const double wanted =
        (8 * (loss(kStep) - loss(-kStep)) - (loss(2 * kStep) - loss(-2 * kStep))) / (12 * kStep);
    driver.set_weight(name, weight);
    CHECK(gradient.mul(along).sum().item<double>() == Approx(wanted).epsilon(2e-7).margin(2e-7));
    CHECK(std::abs(wanted) > 1e-6);
  }
}

}  // namespace

void lets_an_op_change_keys_and_values(const std::string& config, const MemorySource& source,
                                       const Tokens& tokens) {
  need_host_memory();
  REQUIRE(tokens.segments.empty());
  ModelDriver driver(config, source, kit::kFloat64);
  const uint32_t blocks = driver.info().blocks;
  const at::Tensor before = driver.forward(tokens);
  Op nothing{[](at::Tensor&, at::Tensor&) {}};
  const quench_cache_op same = nothing.table();
  for (uint32_t b = 0; b < blocks; ++b) {
    driver.set_cache_op(b, &same);
  }
  CHECK(identical(driver.forward(tokens), before));
  CHECK(nothing.calls == static_cast<int>(blocks));
  CHECK(nothing.ids == tokens.ids);
  for (uint32_t b = 0; b < blocks; ++b) {
    driver.set_cache_op(b, nullptr);
  }
  CHECK(nothing.releases == static_cast<int>(blocks));

  bool rotates = false;
  const at::Tensor h = driver.embed(tokens);
  for (uint32_t b = 0; b < blocks; ++b) {
    CAPTURE(b);
    const at::Tensor plain = attended(driver, b, tokens, h);
    at::Tensor keys;
    at::Tensor values;
    Op op{[&](at::Tensor& k, at::Tensor& v) {
      keys = k.clone();
      v.mul_(2.0);
    }};
    quench_cache_op table = op.table();
    driver.set_cache_op(b, &table);
    CHECK(identical(attended(driver, b, tokens, h), plain.mul(2.0)));
    Tokens elsewhere = tokens;
    elsewhere.positions.assign(tokens.ids.size(), 0);
    const at::Tensor rotated = keys;
    attended(driver, b, elsewhere, h);
    CHECK(identical(rotated.select(0, 0), keys.select(0, 0)));  // at position 0 either way
    rotates = rotates || !identical(rotated, keys);

    op.change = [&](at::Tensor& k, at::Tensor& v) {
      k.zero_();
      values = v.clone();
    };
    const at::Tensor uniform = attended(driver, b, tokens, h);
    const int64_t width = values.size(2);
    const int64_t heads = uniform.size(1) / width;
    const int64_t serves = heads / values.size(1);
    at::Tensor means = at::zeros_like(uniform);
    for (int64_t row = 0; row < tokens.rows; ++row) {
      for (int64_t t = 0; t < tokens.length; ++t) {
        for (int64_t head = 0; head < heads; ++head) {
          const at::Tensor seen =
              values.select(1, head / serves).narrow(0, row * tokens.length, t + 1);
          means.select(0, row * tokens.length + t)
              .narrow(0, head * width, width)
              .copy_(seen.sum(0).div(static_cast<double>(t + 1)));
        }
      }
    }
    CHECK(distance(doubles(uniform), doubles(means)) < 1e-12);

    op.change = [](at::Tensor&, at::Tensor&) { throw kit::Error(QUENCH_NUMERICAL, "it is odd"); };
    CHECK_THROWS_WITH(attended(driver, b, tokens, h), "it is odd");
    op.change = [](at::Tensor& k, at::Tensor& v) {
      k.add_(waves(k));
      v.add_(waves(v));
    };
    has_the_derivative_of_the_identity(driver, b, tokens, h);
    driver.set_cache_op(b, nullptr);
    CHECK(op.releases == 1);
    CHECK(identical(attended(driver, b, tokens, h), plain));
  }
  CHECK(rotates);
}

}  // namespace quench::test
