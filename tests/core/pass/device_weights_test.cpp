// A pass whose quantizer takes weights in the memory of a device that is none
// (tests/support/pretended_device): what the host touches of it ends the process.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "core/checkpoint/dtype.hpp"
#include "core/inputs/weights/device_tensor.hpp"
#include "core/pass/activation_stream.hpp"
#include "core/pass/channel_scale.hpp"
#include "core/pass/pass_replay.hpp"
#include "core/pass/process_memory.hpp"
#include "core/pass/quantize_model.hpp"
#include "core/plugin/catalog/parameters.hpp"
#include "core/plugin/services/host_services.hpp"
#include "quench/abi/kind/model.h"
#include "tests/run/built_catalog.hpp"
#include "tests/support/pretended_device/memory.h"
#include "tests/support/pretended_device/scene.hpp"

namespace quench::test {

namespace {

ModelHandle drawn(bool pretended) {
  Catalog& catalog = pretended ? pretended_catalog() : built_catalog();
  HostServices::instance().set_seed(3);
  return ModelHandle::open(catalog, catalog.require("model", pretended ? "pretended" : "gpt_neox"),
                           {sizeof(quench_model_open_args),
                            QUENCH_OPEN_INITIALIZE,
                            nullptr,
                            kTinyConfig,
                            std::strlen(kTinyConfig),
                            {pretended ? QUENCH_DEVICE_CUDA : QUENCH_DEVICE_CPU, 0},
                            kFloat32});
}

QuantizerHandle rounding(const nlohmann::json& parameters = nlohmann::json::object()) {
  const PluginDescription& plugin = pretended_catalog().require("quantizer", "pretended_rounding");
  std::vector<ParameterProblem> problems;
  return {pretended_catalog(), plugin, complete_parameters(plugin, parameters, problems)};
}

// All weights, one after the other; `rounded`: those of linears as the quantizer makes them.
std::vector<float> weights_of(const ModelHandle& model, bool rounded = false) {
  std::vector<float> out;
  for (const quench_parameter_info& parameter : model.parameters()) {
    HostTensor value(kFloat32, {parameter.shape, parameter.shape + parameter.dimensions});
    model.weight_get(parameter.name, value.view());
    for (float& x : value.as<float>()) {
      x = rounded && parameter.role == QUENCH_ROLE_MATRIX ? std::nearbyint(x * 64) / 64 : x;
    }
    out.insert(out.end(), value.as<float>().begin(), value.as<float>().end());
  }
  return out;
}

void check_texts(const QuantizationResult& result, const char* memory, const char* codes) {
  REQUIRE(result.layers.size() == 8);
  for (const LayerResult& layer : result.layers) {
    CHECK(layer.texts.at("memory") == memory);
    CHECK(layer.texts.at("codes") == codes);
  }
}

// A pass on the device, with everything that is done with float weights afterwards. Returns how
// many bytes there are on the device after it beyond before.
size_t pass_on_device(size_t free_bytes) {
  pretended_free_bytes(free_bytes);
  ModelHandle model = drawn(true);
  const std::vector<float> original = weights_of(model);
  const std::vector<float> wanted = weights_of(model, /*rounded=*/true);
  REQUIRE((wanted != original));
  QuantizerHandle quantizer = rounding();
  FloatWeights kept(model);
  const size_t before = pretended_bytes();
  check_texts(quantize_model(model, quantizer, {}, kept), "device", "left out");
  const size_t more = pretended_bytes() - before;
  CHECK((weights_of(model) == wanted));
  kept.during_exchange([&] { CHECK((weights_of(model) == original)); });
  CHECK((weights_of(model) == wanted));
  const quench_linear_info& linear = model.block(1).groups[0].linears[0];
  const HostTensor* value = kept.find(linear.weight);
  REQUIRE(value != nullptr);
  kept.put_back(linear.weight);
  HostTensor now(kFloat32, value->shape());
  model.weight_get(linear.weight, now.view());
  CHECK(std::ranges::equal(now.bytes(), value->bytes()));
  kept.restore();
  CHECK((weights_of(model) == original));
  return more;
}

}  // namespace

TEST_CASE("pass: a quantizer that takes them gets weights on the device", "[core][run]") {
  constexpr size_t kLinears = 2 * (48 * 16 + 16 * 16 + 2 * 40 * 16) * sizeof(float);
  CHECK(pass_on_device(5 * kLinears) == kLinears);  // the float weights wait there
  CHECK(pass_on_device(4 * kLinears) == 0);         // or in host memory
}

TEST_CASE("pass: rows with divided columns are on the device alone", "[core][run]") {
  pretended_free_bytes(size_t{1} << 30);
  ModelHandle model = drawn(true);
  constexpr int64_t kRows = int64_t{1} << 21;
  constexpr uint64_t kBytes = kRows * 4 * sizeof(float);
  DeviceTensor rows(model, kFloat32, {kRows, 4});
  {
    HostTensor values(kFloat32, {kRows, 4});
    std::ranges::fill(values.as<float>(), 6.0F);
    model.copy(values.view(), rows.view());
  }
  const uint64_t before = resident_memory_bytes();
  const DividedRows divided(model, rows.view(), std::vector<double>{1, 2, 3, 4});
  CHECK(divided.view().device.type == QUENCH_DEVICE_CUDA);
  CHECK(resident_memory_bytes() < before + kBytes / 2 * 3);  // the device's is this process's
  HostTensor got(kFloat32, {kRows, 4});
  model.copy(divided.view(), got.view());
  CHECK(std::vector<float>(got.as<float>().end() - 4, got.as<float>().end()) ==
        std::vector<float>{6, 3, 2, 1.5});
}

TEST_CASE("pass: an op that is made of a weight on the device replaces the linear", "[core][run]") {
  pretended_free_bytes(0);  // float weights wait in host memory
  ModelHandle model = drawn(true);
  const std::vector<float> original = weights_of(model);
  QuantizerHandle quantizer = rounding({{"op", true}});
  FloatWeights kept(model);
  const size_t before = pretended_bytes();
  check_texts(quantize_model(model, quantizer, {}, kept), "device", "left out");
  CHECK(kept.has_ops());
  CHECK(pretended_bytes() == before + 8 * 128);  // of eight linears: the model has the ops
  CHECK((weights_of(model) == original));        // and no weight of theirs
  kept.restore();
  CHECK(pretended_bytes() == before);
}

TEST_CASE("pass: settings of one float pass get weights on the device, their results wait here",
          "[core][run]") {
  pretended_free_bytes(size_t{1} << 30);
  ModelHandle model = drawn(true);
  const std::vector<float> original = weights_of(model);
  const std::vector<float> wanted = weights_of(model, /*rounded=*/true);
  QuantizerHandle first = rounding({{"float_rows", true}});
  QuantizerHandle second = rounding({{"float_rows", true}});
  QuantizerHandle* const both[] = {&first, &second};
  const size_t before = pretended_bytes();
  const std::vector<QuantizedSetting> settings = quantize_settings(model, both, {});
  CHECK(pretended_bytes() == before);
  CHECK((weights_of(model) == original));
  REQUIRE(settings.size() == 2);
  for (const QuantizedSetting& setting : settings) {
    check_texts(setting.result, "device", "left out");
    CHECK(setting.result.layers[0].texts.at("prepared") == "device");
    FloatWeights kept(model);
    set_weights(model, setting, kept);
    CHECK((weights_of(model) == wanted));
    kept.restore();
    CHECK((weights_of(model) == original));
  }
}

TEST_CASE("block replay: a weight on the device takes the place of the model's there",
          "[core][run]") {
  ModelHandle model = drawn(true);
  const std::vector<int32_t> ids = {1, 2, 3, 5, 8, 13, 21, 34};
  const std::vector<uint64_t> starts = {0, 8};
  ActivationStream stream(model, ids, starts);
  stream.embed(0);
  stream.stage(0, 0, 0);
  PassReplay replay(model, stream, nullptr, 0, 1, false);
  const quench_linear_info& linear = model.block(0).groups[0].linears[0];
  REQUIRE(model.block(0).groups[0].stage == 0);
  const auto carried = [&](const std::vector<quench_overlay>& overlays) {
    const quench_replay_args args{
        sizeof args, 0, 0, 2, static_cast<uint32_t>(overlays.size()), overlays.data(), nullptr};
    const quench_tensor h = replay.replay(args)[1];  // what the linear's outputs become
    HostTensor out(h.dtype, {h.shape, h.shape + h.dimensions});
    model.copy(h, out.view());
    return std::vector<float>(out.as<float>().begin(), out.as<float>().end());
  };
  const std::vector<float> exact = carried({});
  const HostTensor here(kFloat32, {linear.out_features, linear.in_features});
  const DeviceTensor there(model, kFloat32, here.shape());
  model.copy(here.view(), there.view());
  const auto overlay = [&](const quench_tensor& value) {
    return quench_overlay{sizeof(quench_overlay), 0, linear.weight, value};
  };
  const std::vector<float> wanted = carried({overlay(here.view())});
  CHECK((wanted != exact));
  const size_t before = pretended_bytes();
  pretended_peak();
  CHECK((carried({}) == exact));
  const size_t plain = pretended_peak();
  CHECK((carried({overlay(there.view())}) == wanted));
  CHECK(pretended_peak() == plain + there.memory()->bytes());  // there the model's waits
  CHECK((carried({}) == exact));
  CHECK(pretended_bytes() == before);
}

TEST_CASE("pass: in host memory the same quantizer gets weights there", "[core][run]") {
  ModelHandle model = drawn(false);
  const std::vector<float> wanted = weights_of(model, /*rounded=*/true);
  QuantizerHandle quantizer = rounding();
  FloatWeights kept(model);
  check_texts(quantize_model(model, quantizer, {}, kept), "host", "wanted");
  CHECK((weights_of(model) == wanted));
}

TEST_CASE("pass: where tensors are kept, weights come from host memory", "[core][run]") {
  ModelHandle model = drawn(true);
  QuantizerHandle quantizer = rounding();
  FloatWeights kept(model);
  QuantizeOptions options;
  options.keep_tensors = true;
  check_texts(quantize_model(model, quantizer, options, kept), "host", "wanted");
}

}  // namespace quench::test
