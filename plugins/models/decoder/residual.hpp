// The weights that write and read the residual stream.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quench/abi/kind/model.h"

namespace quench::decoder {

struct ResidualNorm {
  int32_t kind;  // QUENCH_NORM_*
  std::string scale;
  std::string shift;  // for both: empty if there is none
  std::vector<std::string> readers;
};

struct ResidualWriter {
  std::string weight;
  int32_t axis;
  std::string bias = {};
};

struct ResidualSpec {
  std::vector<ResidualNorm> norms = {};
  std::vector<ResidualWriter> writers = {};
  std::string refusal = {};  // why there is no list; empty if there is one
};

// The same in the structs of the ABI. They live as long as this object, which cannot be
// moved.
class ResidualPlan {
 public:
  explicit ResidualPlan(ResidualSpec spec);
  ResidualPlan(const ResidualPlan&) = delete;
  ResidualPlan& operator=(const ResidualPlan&) = delete;

  // Throws UNSUPPORTED with the reason if there is no list.
  const quench_residual_info& info() const;

 private:
  ResidualSpec spec_;
  std::vector<std::vector<const char*>> readers_;
  std::vector<quench_residual_norm> norms_;
  std::vector<quench_residual_writer> writers_;
  quench_residual_info info_{};
};

}  // namespace quench::decoder
