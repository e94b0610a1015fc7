// Hands the records of evaluations over to those who keep them.
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
  // Both outlive it.
  RecordKeeper(const RunnerOptions& options, CellHistory& history)
      : options_(options), history_(history) {}

  // The values of one evaluation: the run has them, and they are safe, before anything else
  // happens. Returns them.
  std::vector<Record> keep(std::vector<Record> records);

  // Throws the failure of a cell where it ends the run: a stop was requested (whatever a plugin
  // made of it), a record could not be kept, or the caller wants it so.
  void throw_if_final(const Error& error) const;

 private:
  const RunnerOptions& options_;
  CellHistory& history_;
  bool losing_records_ = false;  // those who keep them threw
};

}  // namespace quench
