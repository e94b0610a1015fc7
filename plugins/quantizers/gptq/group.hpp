// The statistics of one input group and the factors that were made of them.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>

#include "quantizers/gptq/factor.hpp"
#include "quantizers/gram/cross_gram.hpp"
#include "quantizers/gram/extension.hpp"

namespace quench::quantizers {

// How a linear wants its factor.
struct FactorRequest {
  FactorOptions options;
  double alpha;      // of GPTAQ; 0: without
  bool may_give_up;  // round to nearest where there is no factor

  bool operator==(const FactorRequest&) const = default;
};

class GptqGroup final : public GramGroup {
 public:
  GptqGroup(int64_t in_features, bool float64, bool float_stream)
      : GramGroup(in_features, float64), columns_(in_features) {
    if (float_stream) {
      cross_.emplace(in_features, float64);
    }
  }
  void observe(const quench_observe_args& args) override;

  struct Made {
    FactorRequest request;
    Factor factor;
    std::string fallback;  // why `factor` compensates nothing; empty where it does
  };
  // Made at the first request of its kind and kept: the linears of a group share it, and so do
  // settings that differ in their grids alone. Sets `seconds` to the time that making it took now.
  const Made& factor_for(const FactorRequest& request, double& seconds);

  int64_t columns() const { return columns_; }

 private:
  Made make(const FactorRequest& request);

  int64_t columns_;
  std::optional<CrossGram> cross_;
  std::list<Made> made_;
};

}  // namespace quench::quantizers
