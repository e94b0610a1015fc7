#include "tests/plugins/models/derivative_checks.hpp"

#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "quench/abi/extension/gradients.h"
#include "quench/kit/scalar.hpp"
#include "quench/kit/torch.hpp"
#include "tests/support/host_threads.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

double total(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

at::Tensor zeros(int64_t count, at::ScalarType type) {
  return at::zeros({count}, at::TensorOptions(type));
}

double dot(const at::Tensor& a, const at::Tensor& b) {
  const std::vector<double> x = doubles(a);
  const std::vector<double> y = doubles(b);
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

double norm(const at::Tensor& x) {
  return std::sqrt(dot(x, x));
}

int64_t elements_of(const quench_parameter_info& info) {
  return std::accumulate(info.shape, info.shape + info.dimensions, int64_t{1}, std::multiplies<>());
}

// A direction of unit length.
at::Tensor direction_of(int64_t count, uint64_t seed) {
  at::Tensor direction = zeros(count, at::kDouble);
  for (double& value :
       std::span(direction.mutable_data_ptr<double>(), static_cast<size_t>(count))) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    value = static_cast<double>(seed >> 11) * 0x1p-52 - 1.0;
  }
  return direction.div_(norm(direction));
}

// Fourth-order difference of f along a step.
template <typename Function>
at::Tensor slope_of(const Function& f, double step) {
  return f(step).sub(f(-step)).mul(8.0).sub(f(2.0 * step).sub(f(-2.0 * step))).div(12.0 * step);
}

// Central differences of the stages' loss, fourth order, along a direction in one parameter.
void matches_differences(ModelDriver& driver, const Tokens& tokens, const at::Tensor& gradient,
                         const std::vector<std::string>& flat) {
  constexpr double kStep = 1e-4;
  constexpr double kTolerance = 2e-7;  // kStep to the fourth and roundoff over kStep, with margin
  const at::Tensor at = driver.parameters();
  at::Tensor direction = zeros(at.numel(), at::kDouble);
  const auto loss = [&](double step) {
    driver.set_parameters(at.add(direction, step));
    return total(driver.next_id_nll(tokens));
  };
  uint64_t seed = 1;
  for (const quench_parameter_info& info : driver.parameter_infos()) {
    CAPTURE(info.name);
    const int64_t count = elements_of(info);
    direction.zero_();
    direction.narrow(0, static_cast<int64_t>(info.offset), count)
        .copy_(direction_of(count, ++seed));
    const double slope =
        (8.0 * (loss(kStep) - loss(-kStep)) - (loss(2.0 * kStep) - loss(-2.0 * kStep))) /
        (12.0 * kStep);
    if (std::find(flat.begin(), flat.end(), info.name) != flat.end()) {
      CHECK(slope == 0.0);  // else a step changes a choice: the point is too near a tie
      CHECK(norm(gradient.narrow(0, static_cast<int64_t>(info.offset), count)) == 0.0);
      continue;
    }
    CHECK(dot(gradient, direction) == Approx(slope).epsilon(kTolerance).margin(kTolerance));
    CHECK(std::abs(slope) > 1e-9);  // else the direction shows nothing
  }
  driver.set_parameters(at);
}

// Weights of a block's linears, and gradients of zeros for them.
struct BlockGradients {
  BlockGradients(const quench_block_info& block, at::ScalarType type) {
    for (uint32_t g = 0; g < block.group_count; ++g) {
      for (uint32_t l = 0; l < block.groups[g].linear_count; ++l) {
        const quench_linear_info& linear = block.groups[g].linears[l];
        names.emplace_back(linear.weight);
        values.push_back(
            at::zeros({linear.out_features, linear.in_features}, at::TensorOptions(type)));
      }
    }
  }
  std::vector<std::string> names;
  std::vector<at::Tensor> values;
};

// block_gradient of every linear's weight, against central differences of the stages' output, both
// ways of saying a loss, its weight, what is there, and a weight alone.
void blocks_match_differences(ModelDriver& driver, const Tokens& tokens) {
  constexpr double kStep = 1e-4;
  constexpr double kTolerance = 2e-7;  // as for whole losses
  constexpr double kSame = 1e-11;      // two orders of the same operations
  at::Tensor h = driver.embed(tokens);
  for (uint32_t b = 0; b < driver.info().blocks; ++b) {
    CAPTURE(b);
    const at::Tensor output = driver.run_block(b, tokens, h).clone();
    const at::Tensor away = direction_of(output.numel(), 71 + b).view(output.sizes());
    const at::Tensor target = output.add(away.to(output.device()));
    const auto distance = [&] {
      const at::Tensor left = driver.run_block(b, tokens, h).sub(target).cpu().view({-1});
      return dot(left, left);
    };
    const BlockGradients found(driver.block(b), at::kDouble);
    CHECK(driver.block_gradient(b, tokens, h, target, false, found.names, found.values) ==
          Approx(distance()).epsilon(kSame));
    for (size_t i = 0; i < found.names.size(); ++i) {
      const std::string& name = found.names[i];
      CAPTURE(name);
      const at::Tensor weight = driver.weight(name, at::kDouble);
      const at::Tensor direction = direction_of(weight.numel(), 3 * i + b).view_as(weight);
      const auto at_step = [&](double step) {
        driver.set_weight(name, weight.add(direction, step));
        return distance();
      };
      const double slope =
          (8.0 * (at_step(kStep) - at_step(-kStep)) - (at_step(2 * kStep) - at_step(-2 * kStep))) /
          (12.0 * kStep);
      driver.set_weight(name, weight);
      CHECK(dot(found.values[i].view({-1}), direction.view({-1})) ==
            Approx(slope).epsilon(kTolerance).margin(kTolerance));
      const at::Tensor alone = at::zeros_like(weight);
      driver.block_gradient(b, tokens, h, target, false, {name}, {alone});
      CHECK(identical(alone, found.values[i]));
    }
    const at::Tensor slope = output.sub(target).mul(2.0);
    const BlockGradients along(driver.block(b), at::kDouble);
    CHECK(
        driver.block_gradient(b, tokens, h, slope, true, along.names, along.values) ==
        Approx(dot(slope.cpu().view({-1}), output.cpu().view({-1}))).epsilon(kSame).margin(kSame));
    driver.block_gradient(b, tokens, h, slope, true, along.names, along.values, -0.5);
    double largest = 0;
    for (size_t i = 0; i < along.names.size(); ++i) {
      const at::Tensor half = found.values[i].mul(0.5);
      CHECK(norm(along.values[i].sub(half).view({-1})) < kSame * (1 + norm(half.view({-1}))));
      largest = std::max(largest, norm(half.view({-1})));
    }
    CHECK(largest > 1e-6);  // else they show nothing
    h = output;
  }
}

}  // namespace

