// Sign gradient descent on the rounding of some linears (Cheng et al. 2023, algorithm 1).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "quantizers/autoround/tuned_linear.hpp"

namespace quench::quantizers {

// What is minimized: a mean squared error of outputs on calibration batches, as a function of the
// linears' `rounded` weights.
class Objective {
 public:
  Objective() = default;
  Objective(const Objective&) = delete;
  Objective& operator=(const Objective&) = delete;
  virtual ~Objective() = default;
  // Tokens of each batch.
  virtual std::vector<int64_t> batches() const = 0;
  // The mean over these batches. Adds its derivatives to the linears' `gradient`, but for a factor
  // that they have in common.
  virtual double descend(std::span<const uint64_t> batches) = 0;
  // The mean over all batches.
  virtual double loss() = 0;
};

struct TuningOptions {
  int64_t iterations;
  double rate;        // of the first step; it falls linearly to 0
  double range_rate;  // likewise, of the factors on ranges; 0: they stay 1
  int64_t batch_tokens;
  std::string stream;  // of the random numbers that choose batches
};

// What came of it. Losses are of all batches.
struct Tuned {
  double plain_loss = 0;  // of rounding to nearest
  double loss = 0;        // never above `plain_loss`
  int64_t iteration = 0;  // whose codes are kept; 0: those of rounding to nearest
  double seconds = 0;
};

// Tunes all linears together, and finishes them. Throws NUMERICAL, with the first linear's name, if
// a loss is not finite.
Tuned tune(Objective& objective, std::span<TunedLinear* const> linears,
           const TuningOptions& options);

}  // namespace quench::quantizers
