// A file that the host opens for a plugin: what is computed with is then what the value's key says
// (abi/extension/input.h).
#pragma once

#include <cstdint>
#include <string>

#include "quench/abi/extension/input.h"
#include "quench/kit/host.hpp"

namespace quench::kit {

class Input {
 public:
  // Throws what the host says of the file, with its path; FAILED_PRECONDITION without a host.
  explicit Input(std::string path)
      : path_(std::move(path)), table_(service<quench_input_service>(QUENCH_SERVICE_INPUT)) {
    if (table_ == nullptr) {
      throw Error(QUENCH_FAILED_PRECONDITION, "the host has no " QUENCH_SERVICE_INPUT);
    }
    quench_error error{sizeof(quench_error), 0, {}};
    char sha256[65] = {};
    check(table_->open(current_host, path_.c_str(), &size_, sha256, &error), error);
    sha256_ = sha256;
  }

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }
  const std::string& sha256() const { return sha256_; }  // 64 hexadecimal digits

  // Copies a range; best in pieces of a MiB or more.
  void read(uint64_t offset, void* destination, uint64_t bytes) const {
    quench_error error{sizeof(quench_error), 0, {}};
    check(table_->read(current_host, path_.c_str(), offset, bytes, destination, &error), error);
  }
  // All of it.
  std::string text() const {
    std::string out(size_, '\0');
    read(0, out.data(), size_);
    return out;
  }

 private:
  std::string path_;
  const quench_input_service* table_;
  uint64_t size_ = 0;
  std::string sha256_;
};

}  // namespace quench::kit
