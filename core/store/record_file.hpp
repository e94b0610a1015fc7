// The records of one attempt of one job: a file of its own, only ever appended to.
#pragma once

#include <filesystem>
#include <string>

#include "core/store/record.hpp"

namespace quench {

// records-<job>-<attempt>.jsonl, created with O_EXCL, so that a job that a cluster starts twice
// writes two files. Each line is {"record": ..., "sha256": "<of the record's canonical JSON>"};
// append() returns after the line is on the disk. Throws Error naming the path.
class RecordFile {
 public:
  RecordFile(const std::filesystem::path& folder, const std::string& job);
  ~RecordFile();
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  void append(const Record& record);
  // Closes the file and reports what only close can.
  void close();
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace quench
