#include "core/pass/quantize_model.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"
#include "core/inputs/weights/open_checkpoint.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

using quench::FloatWeights;
using quench::HostTensor;
using quench::ModelHandle;
using quench::QuantizerHandle;

namespace {

HostTensor mix(const ModelHandle& model, int block) {
  HostTensor out(quench::kFloat32, {32, 32});
  model.weight_get("blocks." + std::to_string(block) + ".mix.weight", out.view());
  return out;
}

bool same(const HostTensor& a, const HostTensor& b) {
  return a.bytes().size() == b.bytes().size() &&
         std::memcmp(a.bytes().data(), b.bytes().data(), a.bytes().size()) == 0;
}

QuantizerHandle quantizer(const nlohmann::json& parameters) {
  quench::Catalog& catalog = quench::test::built_catalog();
  return {catalog, catalog.require("quantizer", "template_quantizer_c"), parameters};
}

}  // namespace

TEST_CASE("float weights: after a quantizer every bit is back", "[core][run]") {
  const quench::test::TemporaryDir folder;
  ModelHandle model = quench::test::open_template_checkpoint(folder / "model").model;
  const HostTensor before[] = {mix(model, 0), mix(model, 1)};
  QuantizerHandle three = quantizer({{"bits", 3}});
  FloatWeights kept(model);
  quench::QuantizeOptions options;
  options.keep_tensors = true;
  const quench::QuantizationResult result = quench::quantize_model(model, three, options, kept);
  REQUIRE(result.layers.size() == 2);
  for (int block = 0; block < 2; ++block) {
    const quench::LayerResult& layer = result.layers[static_cast<size_t>(block)];
    CHECK(layer.name == "blocks." + std::to_string(block) + ".mix");
    CHECK(layer.block == static_cast<uint32_t>(block));
    CHECK(std::isnan(layer.relative_error));  // no rows to measure it on
    CHECK(layer.tensors.count("codes") == 1);
    CHECK(same(layer.tensors.at("weight"), mix(model, block)));
    CHECK_FALSE(same(before[block], mix(model, block)));
  }
  CHECK(result.bits_per_weight == 4.0);  // 3 bits, and a float32 scale for 32 columns
  CHECK(result.calibration_tokens == 0);
  CHECK(result.stage_tokens == 0);
  kept.restore();
  CHECK(same(before[0], mix(model, 0)));
  CHECK(same(before[1], mix(model, 1)));
}

TEST_CASE("float weights: two quantizers in a row see the same model", "[core][run]") {
  const quench::test::TemporaryDir folder;
  ModelHandle model = quench::test::open_template_checkpoint(folder / "model").model;
  const auto quantized = [&](int bits) {
    QuantizerHandle handle = quantizer({{"bits", bits}});
    FloatWeights kept(model);
    quench::quantize_model(model, handle, {}, kept);
    HostTensor out = mix(model, 1);
    kept.restore();
    return out;
  };
  const HostTensor first = quantized(3);
  const HostTensor other = quantized(5);
  CHECK_FALSE(same(first, other));
  CHECK(same(first, quantized(3)));
}

TEST_CASE("float weights: what is kept first is what comes back", "[core][run]") {
  const quench::test::TemporaryDir folder;
  ModelHandle model = quench::test::open_template_checkpoint(folder / "model").model;
  const std::string name = "blocks.0.mix.weight";
  const HostTensor before = mix(model, 0);
  HostTensor changed = before;
  changed.as<float>()[0] += 1;
  FloatWeights kept(model);
  kept.keep(name, before);
  model.weight_set(name, changed.view());
  kept.keep(name, changed);
  kept.restore();
  CHECK(same(before, mix(model, 0)));
  model.weight_set(name, changed.view());
  kept.restore();  // nothing is kept any more
  CHECK(same(changed, mix(model, 0)));
}