void differentiates(const std::string& config, const MemorySource& source, const Tokens& tokens,
                    const std::vector<std::string>& flat) {
  const std::vector<int32_t> targets = next_ids(tokens);
  for (const quench_dtype dtype : {kit::kFloat64, kit::kFloat32}) {
    CAPTURE(kit::name_of(dtype));
    const bool wide = kit::same(dtype, kit::kFloat64);
    const at::ScalarType type = wide ? at::kDouble : at::kFloat;
    ModelDriver driver(config, source, dtype);
    const int64_t count = driver.parameters().numel();
    const double loss = total(driver.next_id_nll(tokens));
    const auto same = Approx(loss).epsilon(wide ? 1e-12 : 1e-6);
    CHECK(driver.gradient(tokens, targets, {}) == same);
    const at::Tensor gradient = zeros(count, type);
    CHECK(driver.gradient(tokens, targets, gradient) == same);
    if (wide) {
      matches_differences(driver, tokens, gradient, flat);
      blocks_match_differences(driver, tokens);
    }
    const at::Tensor twice = gradient.clone();
    CHECK(driver.gradient(tokens, targets, twice, 0.5) == same);
    CHECK(norm(twice.sub(gradient, 1.5)) < (wide ? 1e-12 : 1e-5) * norm(gradient));
    if (!wide) {
      const at::Tensor narrow = zeros(count, type);
      const double near =
          driver.gradient(tokens, targets, narrow, 1.0, QUENCH_LOSS_AUTOCAST_BFLOAT16);
      CHECK(near == Approx(loss).epsilon(0.03));
      CHECK(near != loss);
      CHECK(norm(narrow.sub(gradient)) < 0.1 * norm(gradient));  // 8 bits of significand
    }
  }
}

