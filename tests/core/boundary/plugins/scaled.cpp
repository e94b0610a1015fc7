// A quantizer that scales the weights by what its library answers; built twice, under two ids, each
// with a library of its own. With OpenMP, a third time: its threads multiply.
#include <memory>
#include <vector>

#include "quench/kit/quantizer.hpp"

extern "C" double boundary_scale(void);

namespace kit = quench::kit;

namespace {

class Scaled final : public kit::Quantizer {
 public:
  struct Params {
    static void describe(kit::Fields<Params>&) {}
  };
  explicit Scaled(const Params&) {}
  std::unique_ptr<kit::QuantizerGroup> begin(const quench_group_args&) override {
    return std::make_unique<Group>();
  }

 private:
  class Group final : public kit::QuantizerGroup {
   public:
    void quantize(const kit::LinearToQuantize& linear, kit::QuantizeSink& sink) override {
      std::vector<double> weights = kit::to_doubles(linear.weight, "weight");
#ifdef _OPENMP
#pragma omp parallel for
#endif
      for (size_t i = 0; i < weights.size(); ++i) {
        weights[i] *= boundary_scale();
      }
      kit::from_doubles(weights, linear.dequantized, "dequantized");
      sink.number("bits_per_weight", 32);
    }
  };
};

}  // namespace

QUENCH_MODULE(BOUNDARY_ID, "0.1.0",
              kit::quantizer<Scaled>({.id = BOUNDARY_ID,
                                      .version = "0.1.0",
                                      .summary = "Scales the weights by what its library says."}))
