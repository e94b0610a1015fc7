#include "tests/plugins/models/op_checks.hpp"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros_like.h>

#include <catch2/catch.hpp>
#include <memory>
#include <numeric>
#include <vector>

#include "quantizers/cache/cache_rounding.hpp"
#include "quantizers/inputs/rounded_linear.hpp"
#include "quench/abi/extension/gradients.h"
#include "quench/kit/error.hpp"
#include "quench/kit/scalar.hpp"
#include "quench/kit/torch.hpp"
#include "tests/plugins/models/derivative_checks.hpp"

namespace quench::test {

namespace {

using quantizers::RoundedLinear;

// Rows on 15 levels.
at::Tensor four_bits(const at::Tensor& weight) {
  const at::Tensor scale = weight.abs().amax({1}, /*keepdim=*/true).div(7);
  return weight.div(scale).round().mul(scale);
}

// A quantizer's op. Once it is held, it adds what rounding added last, whatever the inputs are, and
// multiplies by the weight as it is now.
class LinearOp {
 public:
  LinearOp(ModelDriver& driver, const quench_linear_info& linear)
      : driver_(driver), weight_(linear.weight) {
    const at::ScalarType type = kit::scalar_type(driver.info().dtype);
    const at::Tensor weight = four_bits(driver.weight(weight_, type));
    driver.set_weight(weight_, weight);
    quantizers::ActivationSettings settings;
    settings.activations = "int8";
    rounded_ = std::make_unique<RoundedLinear>(
        weight, std::span<const double>(),
        quantizers::InputRounding(settings, linear.in_features, nullptr, {}, linear.name));
  }
  quench_linear_op table() {
    return {
        sizeof(quench_linear_op), this,
        [](void* context, const quench_tensor* x, const quench_tensor* y, void*,
           quench_error* error) noexcept -> quench_status {
          return kit::guard(error, [&] {
            static_cast<LinearOp*>(context)->apply(kit::borrow(*x), kit::borrow(*y));
          });
        },
        nullptr,
        [](void* context, const quench_tensor* x, const quench_tensor* rounded, void*,
           quench_error* error) noexcept -> quench_status {
          return kit::guard(error, [&] {
            kit::borrow(*rounded).copy_(static_cast<LinearOp*>(context)->inputs(kit::borrow(*x)));
          });
        }};
  }
  void hold() { held_ = true; }

 private:
  at::Tensor inputs(const at::Tensor& x) {
    if (held_) {
      return x.add(added_);
    }
    const at::Tensor out = at::empty_like(x);
    rounded_->inputs(x, out);
    added_ = out.sub(x);
    return out;
  }
  void apply(const at::Tensor& x, at::Tensor y) {
    const at::Tensor multiplied = inputs(x);
    if (held_) {
      at::mm_out(y, multiplied, driver_.weight(weight_, x.scalar_type()).t());
    } else {
      rounded_->apply(x, y);
    }
  }

  ModelDriver& driver_;
  std::string weight_;
  std::unique_ptr<RoundedLinear> rounded_;
  at::Tensor added_;
  bool held_ = false;
};

// Likewise, on keys and values.
class CacheOp {
 public:
  explicit CacheOp(uint32_t block) : rounding_(settings(), block) {}
  quench_cache_op table() {
    return {sizeof(quench_cache_op), this,
            [](void* context, const quench_cache_args* args,
               quench_error* error) noexcept -> quench_status {
              return kit::guard(error, [&] {
                static_cast<CacheOp*>(context)->apply(kit::borrow(*args->keys),
                                                      kit::borrow(*args->values), *args->batch);
              });
            },
            nullptr};
  }
  void hold() { held_ = true; }

 private:
  static quantizers::CacheSettings settings() {
    quantizers::CacheSettings out;
    out.format = "int4";
    out.group_size = 8;
    return out;
  }
  void apply(at::Tensor keys, at::Tensor values, const quench_batch& batch) {
    if (held_) {
      keys.add_(to_keys_);
      values.add_(to_values_);
      return;
    }
    const at::Tensor before[] = {keys.clone(), values.clone()};
    rounding_.apply(keys, values, batch);
    to_keys_ = keys.sub(before[0]);
    to_values_ = values.sub(before[1]);
  }

