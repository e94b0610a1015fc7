// Records as rows: the columns of exports and the order of the rows.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/store/run_scan.hpp"

namespace quench {

// Path in the manifest ("train.lr.peak") and value.
using SweepValue = std::pair<std::string, nlohmann::json>;

// The values of a point as a record holds it ({"train.lr": {"peak": 0.003}}), in the order of its
// names. Lists are one value. Nothing for null.
std::vector<SweepValue> sweep_values(const nlohmann::json& point);

// Each path by its last word, or by as many words as tell it from the others: "peak", "lr.peak".
std::vector<std::string> short_paths(const std::vector<std::string>& paths);

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
