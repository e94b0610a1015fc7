// The tensors of a Mamba model and the stages of its blocks.
//
//   stage 0:  x = norm(h)
//   stage 1:  u, z = in_proj x;   u = silu(convolution(u)), causal and per channel
//   stage 2:  d, B, C = x_proj u
//   stage 3:  Δ = softplus(dt_proj d);   s = exp(Δ A) s + Δ u B;   y = (C s + D u) silu(z)
//   stage 4:  h = h + out_proj y
//
// Each linear reads a tensor of its own, so there are four groups. B and C are carried side by side
// as `bc`.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "models/decoder/config.hpp"
#include "models/mamba/config.hpp"

namespace quench::mamba {

namespace {

using decoder::BlockSpec;
using decoder::CarrySpec;
using decoder::GroupSpec;
using decoder::WeightSpec;
using RowMap = std::shared_ptr<const std::vector<int64_t>>;

constexpr const char* kPrefix = "backbone.";

// Files of the base model omit the prefix.
WeightSpec& add(std::vector<WeightSpec>& weights, const std::string& name,
                std::vector<int64_t> shape, int32_t role) {
  return weights.emplace_back(WeightSpec{kPrefix + name, std::move(shape), role, {name}});
}

// Evenly between -limit and limit.
decoder::InitialValue evenly(double limit) {
  return [limit](uint64_t, double chance) { return limit * (2.0 * chance - 1.0); };
}

// dt_proj's bias b with softplus(b) = Δ: b = Δ + log(1 - e^-Δ).
decoder::InitialValue step_biases(const InitialSteps& steps) {
  return [steps](uint64_t, double chance) {
    const double drawn =
        std::exp(std::log(steps.least) + chance * std::log(steps.greatest / steps.least));
    const double step = std::max(drawn, steps.floor);
    return step + std::log(-std::expm1(-step));
  };
}

decoder::InitialValue step_weights(const Config& config) {
  const double limit = config.steps.scale / std::sqrt(static_cast<double>(config.rank));
  if (config.steps.constant) {
    return [limit](uint64_t, double) { return limit; };
  }
  return evenly(limit);
}

void add_block(std::vector<WeightSpec>& weights, const Config& config, int64_t index) {
  const std::string block = "layers." + std::to_string(index) + ".";
  const std::string mixer = block + "mixer.";
  const auto states = static_cast<uint64_t>(config.states);
  add(weights, block + "norm.weight", {config.width}, QUENCH_ROLE_NORM);
  // A = -1, -2, ... in every channel.
  add(weights, mixer + "A_log", {config.channels, config.states}, QUENCH_ROLE_OTHER).draw =
      [states](uint64_t element, double) {
        return std::log(static_cast<double>(element % states + 1));
      };
  add(weights, mixer + "D", {config.channels}, QUENCH_ROLE_OTHER).initial = 1.0;
  add(weights, mixer + "conv1d.weight", {config.channels, 1, config.taps}, QUENCH_ROLE_OTHER).draw =
      evenly(1.0 / std::sqrt(static_cast<double>(config.taps)));
  if (config.convolution_bias) {
    add(weights, mixer + "conv1d.bias", {config.channels}, QUENCH_ROLE_BIAS);
  }
  add(weights, mixer + "in_proj.weight", {2 * config.channels, config.width}, QUENCH_ROLE_MATRIX);
  if (config.bias) {
    add(weights, mixer + "in_proj.bias", {2 * config.channels}, QUENCH_ROLE_BIAS);
  }
  add(weights, mixer + "x_proj.weight", {config.rank + 2 * config.states, config.channels},
      QUENCH_ROLE_MATRIX);
  add(weights, mixer + "dt_proj.weight", {config.channels, config.rank}, QUENCH_ROLE_MATRIX).draw =
      step_weights(config);
  add(weights, mixer + "dt_proj.bias", {config.channels}, QUENCH_ROLE_BIAS).draw =
      step_biases(config.steps);
  const auto blocks = static_cast<double>(config.shrinks_outputs ? config.blocks : 1);
  add(weights, mixer + "out_proj.weight", {config.width, config.channels}, QUENCH_ROLE_MATRIX)
      .draw = evenly(1.0 / std::sqrt(static_cast<double>(config.channels) * blocks));
  if (config.bias) {
    add(weights, mixer + "out_proj.bias", {config.width}, QUENCH_ROLE_BIAS);
  }
}

std::vector<WeightSpec> weights_of(const Config& config) {
  std::vector<WeightSpec> weights;
  WeightSpec& embedding =
      add(weights, "embeddings.weight", {config.vocabulary, config.width}, QUENCH_ROLE_EMBEDDING);
  if (config.tied) {
    embedding.aliases.emplace_back("lm_head.weight");
  }
  for (int64_t i = 0; i < config.blocks; ++i) {
    add_block(weights, config, i);
  }
  add(weights, "norm_f.weight", {config.width}, QUENCH_ROLE_NORM);
  if (!config.tied) {
    weights.push_back({"lm_head.weight", {config.vocabulary, config.width}, QUENCH_ROLE_HEAD});
  }
  return weights;
}

std::string block_name(int64_t index) {
  return std::string(kPrefix) + "layers." + std::to_string(index) + ".";
}

// The rows of x_proj that make d, which alone depends linearly on what can be divided.
RowMap step_rows(const Config& config) {
  std::vector<int64_t> rows(static_cast<size_t>(config.rank));
  std::iota(rows.begin(), rows.end(), int64_t{0});
  return std::make_shared<const std::vector<int64_t>>(std::move(rows));
}

BlockSpec block_of(const Config& config, int64_t index, const RowMap& rows, quench_dtype dtype) {
  const std::string block = block_name(index);
  const std::string mixer = block + "mixer.";
  BlockSpec spec;
  spec.groups = {
      GroupSpec{0, {{mixer + "in_proj", "in"}}, {{block + "norm.weight"}}},
      GroupSpec{1, {{mixer + "x_proj", "x"}}},  // silu(u / s) is not silu(u) / s
      GroupSpec{2, {{mixer + "dt_proj", "dt"}}, {{mixer + "x_proj.weight", rows}}, 3},
      GroupSpec{3, {{mixer + "out_proj", "out"}}},
  };
  const CarrySpec h{"h", config.width, dtype};
  const CarrySpec x{"x", config.width, dtype};
  const CarrySpec u{"u", config.channels, dtype};
  const CarrySpec z{"z", config.channels, dtype};
  const CarrySpec d{"d", config.rank, dtype};
  const CarrySpec bc{"bc", 2 * config.states, dtype};
  const CarrySpec y{"y", config.channels, dtype};
  spec.carries = {{h}, {h, x}, {h, u, z}, {h, u, z, d, bc}, {h, y}, {h}};
  spec.token_wise_from = 4;  // the stage after the recurrence
  return spec;
}

decoder::ResidualSpec residual_of(const Config& config) {
  const auto norm = [](const std::string& name, const std::string& reader) {
    return decoder::ResidualNorm{QUENCH_NORM_ROOT_MEAN_SQUARE, name + ".weight", "", {reader}};
  };
  const std::string embedding = std::string(kPrefix) + "embeddings.weight";
  decoder::ResidualSpec spec;
  spec.writers.push_back({embedding, 1});
  for (int64_t i = 0; i < config.blocks; ++i) {
    const std::string mixer = block_name(i) + "mixer.";
    spec.norms.push_back(norm(block_name(i) + "norm", mixer + "in_proj.weight"));
    spec.writers.push_back(
        {mixer + "out_proj.weight", 0, config.bias ? mixer + "out_proj.bias" : ""});
  }
  spec.norms.push_back(
      norm(std::string(kPrefix) + "norm_f", config.tied ? embedding : "lm_head.weight"));
  return spec;
}

}  // namespace

decoder::Architecture architecture(const Config& config, quench_dtype dtype) {
  decoder::Architecture made{};
  made.width = config.width;
  made.initializer_range = config.initializer_range;
  made.vocabulary = config.vocabulary;
  made.max_positions = decoder::kMaxPositions;  // nothing depends on a position
  made.weights = weights_of(config);
  const RowMap rows = step_rows(config);
  for (int64_t i = 0; i < config.blocks; ++i) {
    made.blocks.push_back(block_of(config, i, rows, dtype));
  }
  made.embedding = std::string(kPrefix) + "embeddings.weight";
  made.head = "lm_head.weight";
  made.residual = residual_of(config);
  return made;
}

}  // namespace quench::mamba