  quantizers::CacheRounding rounding_;
  at::Tensor to_keys_;
  at::Tensor to_values_;
  bool held_ = false;
};

// Ops wherever a model takes one, as long as the object lives.
class Ops {
 public:
  explicit Ops(ModelDriver& driver) : driver_(driver) {
    each_linear([&](uint32_t b, uint32_t g, uint32_t l, const quench_linear_info& linear) {
      linears_.push_back(std::make_unique<LinearOp>(driver, linear));
      const quench_linear_op table = linears_.back()->table();
      driver.set_linear_op(b, g, l, &table);
    });
    for (uint32_t b = 0; b < driver.info().blocks; ++b) {
      caches_.push_back(std::make_unique<CacheOp>(b));
      const quench_cache_op table = caches_.back()->table();
      driver.set_cache_op(b, &table);
    }
  }
  Ops(const Ops&) = delete;
  Ops& operator=(const Ops&) = delete;
  ~Ops() {
    each_linear([&](uint32_t b, uint32_t g, uint32_t l, const quench_linear_info&) {
      driver_.set_linear_op(b, g, l, nullptr);
    });
    for (uint32_t b = 0; b < caches_.size(); ++b) {
      driver_.set_cache_op(b, nullptr);
    }
  }
  void hold() {
    for (const auto& each : linears_) {
      each->hold();
    }
    for (const auto& each : caches_) {
      each->hold();
    }
  }

 private:
  template <typename Visit>
  void each_linear(Visit visit) {
    for (uint32_t b = 0; b < driver_.info().blocks; ++b) {
      const quench_block_info& block = driver_.block(b);
      for (uint32_t g = 0; g < block.group_count; ++g) {
        for (uint32_t l = 0; l < block.groups[g].linear_count; ++l) {
          visit(b, g, l, block.groups[g].linears[l]);
        }
      }
    }
  }

  ModelDriver& driver_;
  std::vector<std::unique_ptr<LinearOp>> linears_;
  std::vector<std::unique_ptr<CacheOp>> caches_;
};

double relative(const at::Tensor& got, const at::Tensor& wanted) {
  return got.sub(wanted).norm().item<double>() / wanted.norm().item<double>();
}

double total(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

}  // namespace

void differentiates_through_ops(const std::string& config, const MemorySource& source,
                                const Tokens& tokens) {
  constexpr int32_t kKinds[] = {QUENCH_CURVATURE_HESSIAN, QUENCH_CURVATURE_FORWARD,
                                QUENCH_CURVATURE_GAUSS_NEWTON};
  need_host_memory();
  const std::vector<int32_t> targets = next_ids(tokens);
  ModelDriver driver(config, source, kit::kFloat64);
  const double plain = total(driver.next_id_nll(tokens));
  {
    Ops ops(driver);
    const double loss = total(driver.next_id_nll(tokens));
    CHECK(std::abs(loss - plain) > 1e-4 * plain);  // else nothing is rounded
    const at::Tensor gradient = at::zeros_like(driver.parameters());
    CHECK(driver.gradient(tokens, targets, gradient) == Approx(loss).epsilon(1e-12));
    const at::Tensor v = at::ones_like(gradient).div_(gradient.numel());
    std::vector<at::Tensor> products;
    for (const int32_t kind : kKinds) {
      products.push_back(driver.products(tokens, targets, kind, {v})[0]);
    }
    // From here on what is differentiated is smooth, and is so by itself.
    ops.hold();
    CHECK(total(driver.next_id_nll(tokens)) == Approx(loss).epsilon(1e-12));
    derivatives_are_those_of_differences(driver, tokens);
    const at::Tensor held = at::zeros_like(gradient);
    driver.gradient(tokens, targets, held);
    CHECK(relative(gradient, held) < 1e-11);
    for (size_t i = 0; i < products.size(); ++i) {
      CHECK(relative(products[i], driver.products(tokens, targets, kKinds[i], {v})[0]) < 1e-9);
    }
  }
  // x of other bits may round to the next code, so these are near at most.
  ModelDriver narrow(config, source, kit::kFloat32);
  const Ops ops(narrow);
  const double loss = total(narrow.next_id_nll(tokens));
  const at::Tensor into = at::zeros_like(narrow.parameters().to(at::kFloat));
  CHECK(narrow.gradient(tokens, targets, into) == Approx(loss).epsilon(1e-2));
  CHECK(narrow.gradient(tokens, targets, into, 1.0, QUENCH_LOSS_AUTOCAST_BFLOAT16) ==
        Approx(loss).epsilon(5e-2));
}

}  // namespace quench::test
