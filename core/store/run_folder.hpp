// Reading back what the attempts of a run wrote.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "core/store/record.hpp"

namespace quench {

// A line of a record file that does not count, and why.
struct DamagedLine {
  std::filesystem::path file;
  uint64_t line = 0;  // from 1
  uint64_t offset = 0;
  std::string reason;
};

struct RunRecords {
  // Valid and not forgotten. Of several attempts at one key the first complete success counts; a
  // failed one counts where nothing succeeded. Derived values come with what they derive from.
  std::vector<Record> records;
  std::vector<DamagedLine> damaged;
  // Keys for which two attempts hold different values (times aside): both stay in `records`.
  std::vector<std::string> conflicts;
};

// All records-*.jsonl of `folder`. A folder that is not there has no records. Throws Error when a
// file cannot be read, or was written by a newer version.
RunRecords read_run(const std::filesystem::path& folder);

}  // namespace quench
