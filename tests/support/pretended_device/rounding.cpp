// pretended_rounding: weights to multiples of 1/64. It takes them in the memory of the pretended
// device, which it then touches as the device's code, and says where they were. With `op` the result
// is an op that holds memory there; nothing applies it.
#include <cmath>
#include <memory>
#include <optional>

#include "quench/kit/quantizer.hpp"
#include "quench/kit/tensor.hpp"
#include "tests/support/pretended_device/memory.h"

namespace quench::test {

namespace {

constexpr size_t kOpBytes = 128;

quench_status apply_op(void*, const quench_tensor*, const quench_tensor*, void*,
                       quench_error* error) noexcept {
  return kit::guard(error, [] { kit::fail(QUENCH_UNSUPPORTED, "an op to be held alone"); });
}

class Rounding final : public kit::Quantizer {
 public:
  struct Params {
    bool op = false;
    static void describe(kit::Fields<Params>& fields) {
      fields.add("op", &Params::op, "whether the result is an op");
    }
  };
  explicit Rounding(const Params& params) : params_(params) {}
  uint32_t needs() const override {
    return QUENCH_TAKES_DEVICE_WEIGHTS | (params_.op ? QUENCH_MAKES_LINEAR_OP : 0u);
  }
  std::unique_ptr<kit::QuantizerGroup> begin(const quench_group_args&) override {
    return std::make_unique<kit::QuantizerGroup>();
  }
  void quantize(kit::QuantizerGroup&, const kit::LinearToQuantize& linear,
                kit::QuantizeSink& sink) override {
    if (params_.op) {
      sink.linear_op({sizeof(quench_linear_op), pretended_allocate(kOpBytes), apply_op,
                      [](void* memory) noexcept { pretended_release(memory); }});
    }
    const bool on_device = linear.weight.device.type != QUENCH_DEVICE_CPU;
    kit::expects(linear.dequantized.device.type == linear.weight.device.type,
                 "weight and dequantized weight are in different memories");
    std::optional<OnPretendedDevice> inside;
    if (on_device) {
      inside.emplace();
    }
    const auto* from = static_cast<const float*>(linear.weight.data);
    auto* to = static_cast<float*>(linear.dequantized.data);
    for (int64_t i = 0; i < linear.info.out_features * linear.info.in_features; ++i) {
      to[i] = std::nearbyint(from[i] * 64) / 64;
    }
    inside.reset();
    sink.text("memory", on_device ? "device" : "host");
    sink.text("codes", linear.wants_codes ? "wanted" : "left out");
    sink.number("bits", 8);
    sink.number("bits_per_weight", 8);
  }

 private:
  Params params_;
};

}  // namespace

}  // namespace quench::test

QUENCH_MODULE(
    "quench.test.pretended_rounding", "0.1.0",
    quench::kit::quantizer<quench::test::Rounding>({.id = "pretended_rounding",
                                                    .version = "0.1.0",
                                                    .summary = "Rounds weights where they are.",
                                                    .example = "{}"}))
