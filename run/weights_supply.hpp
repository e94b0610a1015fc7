// Who brings weights right before they are read and takes them away when no cell needs them any
// more.
#pragma once

#include <cstddef>

namespace quench {

class WeightsSupply {
 public:
  virtual ~WeightsSupply() = default;
  // Before anything of this set of weights is read; `job`: of the experiment. What its cells read
  // is there when this returns. Throws Error, which ends the run.
  virtual void begin(size_t job, size_t weights) = 0;
  // After the last cell.
  virtual void end() = 0;
};

}  // namespace quench
