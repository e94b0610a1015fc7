#include "tests/plugins/models/family_checks.hpp"
#include "tests/run/built_catalog.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/checkpoint/abi_source.hpp"
#include "core/inputs/weights/open_checkpoint_folder.hpp"
#include "quench/kit/error.hpp"
#include "quench/kit/scalar.hpp"
#include "tests/plugins/models/cache_checks.hpp"
#include "tests/plugins/models/derivative_checks.hpp"
#include "tests/plugins/models/linked_family.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

// Losses [B, T-1] of a [B, T] list whose row ends are not scored.
std::vector<double> without_ends(const std::vector<double>& nll, int64_t length) {
  std::vector<double> kept;
  for (size_t n = 0; n < nll.size(); ++n) {
    if ((static_cast<int64_t>(n) + 1) % length != 0) {
      kept.push_back(nll[n]);
    }
  }
  return kept;
}

uint64_t parameter_count(const ModelDriver& driver) {
  const quench_parameter_info* infos = nullptr;
  uint64_t count = 0;
  REQUIRE(driver.table().parameters(driver.get(), &infos, &count, nullptr) == QUENCH_OK);
  return count;
}

}  // namespace

std::vector<double> logits_of(const TinyLlama& model, const nlohmann::json& config,
                              const MemorySource& source) {
  ModelDriver driver(config.dump(), source, kit::kFloat32);
  return doubles(driver.logits(driver.forward(model.some_tokens(1, 9))));
}

void matches_reference(const std::string& name) {
  constexpr double kTolerance = 2e-5;  // implementations of one forward differ by about 1e-5
  const auto folder = fixture("models/" + name);
  CAPTURE(name);
  const CheckpointFolder checkpoint = open_checkpoint_folder(built_catalog(), folder);
  const AbiSource source(checkpoint.source);
  MemorySource reference;
  reference.add_safetensors(folder / "reference.safetensors");
  ModelDriver driver(checkpoint.config_json, source.get(), kit::kFloat32);
  const std::vector<int64_t> shape = reference.shape("input_ids");
  const std::vector<double> ids = reference.values("input_ids");
  const Tokens tokens{shape[0], shape[1], {ids.begin(), ids.end()}};
  std::vector<at::Tensor> outputs;
  const at::Tensor h = driver.forward(tokens, Storage::kShared, &outputs);
  CHECK(distance(doubles(driver.logits(h)), reference.values("logits")) < kTolerance);
  CHECK(distance(without_ends(driver.next_id_nll(tokens), tokens.length), reference.values("nll")) <
        kTolerance);
  for (size_t i = 0; i < outputs.size(); ++i) {
    CHECK(distance(doubles(outputs[i]), reference.values("block_output." + std::to_string(i))) <
          kTolerance);
  }
}

void matches_reference_in_16_bits(const std::string& name) {
  const auto folder = fixture("models/" + name);
  const auto all =
      nlohmann::json::parse(read_file(source_dir() / "tests/data/dtype_reference.json"));
  const CheckpointFolder checkpoint = open_checkpoint_folder(built_catalog(), folder);
  const AbiSource source(checkpoint.source);
  MemorySource reference;
  reference.add_safetensors(folder / "reference.safetensors");
  const std::vector<int64_t> shape = reference.shape("input_ids");
  const std::vector<double> ids = reference.values("input_ids");
  const std::vector<double> wanted = reference.values("logits");
  const Tokens tokens{shape[0], shape[1], {ids.begin(), ids.end()}};
  for (const quench_dtype dtype : {kit::kBFloat16, kit::kFloat16}) {
    CAPTURE(name, kit::name_of(dtype));
    if (!all.at(name).contains(kit::name_of(dtype))) {
      continue;
    }
    const nlohmann::json& runs = all.at(name).at(kit::name_of(dtype));
    double furthest = 0;
    for (const nlohmann::json& run : runs) {
      furthest = std::max(furthest, run.at("logit_distance").get<double>());
    }
    ModelDriver driver(checkpoint.config_json, source.get(), dtype);
    const std::vector<double> logits = doubles(driver.logits(driver.forward(tokens)));
    double square = 0;
    for (size_t i = 0; i < logits.size(); ++i) {
      square += (logits[i] - wanted[i]) * (logits[i] - wanted[i]);
    }
    const double distance = std::sqrt(square / static_cast<double>(logits.size()));
    CHECK(distance < 1.25 * furthest);
    CHECK(distance > 0);
  }
}

