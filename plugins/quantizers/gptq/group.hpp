// The statistics of one input group, and the factors computed from them.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>

#include "quantizers/gptq/factor.hpp"
#include "quantizers/gram/cross_gram.hpp"
#include "quantizers/gram/gram_group.hpp"

namespace quench::quantizers {

// The factor that a linear needs.
struct FactorRequest {
  FactorOptions options;
  double alpha;      // of GPTAQ; 0: no correction
  bool may_give_up;  // rounds to nearest if there is no factor

  bool operator==(const FactorRequest&) const = default;
};

class GptqGroup final : public GramGroup {
 public:
  GptqGroup(int64_t in_features, bool float64, bool float_stream, at::Device device)
      : GramGroup(in_features, float64, device), columns_(in_features) {
    if (float_stream) {
      cross_.emplace(in_features, float64);
    }
  }
  void observe(const quench_observe_args& args) override;

  struct Made {
    FactorRequest request;
    Factor factor;
    std::string fallback;  // why `factor` compensates nothing; empty if it does
  };
  // Computed at the first request of its kind and kept: the linears of a group share it, and so do
  // settings that differ only in their grids. Sets `seconds` to the time spent in this call.
  const Made& factor_for(const FactorRequest& request, double& seconds);

  int64_t columns() const { return columns_; }

 private:
  Made make(const FactorRequest& request);

  int64_t columns_;
  std::optional<CrossGram> cross_;
  std::list<Made> made_;
};

}  // namespace quench::quantizers