TEST_CASE("float weights: a layer above another is restored through it", "[core][run]") {
  const quench::test::TemporaryDir folder;
  ModelHandle model = quench::test::open_template_checkpoint(folder / "model").model;
  const std::string name = "blocks.0.mix.weight";
  const HostTensor before = mix(model, 0);
  HostTensor transformed = before;
  transformed.as<float>()[0] += 1;
  HostTensor quantized = before;
  quantized.as<float>()[0] += 2;
  FloatWeights kept(model);
  kept.keep(name, before);
  model.weight_set(name, transformed.view());
  kept.open_layer();
  kept.keep(name, transformed);
  model.weight_set(name, quantized.view());
  kept.during_exchange([&] { CHECK(same(transformed, mix(model, 0))); });
  CHECK(same(quantized, mix(model, 0)));
  CHECK_THROWS_AS(kept.during_exchange([&] { throw quench::Error(QUENCH_INTERNAL, "fails"); }),
                  quench::Error);
  CHECK(same(quantized, mix(model, 0)));
  kept.put_back(name);
  CHECK(same(transformed, mix(model, 0)));
  kept.restore();
  CHECK(same(before, mix(model, 0)));
}

TEST_CASE("float weights: an op is taken out and released", "[core][run]") {
  const quench::test::TemporaryDir folder;
  ModelHandle model = quench::test::open_template_checkpoint(folder / "model").model;
  int released = 0;
  const quench_linear_op op{sizeof op, &released,
                            [](void*, const quench_tensor*, const quench_tensor*, void*,
                               quench_error*) noexcept -> quench_status { return QUENCH_OK; },
                            [](void* context) noexcept { ++*static_cast<int*>(context); }, nullptr};
  FloatWeights kept(model);
  kept.set_op(1, 0, 0, op);
  CHECK(released == 0);
  kept.during_exchange([&] { CHECK(released == 0); });  // out of the model, and back in it
  CHECK(released == 0);
  kept.restore();
  CHECK(released == 1);
  kept.restore();
  CHECK(released == 1);
}

TEST_CASE("float weights: an op that the family refuses is released once", "[core][run]") {
  const quench::test::TemporaryDir folder;
  ModelHandle model = quench::test::open_template_checkpoint(folder / "model").model;
  int released = 0;
  const quench_cache_op op{sizeof op, &released,
                           [](void*, const quench_cache_args*,
                              quench_error*) noexcept -> quench_status { return QUENCH_OK; },
                           [](void* context) noexcept { ++*static_cast<int*>(context); }};
  FloatWeights kept(model);
  CHECK_THAT(quench::test::message_of([&] { kept.set_cache_op(1, op); }),
             Catch::Contains("does not let an op change its keys and values"));
  CHECK(released == 1);
  CHECK_FALSE(kept.has_ops());
  kept.restore();
  CHECK(released == 1);
}

TEST_CASE("quantize: a weight that is not finite is refused by name and place", "[core][run]") {
  const quench::test::TemporaryDir folder;
  ModelHandle model = quench::test::open_template_checkpoint(folder / "model").model;
  HostTensor broken = mix(model, 1);
  broken.as<float>()[33] = NAN;
  model.weight_set("blocks.1.mix.weight", broken.view());
  const HostTensor before = mix(model, 0);
  QuantizerHandle three = quantizer({{"bits", 3}});
  FloatWeights kept(model);
  CHECK(quench::test::message_of([&] { quench::quantize_model(model, three, {}, kept); }) ==
        "blocks.1.mix.weight: element [1, 1] is not finite");
  CHECK_FALSE(same(before, mix(model, 0)));  // quantized before the failure
  kept.restore();
  CHECK(same(before, mix(model, 0)));
}

TEST_CASE("quantize: rows are observed once per group of each block", "[core][run]") {
  const quench::test::TemporaryDir folder;
  ModelHandle model = quench::test::open_template_checkpoint(folder / "model").model;
  quench::CalibrationRows rows;
  for (int i = 0; i < 30; ++i) {
    rows.ids.push_back(i * 7 % 256);
  }
  rows.starts = {0, 10, 13, 30};
  QuantizerHandle three = quantizer({{"bits", 3}});
  FloatWeights kept(model);
  quench::QuantizeOptions options;
  options.calibration = &rows;
  const auto result = quench::quantize_model(model, three, options, kept);
  CHECK(result.calibration_tokens == 30);
  CHECK(result.stage_tokens == 30 * 2 * 2);  // two stages, two blocks
  CHECK(result.observed_groups == 2);
  CHECK(std::isnan(result.layers[0].relative_error));  // nobody to judge
  kept.restore();
}