namespace {

void curvature_matches_differences(ModelDriver& driver, const Tokens& tokens) {
  constexpr double kStep = 2e-4;
  constexpr double kSame = 1e-11;        // two orders of the same operations
  constexpr double kDifferences = 5e-7;  // kStep to the fourth and roundoff over kStep, with margin
  constexpr double kWeight = 0.25;
  const std::vector<int32_t> targets = next_ids(tokens);
  const at::Tensor at = driver.parameters();
  const at::Tensor v = direction_of(at.numel(), 11);
  const at::Tensor u = direction_of(at.numel(), 12);
  at::Tensor gradient = zeros(at.numel(), at::kDouble);
  double loss = 0;
  const std::vector<at::Tensor> products = driver.products(
      tokens, targets, QUENCH_CURVATURE_HESSIAN, {v, u, v}, &gradient, &loss, kWeight);
  const at::Tensor& hv = products[0];
  CHECK(identical(hv, products[2]));
  CHECK(dot(u, hv) == Approx(dot(v, products[1])).epsilon(1e-9));
  const auto gradient_at = [&](double step) {
    driver.set_parameters(at.add(v, step));
    const at::Tensor found = zeros(at.numel(), at::kDouble);
    driver.gradient(tokens, targets, found, kWeight);
    return found;
  };
  CHECK(loss == Approx(driver.gradient(tokens, targets, {})).epsilon(1e-12));
  CHECK(norm(gradient.sub(gradient_at(0.0))) < kSame * norm(gradient));
  CHECK(norm(hv.sub(slope_of(gradient_at, kStep))) < kDifferences * norm(hv));
  const auto logits_at = [&](double step) {
    driver.set_parameters(at.add(v, step));
    return driver.logits(driver.forward(tokens));
  };
  const at::Tensor change = slope_of(logits_at, kStep);
  driver.set_parameters(at);
  const at::Tensor forwards =
      driver.products(tokens, targets, QUENCH_CURVATURE_FORWARD, {v}, nullptr, nullptr, kWeight)[0];
  CHECK(norm(forwards.sub(hv)) < kSame * norm(hv));
  const at::Tensor gv = driver.products(tokens, targets, QUENCH_CURVATURE_GAUSS_NEWTON, {v},
                                        nullptr, nullptr, kWeight)[0];
  const at::Tensor likely = at::softmax(driver.logits(driver.forward(tokens)), 1);
  double form = 0;
  for (size_t n = 0; n < targets.size(); ++n) {
    const auto row = static_cast<int64_t>(n);
    if (targets[n] >= 0) {
      const at::Tensor along = likely.select(0, row).mul(change.select(0, row));
      form += dot(along, change.select(0, row)) - std::pow(total(doubles(along)), 2);
    }
  }
  CHECK(form > 0);
  CHECK(dot(v, gv) == Approx(kWeight * form).epsilon(1e-5));
}

}  // namespace

void has_curvature(const std::string& config, const MemorySource& source, const Tokens& tokens) {
  ModelDriver driver(config, source, kit::kFloat64);
  curvature_matches_differences(driver, tokens);
}

void derivatives_are_those_of_differences(ModelDriver& driver, const Tokens& tokens) {
  const at::Tensor gradient = zeros(driver.parameters().numel(), at::kDouble);
  driver.gradient(tokens, next_ids(tokens), gradient);
  matches_differences(driver, tokens, gradient, {});
  blocks_match_differences(driver, tokens);
  curvature_matches_differences(driver, tokens);
}

