// Records as rows: the columns that exports have, and the order of the rows.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/store/run_scan.hpp"

namespace quench {

enum class ColumnType { kText, kInteger, kReal, kJson };

struct RecordColumn {
  const char* name;
  const char* path;  // dotted, as FieldPath has it
  ColumnType type;
};

std::span<const RecordColumn> record_columns();

// Orders `lines` (indices into scan.lines) by point, checkpoint, averaging, quantizer, draw, jitter
// and metric, floats first and derived values last: the same for every history of a run.
void sort_records(const RunScan& scan, std::vector<size_t>& lines);

// The JSON text of every column of a line; "" or "null" where it has none.
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
