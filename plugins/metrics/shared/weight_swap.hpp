// Swaps the parameters of a quantized model that differ from the float ones, piece by
// piece.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quench/abi/kind/metric.h"

namespace quench::metrics {

// Keeps both values of a parameter in the type the model takes: float64 for a float64 model, else
// float32.
class WeightSwap {
 public:
  // Reads every parameter once. Throws NOT_FOUND for one that `floating` does not have.
  WeightSwap(const quench_subject& subject, const quench_weights& floating);
  // Puts the quantized values back.
  ~WeightSwap();
  WeightSwap(const WeightSwap&) = delete;
  WeightSwap& operator=(const WeightSwap&) = delete;

  static constexpr int64_t kOutside = -1;  // the parameters that are in no block

  // Sets the parameters of a block, or kOutside, to their float or quantized values.
  void set(int64_t block, bool floating);
  // Whether any of them differ.
  bool changes(int64_t block) const;

  // ‖ŵ − w‖/‖w‖ of each changed parameter, in the model's order.
  struct Error {
    std::string name;
    double relative = 0;
  };
  std::vector<Error> errors() const;

 private:
  struct Changed {
    const quench_parameter_info* parameter;
    int64_t block;
    std::vector<char> quantized;
    std::vector<char> floating;
    bool is_floating = false;
  };
  void put(Changed& changed, bool floating);

  const quench_subject& subject_;
  quench_dtype dtype_;
  std::vector<Changed> changed_;
};

}  // namespace quench::metrics
