// Reads what a table shows of records.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_map>

#include "cli/table.hpp"
#include "core/store/run_scan.hpp"

namespace quench {

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

}  // namespace quench
