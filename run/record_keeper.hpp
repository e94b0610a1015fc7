// Passes the records of evaluations to those who store them.
#pragma once

#include <vector>

#include "core/error.hpp"
#include "core/store/claims.hpp"
#include "core/store/record.hpp"
#include "run/cell_history.hpp"
#include "run/runner_options.hpp"

namespace quench {

inline constexpr size_t kMaxRecordText = 16384;  // bytes of a message or a path in a record

class RecordKeeper {
 public:
  // Both must outlive it.
  RecordKeeper(const RunnerOptions& options, CellHistory& history)
      : options_(options), history_(history) {}

  // Stores the values of one evaluation in the run, durably, before anything else happens. Returns
  // them.
  std::vector<Record> keep(std::vector<Record> records);

  // From here on `claim` must be held for records to be stored; nullptr: none is needed.
  void hold(const Claim* claim) {
    claim_ = claim;
    lost_ = false;
  }
  // Whether records were refused because it was not held any more.
  bool lost() const { return lost_; }

  // Throws the failure of a cell if it ends the run: a stop was requested (whatever a plugin made
  // of it), a record could not be stored, the claim was lost, or the caller wants to stop at
  // failures, at all or while there is no value.
  void throw_if_final(const Error& error) const;

 private:
  const RunnerOptions& options_;
  CellHistory& history_;
  bool losing_records_ = false;  // storing them threw
  bool has_value_ = false;       // one was stored
  const Claim* claim_ = nullptr;
  bool lost_ = false;
};

}  // namespace quench
