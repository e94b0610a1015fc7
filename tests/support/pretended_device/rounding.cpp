// pretended_rounding: weights to multiples of 1/64. It takes them in the memory of the pretended
// device, which it then touches as the device's code, and says where they were. With `op` the
// result is an op that holds memory there; nothing applies it. With `float_rows` settings share a
// pass over the float model, and get the weights of a group beforehand.
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

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

// What was prepared of a group: where its weights were, and the sum of each, which reads it there.
struct PreparedGroup final : kit::QuantizerGroup {
  bool on_device = false;
  std::vector<double> sums;
};

void for_each_value(const quench_tensor& matrix, const std::function<void(float)>& visit) {
  std::optional<OnPretendedDevice> inside;
  if (matrix.device.type != QUENCH_DEVICE_CPU) {
    inside.emplace();
  }
  const auto* values = static_cast<const float*>(matrix.data);
  std::for_each(values, values + matrix.shape[0] * matrix.shape[1], visit);
}

quench_status prepare(quench_quantizer*, quench_quantizer_state* state,
                      const quench_group_weights_args* args, quench_error* error) noexcept {
  return kit::guard(error, [&] {
    auto& group = static_cast<PreparedGroup&>(*kit::detail::self(state).group);
    group.sums.clear();
    for (uint32_t l = 0; l < args->count; ++l) {
      group.on_device = args->weights[l].device.type != QUENCH_DEVICE_CPU;
      double sum = 0;
      for_each_value(args->weights[l], [&](float value) { sum += value; });
      group.sums.push_back(sum);
    }
  });
}

class Rounding final : public kit::Quantizer {
 public:
  struct Params {
    bool op = false;
    bool float_rows = false;
    static void describe(kit::Fields<Params>& fields) {
      fields.add("op", &Params::op, "whether the result is an op");
      fields.add("float_rows", &Params::float_rows, "whether all rows are the float model's");
    }
  };
  explicit Rounding(const Params& params) : params_(params) {}
  uint32_t needs() const override {
    return QUENCH_TAKES_DEVICE_WEIGHTS | (params_.op ? QUENCH_MAKES_LINEAR_OP : 0u) |
           (params_.float_rows ? QUENCH_NEEDS_FLOAT_ROWS : 0u);
  }
  std::unique_ptr<kit::QuantizerGroup> begin(const quench_group_args&) override {
    return std::make_unique<PreparedGroup>();
  }
  bool accepts_groups_of(const kit::Quantizer&) const override { return params_.float_rows; }
  static void add_functions(quench_quantizer_table& table) { table.prepare = prepare; }
  void quantize(kit::QuantizerGroup& group, const kit::LinearToQuantize& linear,
                kit::QuantizeSink& sink) override {
    if (params_.op) {
      sink.linear_op({sizeof(quench_linear_op), pretended_allocate(kOpBytes), apply_op,
                      [](void* memory) noexcept { pretended_release(memory); }, nullptr});
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
    const auto& prepared = static_cast<const PreparedGroup&>(group);
    if (params_.float_rows) {
      double sum = 0;
      for_each_value(linear.weight, [&](float value) { sum += value; });
      kit::expects(std::ranges::count(prepared.sums, sum) > 0, "not a weight of the group");
      sink.text("prepared", prepared.on_device ? "device" : "host");
    }
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
