// The records of one attempt of one job: a file of its own, only ever appended to.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "core/store/record.hpp"

namespace quench {

// records-<job>-<attempt>.jsonl, created with O_EXCL, so that a job that a cluster starts twice
// writes two files; its folder is made where it is not there. Each line is {"record": ...,
// "sha256":
// "<of the record's canonical JSON>"}; append() returns after the lines are on the disk. Throws
// Error naming the path: RESOURCE_EXHAUSTED when the disk or a quota is full, else
// FAILED_PRECONDITION.
class RecordFile {
 public:
  RecordFile(const std::filesystem::path& folder, const std::string& job);
  ~RecordFile();
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  // All values of one evaluation, in the order of their index, with one write and one fsync. After
  // a failure the file is cut back to what it had, and takes no more: what a failed fsync left
  // behind is not known.
  void append(std::span<const Record> records);
  void append(const Record& record) { append({&record, 1}); }
  // Closes the file and reports what only close can.
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
