#include "quantizers/autoround/tuning.hpp"

#include <chrono>
#include <cmath>
#include <limits>

#include "quantizers/autoround/draws.hpp"
#include "quench/kit/host.hpp"

namespace quench::quantizers {

namespace {

class Descent {
 public:
  Descent(Objective& objective, std::span<TunedLinear* const> linears, const TuningOptions& options)
      : objective_(objective),
        linears_(linears),
        options_(options),
        draws_(objective.batches(), options.batch_tokens, options.stream) {}

  Tuned run() {
    double least = std::numeric_limits<double>::infinity();
    // The step after the last loss would change nothing that is seen.
    for (int64_t i = 0; i < options_.iterations; ++i) {
      kit::check_cancelled();
      each([](TunedLinear& linear) { linear.round(); });
      const double loss = checked(objective_.descend(draws_.next()));
      if (i == 0) {
        found_.plain_loss = loss;
      }
      if (loss < least) {
        least = loss;
        found_.loss = loss;
        found_.iteration = i;
        each([](TunedLinear& linear) { linear.keep(); });
      }
      const double left = 1 - static_cast<double>(i) / static_cast<double>(options_.iterations);
      each([&](TunedLinear& linear) {
        linear.step(options_.rate * left, options_.range_rate * left);
      });
    }
    choose();
    each([](TunedLinear& linear) { linear.finish(); });
    return found_;
  }

 private:
  // A loss of some batches says little of the others: the best of them has to be better than
  // rounding to nearest on all.
  void choose() {
    if (draws_.all() && options_.iterations > 0) {
      return;
    }
    if (found_.iteration > 0) {
      each([](TunedLinear& linear) { linear.show_best(); });
      found_.loss = checked(objective_.loss());
    }
    each([](TunedLinear& linear) { linear.show_nearest(); });
    found_.plain_loss = checked(objective_.loss());
    if (found_.iteration == 0 || !(found_.loss < found_.plain_loss)) {
      found_.loss = found_.plain_loss;
      found_.iteration = 0;
      each([](TunedLinear& linear) { linear.keep_nearest(); });
    }
  }

  template <typename Do>
  void each(Do&& act) {
    for (TunedLinear* linear : linears_) {
      act(*linear);
    }
  }

  double checked(double loss) const {
    if (!std::isfinite(loss)) {
      kit::fail(QUENCH_NUMERICAL, "%s: the loss to minimize is %g",
                linears_.front()->name().c_str(), loss);
    }
    return loss;
  }

  Objective& objective_;
  std::span<TunedLinear* const> linears_;
  const TuningOptions& options_;
  Draws draws_;
  Tuned found_;
};

}  // namespace

Tuned tune(Objective& objective, std::span<TunedLinear* const> linears,
           const TuningOptions& options) {
  const auto began = std::chrono::steady_clock::now();
  Tuned found = Descent(objective, linears, options).run();
  found.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return found;
}

}  // namespace quench::quantizers
