// Passes the records of evaluations to those who store them.
#pragma once

#include <vector>

#include "core/error.hpp"
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

  // Throws the failure of a cell if it ends the run: a stop was requested (whatever a plugin made
  // of it), a record could not be stored, or the caller wants to stop at failures.
  void throw_if_final(const Error& error) const;

 private:
  const RunnerOptions& options_;
  CellHistory& history_;
  bool losing_records_ = false;  // storing them threw
};

}  // namespace quench