void matches_plain_loops(TinyLlama model) {
  model.draw();
  MemorySource source;
  model.store(source);
  const Tokens tokens = model.some_tokens(3, 11);
  const std::vector<double> wanted = model.logits(tokens);
  struct Case {
    quench_dtype dtype;
    double tolerance;  // about 30 unit roundoffs of logits near 10
  };
  // In float64 the float32 angles of the two sides may differ in the last bit.
  for (const auto& [dtype, tolerance] : {Case{kit::kFloat64, 1e-5}, Case{kit::kFloat32, 5e-5},
                                         Case{kit::kFloat16, 0.1}, Case{kit::kBFloat16, 0.8}}) {
    CAPTURE(kit::name_of(dtype));
    ModelDriver driver(model.config().dump(), source, dtype);
    const at::Tensor h = driver.forward(tokens);
    CHECK(distance(doubles(driver.logits(h)), wanted) < tolerance);
    CHECK(identical(h, driver.forward(tokens, Storage::kShared)));
  }
}

void differentiates(TinyLlama model) {
  model.draw();
  MemorySource source;
  model.store(source);
  Tokens tokens = model.some_tokens(2, 9);
  differentiates(model.config().dump(), source, tokens);
  has_curvature(model.config().dump(), source, tokens);
  tokens.segments = {1, 1, 1, 1, 2, 2, 2, 2, 2, 0, 0, 0, 1, 1, 2, 2, 2, -1};
  differentiates(model.config().dump(), source, tokens);
  has_curvature(model.config().dump(), source, tokens);
}

void lets_an_op_change_keys_and_values(TinyLlama model) {
  model.draw();
  MemorySource source;
  model.store(source);
  lets_an_op_change_keys_and_values(model.config().dump(), source, model.some_tokens(2, 9));
}

void same_for_threads(TinyLlama model) {
  model.head_norm = model.head_norm == 0 ? 0 : model.head_norm == model.head ? 16 : 96;
  model.kv_heads = model.kv_heads == model.heads ? 6 : 2;
  model.width = 96;
  model.heads = 6;
  model.head = 16;
  model.inner = 256;
  model.vocabulary = 700;
  model.positions = 512;
  model.draw();
  MemorySource source;
  model.store(source);
  same_for_threads(model.config().dump(), source, model.some_tokens(3, 400));
}

void reads_its_epsilon(TinyLlama model) {
  constexpr double kTolerance = 1e-5;
  model.embedding_spread = 1.0 / 64.0;
  model.draw();
  MemorySource source;
  model.store(source);
  const Tokens tokens = model.some_tokens(2, 7);
  ModelDriver driver(model.config().dump(), source, kit::kFloat64);
  const std::vector<double> logits = doubles(driver.logits(driver.forward(tokens)));
  CHECK(distance(logits, model.logits(tokens)) < kTolerance);
  model.eps *= 2.0;
  CHECK(distance(logits, model.logits(tokens)) > 10.0 * kTolerance);
}

void reads_saved_configs(TinyLlama model) {
  model.draw();
  MemorySource source;
  model.store(source);
  const std::vector<double> wanted = logits_of(model, model.config(), source);
  const auto saved =
      nlohmann::json::parse(read_file(source_dir() / "tests/data/saved_configs.json"));
  REQUIRE(saved.size() == 3);
  for (const auto& [version, configs] : saved.items()) {
    CAPTURE(version);
    CHECK(logits_of(model, configs.at(model.model_type), source) == wanted);
  }
}

