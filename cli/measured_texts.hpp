// What records were measured on: columns for exports, where values of one metric differ in it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cli/table.hpp"
#include "core/store/metric_text.hpp"
#include "core/store/run_scan.hpp"

namespace quench {

// For each of `lines` (indices into scan.lines) the one that says what was measured on: itself, or
// of a derived value that of the value from which it derives.
std::vector<size_t> measured_lines(const RunScan& scan, const std::vector<size_t>& lines);

// What the values of `lines` were measured on, as far as values of one metric differ in it. The
// scan must outlive it.
class MeasuredTexts {
 public:
  MeasuredTexts(const RunScan& scan, const std::vector<size_t>& lines);

  // Parameters of the metrics, "block", and of what they read, "corpus"; none where all values of
  // each metric were measured on one text.
  const std::vector<std::string>& titles() const { return titles_; }
  // Of the line at this place of `lines` a text for each title, "" where its metric has no such
  // parameter.
  std::vector<std::string> of(size_t place) const;

 private:
  std::vector<std::shared_ptr<const MeasuredOn>> on_;
  std::vector<std::string_view> metrics_;
  TextNames names_;
  std::vector<std::string> titles_;
};

}  // namespace quench
