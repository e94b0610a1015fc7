// failing_plan: a quantizer that halves the weights, and whose plan cannot be applied.
#include <memory>
#include <vector>

#include "quench/abi/kind/transform.h"
#include "quench/kit/quantizer.hpp"

namespace kit = quench::kit;

namespace {

quench_status apply_plan(quench_quantizer*, const quench_model_editor*,
                         quench_error* error) noexcept {
  return kit::guard(error, [] { kit::fail(QUENCH_NUMERICAL, "this plan fails"); });
}

void begin_pass(quench_quantizer*) noexcept {}

class FailingPlan final : public kit::Quantizer {
 public:
  struct Params {
    static void describe(kit::Fields<Params>&) {}
  };
  explicit FailingPlan(const Params&) {}

  std::unique_ptr<kit::QuantizerGroup> begin(const quench_group_args&) override {
    return std::make_unique<Group>();
  }
  static void add_functions(quench_quantizer_table& table) {
    table.apply_plan = apply_plan;
    table.begin_pass = begin_pass;
  }

 private:
  class Group final : public kit::QuantizerGroup {
   public:
    void quantize(const kit::LinearToQuantize& linear, kit::QuantizeSink& sink) override {
      std::vector<double> halved = kit::to_doubles(linear.weight, "weight");
      for (double& weight : halved) {
        weight /= 2;
      }
      kit::from_doubles(halved, linear.dequantized, "dequantized");
      sink.number("bits_per_weight", 32);
    }
  };
};

}  // namespace

QUENCH_MODULE("failing_plan", "0.1.0",
              kit::quantizer<FailingPlan>(
                  {.id = "failing_plan", .version = "0.1.0", .summary = "Has a plan that fails."}))
