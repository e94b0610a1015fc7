// Everything that the runner knows about the attempt that it works for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/store/claims.hpp"
#include "core/store/record.hpp"

namespace quench {

// Tells an attempt about its run. No function must be overridden: `quench eval` keeps no records.
class RunStatus {
 public:
  virtual ~RunStatus() = default;

  // All checks have passed and no work has begun.
  virtual void begin() {}
  // What divides the work among processes in one folder, asked for once after begin(); nullptr:
  // this one does it all.
  virtual Claims* claims() { return nullptr; }
  // By content key: how the process died when an earlier attempt worked on that cell. Such a cell
  // fails with this message instead of being computed, unless failed cells are tried again.
  virtual std::map<std::string, std::string> deaths() { return {}; }
  // A checkpoint or one of its quantizers begins: with the numbers of finished and of all cells.
  virtual void step(const std::string& /*what*/, uint64_t /*done*/, uint64_t /*total*/) {}
  // The new records of an evaluation, or its failure: all its values, to be stored together. An
  // exception ends the run: if a record cannot be stored, there is no point in computing the next.
  virtual void keep(const std::vector<Record>& /*records*/) {}
  // One line for a folder of weights that could not be written; the run continues.
  virtual void tell_unwritten(const std::string& /*line*/) {}
};

// Brings weights right before they are read and takes them away when no cell needs them any more.
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
