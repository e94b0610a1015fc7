// Records as rows: the columns of exports and the order of the rows.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/store/run_scan.hpp"

namespace quench {

enum class ColumnType { kText, kInteger, kReal, kJson };

struct RecordColumn {
  const char* name;
  const char* path;  // dotted, in the form of FieldPath
  ColumnType type;
};

std::span<const RecordColumn> record_columns();

// Sorts `lines` (indices into scan.lines) by point, checkpoint, averaging, quantizer, draw, jitter
// and metric, float models first and derived values last: the same for every history of a run.
void sort_records(const RunScan& scan, std::vector<size_t>& lines);

// Returns the JSON text of every column of a line; "" or "null" for a missing value.
class ColumnReader {
 public:
  ColumnReader();
  ~ColumnReader();
  const std::vector<std::string_view>& read(const RecordLine& line);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quench
