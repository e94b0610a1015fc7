#include <ATen/ops/arange.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "quench/kit/error.hpp"
#include "quench/kit/scalar.hpp"
#include "tests/plugins/models/mamba/reference.hpp"

namespace quench::test {

namespace {

nlohmann::json with(const MambaReference& reference, const std::string& key,
                    const nlohmann::json& value) {
  nlohmann::json config = reference.notes.at("config");
  config[key] = value;
  return config;
}

void refuses(const std::string& key, const nlohmann::json& value, const std::string& message) {
  CAPTURE(key);
  const MambaReference reference("plain");
  CHECK_THROWS_WITH(
      ModelDriver(with(reference, key, value).dump(), reference.weights, kit::kFloat32),
      Catch::Contains(message));
}

}  // namespace

TEST_CASE("mamba: the four linears of a block are groups of their own", "[models][mamba]") {
  const MambaReference reference("variant");
  ModelDriver driver(reference.config, reference.weights, kit::kFloat32);
  const quench_block_info& block = driver.block(1);
  REQUIRE(block.stage_count == 5);
  REQUIRE(block.group_count == 4);
  const std::vector<std::string> names = {"in_proj", "x_proj", "dt_proj", "out_proj"};
  const std::vector<bool> biases = {true, false, true, true};
  const std::vector<uint32_t> sites = {1, 0, 1, 0};
  for (uint32_t g = 0; g < 4; ++g) {
    const quench_group_info& group = block.groups[g];
    REQUIRE(group.linear_count == 1);
    CHECK(group.stage == g);
    CHECK(group.linears[0].name == "backbone.layers.1.mixer." + names[g]);
    CHECK((group.linears[0].bias != nullptr) == biases[g]);
    CHECK(group.site_count == sites[g]);
  }
}

TEST_CASE("mamba: a scale that a group's sites absorb changes nothing", "[models][mamba]") {
  const MambaReference reference(GENERATE("plain", "variant"));
  ModelDriver driver(reference.config, reference.weights, kit::kFloat64);
  const std::vector<double> before = doubles(driver.logits(driver.forward(reference.tokens)));
  size_t absorbed = 0;
  for (uint32_t g = 0; g < 4; ++g) {
    const quench_group_info& group = driver.block(0).groups[g];
    for (uint32_t s = 0; s < group.site_count; ++s) {
      const quench_linear_info& linear = group.linears[0];
      const at::Tensor scale =
          at::arange(1, linear.in_features + 1, at::TensorOptions(at::kDouble)).mul(0.25);
      driver.set_weight(linear.weight, driver.weight(linear.weight, at::kDouble).mul(scale));
      at::Tensor site = driver.weight(group.sites[s].parameter, at::kDouble);
      for (int64_t c = 0; c < linear.in_features; ++c) {
        const int64_t row = group.sites[s].rows == nullptr ? c : group.sites[s].rows[c];
        site.select(0, row).div_(scale[c]);
      }
      driver.set_weight(group.sites[s].parameter, site);
      ++absorbed;
    }
  }
  CHECK(absorbed == 2);
  CHECK(distance(doubles(driver.logits(driver.forward(reference.tokens))), before) < 1e-10);
}

TEST_CASE("mamba: it has no keys and values for an op", "[models][mamba]") {
  const MambaReference reference("plain");
  ModelDriver driver(reference.config, reference.weights, kit::kFloat32);
  int released = 0;
  const quench_cache_op op = {sizeof op, &released,
                              [](void*, const quench_cache_args*,
                                 quench_error*) noexcept -> quench_status { return QUENCH_OK; },
                              [](void* context) noexcept { ++*static_cast<int*>(context); }};
  CHECK_THROWS_WITH(driver.set_cache_op(1, &op),
                    "block 1 keeps no keys and values of earlier tokens");
  CHECK(released == 0);  // it stays the caller's
}

TEST_CASE("mamba: a new model is drawn as in the reference", "[models][mamba]") {
  nlohmann::json config = {{"model_type", "mamba"},     {"vocab_size", 200},
                           {"hidden_size", 96},         {"num_hidden_layers", 2},
                           {"state_size", 16},          {"conv_kernel", 4},
                           {"initializer_range", 0.05}, {"time_step_min", 0.002},
                           {"time_step_max", 0.2},      {"tie_word_embeddings", false}};
  ModelDriver driver(config.dump(), kit::kFloat64);
  const auto values = [&](const std::string& name) {
    return doubles(driver.weight(name, at::kDouble));
  };
  // A uniform distribution between -limit and limit, to five standard errors.
  const auto evenly = [&](const std::string& name, double limit) {
    CAPTURE(name);
    double square = 0;
    double largest = 0;
    const std::vector<double> found = values(name);
    for (const double value : found) {
      square += value * value;
      largest = std::max(largest, std::abs(value));
    }
    const double count = static_cast<double>(found.size());
    CHECK(largest <= limit);
    CHECK(largest > 0.95 * limit);
    CHECK(std::sqrt(square / count) ==
          Approx(limit / std::sqrt(3.0)).epsilon(5.0 * 0.45 / std::sqrt(count)));
  };
  const std::string mixer = "backbone.layers.1.mixer.";
  const std::vector<double> logs = values(mixer + "A_log");
  CHECK(logs[0] == 0.0);
  CHECK(logs[15] == Approx(std::log(16.0)));
  CHECK(logs[16 * 191 + 2] == Approx(std::log(3.0)));
  CHECK(values(mixer + "D") == std::vector<double>(192, 1.0));
  CHECK(values(mixer + "conv1d.bias") == std::vector<double>(192, 0.0));
  evenly(mixer + "conv1d.weight", 0.5);
  evenly(mixer + "dt_proj.weight", 1.0 / std::sqrt(6.0));
  evenly(mixer + "out_proj.weight", 1.0 / std::sqrt(192.0));
  double mean = 0;
  for (const double bias : values(mixer + "dt_proj.bias")) {
    const double step = std::log1p(std::exp(bias));
    CHECK(step > 0.002 * (1 - 1e-12));
    CHECK(step < 0.2 * (1 + 1e-12));
    mean += std::log(step) / 192;
  }
  // log Δ is even over log 0.002 .. log 0.2, whose deviation is log(100) / sqrt(12).
  CHECK(mean == Approx(std::log(0.02)).margin(5 * 1.33 / std::sqrt(192.0)));
  double square = 0;
  const std::vector<double> in = values(mixer + "in_proj.weight");
  for (const double value : in) {
    square += value * value;
  }
  CHECK(std::sqrt(square / static_cast<double>(in.size())) == Approx(0.05).epsilon(0.03));
  config["rescale_prenorm_residual"] = true;
  config["time_step_init_scheme"] = "constant";
  ModelDriver other(config.dump(), kit::kFloat64);
  const auto constant = doubles(other.weight(mixer + "dt_proj.weight", at::kDouble));
  CHECK(constant == std::vector<double>(constant.size(), 1.0 / std::sqrt(6.0)));
  const auto halved = doubles(other.weight(mixer + "out_proj.weight", at::kDouble));
  CHECK(halved[7] == Approx(values(mixer + "out_proj.weight")[7] / std::sqrt(2.0)));
}

TEST_CASE("mamba: a tied head is the embedding", "[models][mamba]") {
  const MambaReference reference("plain");
  ModelDriver driver(reference.config, reference.weights, kit::kFloat64);
  const at::Tensor embedding = driver.weight("backbone.embeddings.weight", at::kDouble);
  CHECK(identical(driver.weight("lm_head.weight", at::kDouble), embedding));
  const uint64_t generation = driver.generation("lm_head.weight");
  driver.set_weight("lm_head.weight", embedding.mul(2.0));
  CHECK(driver.generation("backbone.embeddings.weight") > generation);
  CHECK(identical(driver.weight("backbone.embeddings.weight", at::kDouble), embedding.mul(2.0)));
}

TEST_CASE("mamba: configs of converted files mean the same model", "[models][mamba]") {
  const MambaReference reference("plain");
  const auto logits = [&](const nlohmann::json& config) {
    ModelDriver driver(config.dump(), reference.weights, kit::kFloat32);
    return doubles(driver.logits(driver.forward(reference.tokens)));
  };
  const nlohmann::json config = reference.notes.at("config");
  nlohmann::json converted = config;
  converted.update({{"d_model", 32},
                    {"d_inner", 64},
                    {"n_layer", 2},
                    {"ssm_cfg", nlohmann::json::object()},
                    {"rms_norm", true},
                    {"fused_add_norm", true},
                    {"pad_vocab_size_multiple", 8}});
  CHECK(logits(converted) == logits(config));
  nlohmann::json short_one = {{"model_type", "mamba"},
                              {"vocab_size", 40},
                              {"hidden_size", 32},
                              {"num_hidden_layers", 2},
                              {"state_size", 8}};
  CHECK(logits(short_one) == logits(config));
}

TEST_CASE("mamba: a config that cannot be is refused by key", "[models][mamba]") {
  refuses("hidden_act", "gelu", "hidden_act gelu, wanted silu");
  refuses("time_step_rank", "some", "time_step_rank some, wanted a number or auto");
  refuses("time_step_rank", 33, "time_step_rank = 33, wanted 1..32");
  refuses("intermediate_size", 65, "intermediate_size = 65 contradicts 64");
  refuses("d_model", 64, "d_model = 64 contradicts 32");
  refuses("ssm_cfg", {{"layer", "Mamba2"}}, "ssm_cfg: not understood");
  refuses("rms_norm", false, "rms_norm = false");
  refuses("sliding_window", 8, "sliding_window: not understood");
  refuses("time_step_init_scheme", "zero", "time_step_init_scheme zero");
  refuses("time_step_min", 0.5, "time_step_min = 0.5, time_step_max = 0.1");
  refuses("use_bias", true, "missing backbone.layers.0.mixer.in_proj.bias");
}

}  // namespace quench::test
