#include "tests/plugins/models/saved_family.hpp"

#include <ATen/ops/zeros_like.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <numeric>

#include "models/decoder/residence.hpp"
#include "quench/kit/scalar.hpp"
#include "quench/kit/source.hpp"
#include "tests/plugins/models/cache_checks.hpp"
#include "tests/plugins/models/derivative_checks.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

namespace {

constexpr int64_t kRows = 2;
constexpr int64_t kLength = 24;

Tokens short_rows(const SavedFamily& saved, ptrdiff_t first = 0) {
  const auto begin = saved.tokens.ids.begin() + first;
  return {2, 9, {begin, begin + 18}};
}

}  // namespace

SavedFamily::SavedFamily(const std::string& name) {
  const auto folder = source_dir() / "tests/data/families";
  notes = nlohmann::json::parse(read_file(folder / (name + ".json")));
  MemorySource all;
  all.add_safetensors(folder / (name + ".safetensors"));
  const kit::Source names(*all.source());
  for (uint64_t i = 0; i < names.count(); ++i) {
    const std::string own = names.info(i).name;
    const bool result = own == "ids" || own == "logits";
    (result ? results : weights)
        .add(own, all.shape(own), all.values(own),
             own == "ids"      ? kit::kInt32
             : own == "logits" ? kit::kFloat64
                               : kit::kFloat16);
  }
  const std::vector<double> ids = results.values("ids");
  tokens = {kRows, kLength, {ids.begin(), ids.end()}};
}

void SavedFamily::refuses(const std::string& key, const nlohmann::json& value,
                          const std::string& message) const {
  nlohmann::json changed = notes.at("configs").at("4.57.6");
  changed[key] = value;
  CHECK_THROWS_WITH(ModelDriver(changed.dump(), weights, kit::kFloat32), Catch::Contains(message));
}

std::vector<std::string> SavedFamily::without_gradient() const {
  const ModelDriver driver(config(), weights, kit::kFloat32);
  std::vector<std::string> names;
  for (const quench_parameter_info& info : driver.parameter_infos()) {
    if (!notes.at("gradient_norms").contains(info.name)) {
      names.emplace_back(info.name);
    }
  }
  return names;
}

void matches_transformers(const std::string& name) {
  const SavedFamily saved(name);
  const std::vector<double> wanted = saved.results.values("logits");
  struct Case {
    quench_dtype dtype;
    double tolerance;  // the reference itself is float32 in norms, softmax and angles
  };
  for (const auto& [dtype, tolerance] : {Case{kit::kFloat64, 5e-6}, Case{kit::kFloat32, 2e-5}}) {
    for (const auto& [version, config] : saved.notes.at("configs").items()) {
      CAPTURE(name, kit::name_of(dtype), version);
      ModelDriver driver(config.dump(), saved.weights, dtype);
      const at::Tensor h = driver.forward(saved.tokens, Storage::kShared);
      CHECK(distance(doubles(driver.logits(h)), wanted) < tolerance);
    }
  }
  ModelDriver driver(saved.config(), saved.weights, kit::kFloat64);
  const double scored = static_cast<double>(kRows * (kLength - 1));
  const at::Tensor gradient = at::zeros_like(driver.parameters());
  const double loss =
      driver.gradient(saved.tokens, next_ids(saved.tokens), gradient, 1.0 / scored) / scored;
  CHECK(loss == Approx(saved.notes.at("loss").get<double>()).epsilon(1e-6));
  const std::vector<double> values = doubles(gradient);
  const nlohmann::json& norms = saved.notes.at("gradient_norms");
  for (const quench_parameter_info& info : driver.parameter_infos()) {
    CAPTURE(info.name);
    const auto count = static_cast<size_t>(std::accumulate(info.shape, info.shape + info.dimensions,
                                                           int64_t{1}, std::multiplies<int64_t>()));
    double square = 0;
    for (size_t i = info.offset; i < info.offset + count; ++i) {
      square += values[i] * values[i];
    }
    // Without one in the reference: it changes what is chosen alone, which has no derivative.
    CHECK(std::sqrt(square) == Approx(norms.value(info.name, 0.0)).epsilon(1e-4));
  }
}

void differentiates_saved(const std::string& name, ptrdiff_t first) {
  const SavedFamily saved(name);
  const std::vector<std::string> flat = saved.without_gradient();
  Tokens tokens = short_rows(saved, first);
  differentiates(saved.config(), saved.weights, tokens, flat);
  has_curvature(saved.config(), saved.weights, tokens);
  tokens.segments = {1, 1, 1, 1, 1, 1, 1, 2, 2, 0, 0, 0, 1, 1, 2, 2, 2, -1};
  differentiates(saved.config(), saved.weights, tokens, flat);
  has_curvature(saved.config(), saved.weights, tokens);
}

void lets_an_op_change_keys_and_values_of_saved(const std::string& name) {
  const SavedFamily saved(name);
  const auto first = saved.tokens.ids.begin();
  lets_an_op_change_keys_and_values(saved.config(), saved.weights, {2, 5, {first, first + 10}});
}

void differentiates_saved_by_block(const std::string& name) {
  const SavedFamily saved(name);
  const Tokens tokens = short_rows(saved);
  ModelDriver whole(saved.config(), saved.weights, kit::kFloat32);
  const decoder::ByBlock by_block;
  ModelDriver visited(saved.config(), saved.weights, kit::kFloat32);
  same_gradient(whole, visited, tokens);
  has_curvature(saved.config(), saved.weights, tokens);
}

void has_the_names_of(const std::string& name) {
  const SavedFamily saved(name);
  const ModelDriver driver(saved.config(), saved.weights, kit::kFloat32);
  const std::vector<quench_parameter_info> infos = driver.parameter_infos();
  CHECK(infos.size() == kit::Source(*saved.weights.source()).count());
  for (const quench_parameter_info& info : infos) {
    CAPTURE(info.name);
    CHECK_NOTHROW(saved.weights.values(info.name));
  }
}

}  // namespace quench::test