void absorbs_scales(TinyLlama model, const std::vector<uint32_t>& sites) {
  model.draw();
  MemorySource source;
  model.store(source);
  const Tokens tokens = model.some_tokens(2, 9);
  {
    const ModelDriver driver(model.config().dump(), source, kit::kFloat64);
    REQUIRE(driver.block(0).group_count == sites.size());
  }
  for (uint32_t g = 0; g < sites.size(); ++g) {
    ModelDriver driver(model.config().dump(), source, kit::kFloat64);
    const std::vector<double> before = doubles(driver.logits(driver.forward(tokens)));
    const quench_group_info& group = driver.block(0).groups[g];
    CAPTURE(g);
    CHECK(group.site_count == sites[g]);
    if (group.site_count == 0) {
      continue;
    }
    const int64_t channels = group.linears[0].in_features;
    const at::Tensor scale =  // 0.5 .. 2, another factor for each channel
        at::arange(channels, at::TensorOptions(at::kDouble))
            .mul(1.5 / static_cast<double>(channels))
            .add(0.5);
    for (uint32_t s = 0; s < group.site_count; ++s) {
      REQUIRE(group.sites[s].rows == nullptr);
      const std::string name = group.sites[s].parameter;
      const at::Tensor weight = driver.weight(name, at::kDouble);
      driver.set_weight(name, weight.div(weight.dim() == 2 ? scale.unsqueeze(1) : scale));
    }
    CHECK(distance(doubles(driver.logits(driver.forward(tokens))), before) > 1e-3);
    for (uint32_t l = 0; l < group.linear_count; ++l) {
      const std::string name = group.linears[l].weight;
      driver.set_weight(name, driver.weight(name, at::kDouble).mul(scale));
    }
    CHECK(distance(doubles(driver.logits(driver.forward(tokens))), before) < 1e-10);
  }
}

void ties_its_head(TinyLlama model) {
  const std::string embedding = "model.embed_tokens.weight";
  model.tied = true;
  model.draw();
  MemorySource source;
  model.store(source);
  const std::string config = model.config().dump();
  {
    ModelDriver driver(config, source, kit::kFloat32);
    CHECK(parameter_count(driver) == model.weights.size());
    const at::Tensor value =
        at::full({model.vocabulary, model.width}, 0.25, at::TensorOptions(at::kFloat));
    driver.set_weight("lm_head.weight", value);
    CHECK(driver.generation(embedding) == 1);
    CHECK(identical(driver.weight(embedding, at::kFloat), value));
  }
  std::vector<double> copy = model.weights.at(embedding);
  source.add("lm_head.weight", model.shapes.at(embedding), copy, kit::kFloat32);
  CHECK_NOTHROW(ModelDriver(config, source, kit::kFloat32));
  source.remove(embedding);  // under the head's name alone
  CHECK_NOTHROW(ModelDriver(config, source, kit::kFloat32));
  source.add(embedding, model.shapes.at(embedding), copy, kit::kFloat32);
  source.remove("lm_head.weight");
  copy[100] += 1.0;
  source.add("lm_head.weight", model.shapes.at(embedding), copy, kit::kFloat32);
  CHECK_THROWS_WITH(ModelDriver(config, source, kit::kFloat32),
                    Catch::Contains("two names hold different values:"));
}

void refuses(TinyLlama model, const std::string& key, const nlohmann::json& value,
             const std::string& message) {
  CAPTURE(key, value.dump());
  model.draw();
  MemorySource source;
  model.store(source);
  nlohmann::json config = model.config();
  const quench_model_table& family = linked_family(config.dump());
  config[key] = value;
  CHECK_THROWS_WITH(ModelDriver(family, config.dump(), source.source(), kit::kFloat32),
                    Catch::Contains(message));
}

void requires_key(TinyLlama model, const std::string& key) {
  CAPTURE(key);
  model.draw();
  MemorySource source;
  model.store(source);
  nlohmann::json config = model.config();
  config.erase(key);
  CHECK_THROWS_WITH(ModelDriver(config.dump(), source, kit::kFloat32),
                    Catch::Contains(key + " is missing"));
}

}  // namespace quench::test
