// Records as rows: the columns of exports and the order of the rows.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/store/run_scan.hpp"

namespace quench {

enum class ColumnType { kText, kInteger, kReal, kJson };

struct RecordColumn {
  std::string name;
  std::string path;  // dotted, in the form of FieldPath
  ColumnType type;
};

// Those that every run has.
const std::vector<RecordColumn>& record_columns();

// Those of these lines (indices into scan.lines): behind `job` also one for each value that points
// of a sweep set, `sweep.train.lr.peak`.
std::vector<RecordColumn> columns_of(const RunScan& scan, const std::vector<size_t>& lines);

// Sorts `lines` (indices into scan.lines) by point, checkpoint, averaging, quantizer, draw, jitter
// and metric, float models first and derived values last: the same for every history of a run.
void sort_records(const RunScan& scan, std::vector<size_t>& lines);

// Returns the JSON text of every column of a line; "" or "null" for a missing value.
class ColumnReader {
 public:
  explicit ColumnReader(const std::vector<RecordColumn>& columns);
  ~ColumnReader();
  const std::vector<std::string_view>& read(const RecordLine& line);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quench
