// The records of one attempt at one job: a file of its own that is only ever appended to.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "core/store/record.hpp"

namespace quench {

// records-<job>-<attempt>.jsonl, created with O_EXCL, so that a job that a
// cluster starts twice writes two files; creates its folder if it is missing.
// Each line is {"record": ..., "sha256": "<hash of the record's canonical
// JSON>"}; append() returns after the lines are on disk. Throws Error naming the
// path: RESOURCE_EXHAUSTED if the disk or a quota is full, else
// FAILED_PRECONDITION.
class RecordFile {
 public:
  RecordFile(const std::filesystem::path& folder, const std::string& job);
  ~RecordFile();
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  // Appends all values of one evaluation, ordered by index, with one write and one fsync. After a
  // failure it cuts the file back to its old size and accepts no more records, because what
  // a failed fsync left behind is unknown.
  void append(std::span<const Record> records);
  void append(const Record& record) { append({&record, 1}); }
  // Closes the file and reports errors that only close reports.
  void close();
  const std::filesystem::path& path() const { return path_; }
  // "0001-5eed1234": the attempt's name within its job.
  const std::string& attempt() const { return attempt_; }

 private:
  void undo() noexcept;

  std::filesystem::path path_;
  std::string attempt_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
  bool broken_ = false;
};

}  // namespace quench
