// Records as tables for people and papers.
#pragma once

#include <string>
#include <vector>

#include "core/store/record.hpp"

namespace quench {

enum class TableStyle { kText, kMarkdown, kLatex };

// What a table shows of one record.
struct TableEntry {
  std::string checkpoint;  // checkpoint_name
  std::string quantizer;   // quantizer_name
  std::string bits;        // "3.15", or "-" for the float model
  std::string metric;
  std::string job;        // point of the sweep
  std::string label;      // of the metric in the manifest
  std::string of_metric;  // of a quantization error: the metric it derives from
  double value = 0;
  double standard_error = 0;  // NaN where there is none
  std::string error;          // of a failed cell, else empty
};

// "step600", with the branch or the average where it says more; from a record's fields.
std::string checkpoint_name(const nlohmann::json& checkpoint, const nlohmann::json& averaging);
// The label, with the draw and the jitter where they are not the first.
std::string quantizer_name(const nlohmann::json& quantizer, const nlohmann::json& draw,
                           const nlohmann::json& jitter);
std::string bits_text(const nlohmann::json& quantizer);

// One line per checkpoint and quantizer: loss, its standard error, ΔQL with its interval of one
// standard error, bits per weight; failed cells with their error below (in LaTeX as comments). The
// LaTeX form needs the package booktabs.
std::string records_table(const std::vector<TableEntry>& entries,
                          TableStyle style = TableStyle::kText);
std::string records_table(const std::vector<Record>& records);

// Rows of text with their columns lined up, two spaces between them.
std::string aligned_table(const std::vector<std::vector<std::string>>& rows);

}  // namespace quench
