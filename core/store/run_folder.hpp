// Reads back what the attempts of a run wrote.
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
  uint64_t line = 0;  // counts from 1; 0: the whole file
  uint64_t offset = 0;
  std::string reason;
};

struct RunRecords {
  // Valid and not forgotten. Of several attempts at one key the first complete success counts; a
  // failure counts if its cell has no success, and then the last one.
  std::vector<Record> records;
  // Valid, but a later attempt has a value of the same cell (same point, checkpoint, labels, draw
  // and jitter) under another key, because a dependency has changed. Such a record can be reused:
  // appended to a later attempt, it counts again.
  std::vector<Record> superseded;
  std::vector<DamagedLine> damaged;
  // Ends of files without a newline or without the last value: a writer was still at work or was
  // killed. They are not damage and do not count.
  std::vector<DamagedLine> unfinished;
  // Keys for which two attempts have different values (apart from times): `records` keeps both.
  std::vector<std::string> conflicts;
};

// Reads all records-*.jsonl of `folder` in the order of the attempts. A missing folder has no
// records. Throws Error if a file cannot be read or a newer version wrote it.
RunRecords read_run(const std::filesystem::path& folder);

// Hides for good what the run has under `keys` now; values appended later count. Stores `reason`
// with it. Returns once it is on disk. Throws Error naming the path.
void forget_in_run(const std::filesystem::path& folder, const std::vector<std::string>& keys,
                   const std::string& reason);

}  // namespace quench
