#include "core/store/record_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/io/atomic_file.hpp"
#include "core/base/json/canonical_json.hpp"
#include "core/error.hpp"
#include "core/store/attempt_name.hpp"
#include "core/store/sealed_line.hpp"

namespace quench {

namespace {

// A line that readers refuse would be a value that is lost.
void check_readable(nlohmann::json body, const std::string& path) {
  try {
    record_from_json(std::move(body), path);
  } catch (const Error& refused) {
    fail(QUENCH_INTERNAL, "{}; the record is not written", refused.what());
  }
}

}  // namespace

RecordFile::RecordFile(const std::filesystem::path& folder, const std::string& job) {
  make_folders(folder);
  for (int i = 0; i < 16; ++i) {
    attempt_ = next_attempt(folder, job);
    path_ = folder / fmt::format("records-{}-{}.jsonl", job, attempt_);
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
    if (descriptor_ >= 0 || errno != EEXIST) {
      break;
    }
  }
  if (descriptor_ < 0) {
    const int number = errno;
    const bool full = number == ENOSPC || number == EDQUOT;
    fail(full ? QUENCH_RESOURCE_EXHAUSTED : QUENCH_FAILED_PRECONDITION, "{}: cannot be created: {}",
         path_.string(), std::strerror(number));
  }
  try {
    sync_folder_of(path_);  // otherwise a power failure removes the file with its content
  } catch (...) {
    ::close(std::exchange(descriptor_, -1));
    throw;
  }
}

RecordFile::~RecordFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

void RecordFile::append(std::span<const Record> records) {
  if (broken_ || descriptor_ < 0) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: accepts no more records after a failure", path_.string());
  }
  std::string lines;
  for (const Record& record : records) {
    nlohmann::json body = to_json(record);
    lines += seal("record", canonical_json(body));
    check_readable(std::move(body), path_.string());
    lines += '\n';
  }
  try {
    write_all(descriptor_, lines.data(), lines.size(), path_);
    if (::fsync(descriptor_) != 0) {
      fail(QUENCH_FAILED_PRECONDITION, "{}: fsync failed: {}; the record does not count",
           path_.string(), std::strerror(errno));
    }
  } catch (...) {
    undo();
    throw;
  }
  size_ += lines.size();
}

void RecordFile::undo() noexcept {
  broken_ = true;
  if (::ftruncate(descriptor_, static_cast<off_t>(size_)) == 0) {
    ::fsync(descriptor_);
  }
}

void RecordFile::close() {
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (descriptor >= 0 && ::close(descriptor) != 0) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: close failed: {}", path_.string(), std::strerror(errno));
  }
}

}  // namespace quench
