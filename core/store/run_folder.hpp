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
  uint64_t line = 0;  // from 1; 0: the whole file
  uint64_t offset = 0;
  std::string reason;
};

struct RunRecords {
  // Valid and not forgotten. Of several attempts at one key the first complete success counts; a
  // failed one counts where its cell has no success, the last of several.
  std::vector<Record> records;
  // As valid, but a later attempt has a value of the same cell (same point, checkpoint, labels,
  // draw and jitter) under another key, because what it depends on has changed. Such a record may
  // be used again: appended to a later attempt, it is the one that counts.
  std::vector<Record> superseded;
  std::vector<DamagedLine> damaged;
  // The ends of files that no newline or no last value closes: what a writer was making when they
  // were read, or when it was killed. Not damage; does not count.
  std::vector<DamagedLine> unfinished;
  // Keys for which two attempts hold different values (times aside): both stay in `records`.
  std::vector<std::string> conflicts;
};

// All records-*.jsonl of `folder`, in the order of the attempts' numbers. A folder that is not
// there has no records. Throws Error when a file cannot be read, or was written by a newer version.
RunRecords read_run(const std::filesystem::path& folder);

// Hides what the run has under `keys` by now, for good: values appended later count. `reason` is
// kept beside it. Returns after it is on the disk. Throws Error naming the path.
void forget_in_run(const std::filesystem::path& folder, const std::vector<std::string>& keys,
                   const std::string& reason);

}  // namespace quench