void same_gradient(ModelDriver& a, ModelDriver& b, const Tokens& tokens) {
  const std::vector<int32_t> targets = next_ids(tokens);
  const bool wide = kit::same(a.info().dtype, kit::kFloat64);
  const std::vector<uint32_t> kinds =
      wide ? std::vector<uint32_t>{0} : std::vector<uint32_t>{0, QUENCH_LOSS_AUTOCAST_BFLOAT16};
  for (const uint32_t flags : kinds) {
    CAPTURE(flags);
    const auto gradient_of = [&](ModelDriver& driver, double& loss) {
      const at::Tensor gradient =
          zeros(driver.parameters().numel(), wide ? at::kDouble : at::kFloat);
      loss = driver.gradient(tokens, targets, gradient, 0.25, flags);
      CHECK(driver.gradient(tokens, targets, {}, 0.25, flags) == loss);
      return gradient;
    };
    double losses[2] = {};
    const at::Tensor first = gradient_of(a, losses[0]);
    const at::Tensor second = gradient_of(b, losses[1]);
    CHECK(losses[0] == losses[1]);
    for (const quench_parameter_info& info : a.parameter_infos()) {
      CAPTURE(info.name);
      const auto at = static_cast<int64_t>(info.offset);
      const int64_t size = elements_of(info);
      CHECK(identical(first.narrow(0, at, size), second.narrow(0, at, size)));
    }
    CHECK(norm(first) > 0);
  }
}

void same_for_threads(const std::string& config, const MemorySource& source, const Tokens& tokens) {
  const std::vector<int32_t> targets = next_ids(tokens);
  for (const quench_dtype dtype : {kit::kFloat64, kit::kFloat32}) {
    CAPTURE(kit::name_of(dtype));
    ModelDriver driver(config, source, dtype);
    std::vector<at::Tensor> outputs;
    std::vector<at::Tensor> gradients;
    std::vector<at::Tensor> products;
    std::vector<BlockGradients> of_block;
    const int64_t count = driver.parameters().numel();
    const at::Tensor v = direction_of(count, 11).to(kit::scalar_type(dtype));
    for (const uint32_t threads : {1, 2, 3}) {
      const HostThreads host(threads);
      outputs.push_back(driver.forward(tokens));
      gradients.push_back(zeros(count, kit::scalar_type(dtype)));
      driver.gradient(tokens, targets, gradients.back());
      products.push_back(driver.products(tokens, targets, QUENCH_CURVATURE_HESSIAN, {v})[0]);
      of_block.emplace_back(driver.block(0), kit::scalar_type(dtype));
      driver.block_gradient(0, tokens, driver.embed(tokens), at::zeros_like(outputs.back()), false,
                            of_block.back().names, of_block.back().values);
    }
    for (const size_t other : {1, 2}) {
      CAPTURE(other + 1);
      CHECK(identical(outputs[0], outputs[other]));
      for (size_t i = 0; i < of_block[0].values.size(); ++i) {
        CHECK(identical(of_block[0].values[i], of_block[other].values[i]));
      }
      for (const quench_parameter_info& info : driver.parameter_infos()) {
        CAPTURE(info.name);
        const auto at = static_cast<int64_t>(info.offset);
        const int64_t size = elements_of(info);
        CHECK(identical(gradients[0].narrow(0, at, size), gradients[other].narrow(0, at, size)));
        CHECK(identical(products[0].narrow(0, at, size), products[other].narrow(0, at, size)));
      }
    }
  }
}

void initializes(const std::string& config) {
  ModelDriver driver(config, kit::kFloat32);
  for (const quench_parameter_info& info : driver.parameter_infos()) {
    CAPTURE(info.name);
    const std::vector<double> values = doubles(driver.weight(info.name, at::kFloat));
    const bool drawn = info.role == QUENCH_ROLE_MATRIX || info.role == QUENCH_ROLE_EMBEDDING ||
                       info.role == QUENCH_ROLE_HEAD;
    const double count = static_cast<double>(values.size());
    const double mean = total(values) / count;
    double square = 0;
    for (const double value : values) {
      square += value * value;
    }
    if (drawn) {  // five standard errors of mean and deviation
      CHECK(std::abs(mean) < 5.0 * 0.05 / std::sqrt(count));
      CHECK(std::sqrt(square / count) == Approx(0.05).epsilon(5.0 / std::sqrt(2.0 * count)));
    } else if (info.role != QUENCH_ROLE_OTHER) {
      const bool shift = std::string(info.name).ends_with(".bias");
      CHECK(values == std::vector<double>(values.size(), shift ? 0.0 : 1.0));
    }
  }
  ModelDriver again(config, kit::kFloat64);
  CHECK(identical(again.parameters().to(at::kFloat), driver.parameters().to(at::kFloat)));
  CHECK_FALSE(identical(again.parameters(), driver.parameters()));
}

}  // namespace quench::test
