// Formats records as tables for people; those for papers are Python's (python/quench/tables.py).
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/store/record.hpp"
#include "core/store/record_columns.hpp"
#include "core/store/run_scan.hpp"

namespace quench {

// What a metric measured on (core/store/metric_text.hpp), and the details that name it; many
// records share one.
struct MeasuredOn {
  nlohmann::json text;
  nlohmann::json details;
};

// The columns of one record in a table.
struct TableEntry {
  std::string checkpoint;  // from checkpoint_name
  std::string quantizer;   // from quantizer_name
  std::string bits;        // "3.15", or "-" for the float model
  std::string metric;
  std::string job;                     // point of the sweep
  std::vector<SweepValue> point = {};  // what it sets
  std::string label;                   // the metric's label in the manifest
  std::string of_metric;               // for a quantization error: the metric that it derives from
  double of_value = 0;                 // and its value
  std::shared_ptr<const MeasuredOn> measured_on = nullptr;  // unknown: nullptr
  double value = 0;
  double standard_error = 0;  // NaN if there is none
  std::string error;          // error of a failed cell, else empty
};

// Skips the records' long fields, and parses objects that they share once. The lines' text must
// outlive it. `where`: the file, for messages. Throws Error for what is no JSON.
class TableReader {
 public:
  // Without what the metric measured on.
  TableEntry read(const RecordLine& line, const std::string& where);
  // What the metric of the line measured on.
  std::shared_ptr<const MeasuredOn> measured_on(const RecordLine& line, const std::string& where);

 private:
  // Records of one checkpoint are consecutive.
  const std::string& name(std::string_view checkpoint, std::string_view averaging,
                          const std::string& where);
  const nlohmann::json& shared(std::string_view text, const std::string& where);

  std::string_view last_checkpoint_;
  std::string_view last_averaging_;
  std::string name_;
  std::unordered_map<std::string_view, nlohmann::json> known_;
  std::unordered_map<std::string, std::shared_ptr<const MeasuredOn>> texts_;
};

// "step600", plus the branch or the average if it adds information; from a record's fields.
std::string checkpoint_name(const nlohmann::json& checkpoint, const nlohmann::json& averaging);
// The label, plus the draw and the jitter if they are not the first. Without a quantizer "float",
// or "4 bits (stored)" if the checkpoint's weights are codes.
std::string quantizer_name(const nlohmann::json& quantizer, const nlohmann::json& draw,
                           const nlohmann::json& jitter, const nlohmann::json& checkpoint);
std::string bits_text(const nlohmann::json& quantizer, const nlohmann::json& checkpoint);

// One line per checkpoint and quantizer: what the point of the sweep sets, and what the metric
// measured on (its corpus, its block), where the entries differ in it, loss, its standard error,
// ΔQL ± one standard error, bits per weight; failed cells with their errors below. Text is no wider
// than `width`: a metric that all rows have stands below them, names are shortened while they tell
// rows apart, then standard errors and bits left out, then names shortened further.
std::string records_table(const std::vector<TableEntry>& entries,
                          std::optional<size_t> width = std::nullopt);
std::string records_table(const std::vector<Record>& records,
                          std::optional<size_t> width = std::nullopt);

// How a column gives way where a table is wider than the terminal.
struct ColumnFit {
  size_t least =
      SIZE_MAX;    // its cells are shortened to no fewer characters; by default they are not
  int leaves = 0;  // the columns with 1 are left out first, then those with 2; 0: never
};
inline constexpr ColumnFit kWhole{};

// Aligns the columns of rows of text, with two spaces between columns. With a width, columns are
// shortened, and if that is not enough left out; a last line then names them.
std::string aligned_table(const std::vector<std::vector<std::string>>& rows,
                          const std::vector<ColumnFit>& fits = {},
                          std::optional<size_t> width = std::nullopt);

// Prints them to results(), as wide as the terminal.
void print_table(const std::vector<std::vector<std::string>>& rows,
                 const std::vector<ColumnFit>& fits);

}  // namespace quench
