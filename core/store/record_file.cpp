#include "core/store/record_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <random>

#include "core/error.hpp"
#include "core/io/atomic_file.hpp"
#include "core/io/sha256.hpp"
#include "core/json/canonical_json.hpp"

namespace quench {

RecordFile::RecordFile(const std::filesystem::path& folder, const std::string& job) {
  std::random_device random;
  for (int attempt = 0; attempt < 16; ++attempt) {
    path_ = folder / fmt::format("records-{}-{:08x}.jsonl", job, random());
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
    if (descriptor_ >= 0) {
      return;
    }
    if (errno != EEXIST) {
      break;
    }
  }
  fail(QUENCH_FAILED_PRECONDITION, "{}: cannot be created: {}", path_.string(),
       std::strerror(errno));
}

RecordFile::~RecordFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

void RecordFile::append(const Record& record) {
  const std::string body = canonical_json(to_json(record));
  const std::string line =
      fmt::format("{{\"record\":{},\"sha256\":\"{}\"}}\n", body, sha256_hex(body));
  write_all(descriptor_, line.data(), line.size(), path_);
  if (::fsync(descriptor_) != 0) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: fsync failed: {}; the record does not count",
         path_.string(), std::strerror(errno));
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
