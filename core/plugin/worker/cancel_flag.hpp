// The word of memory in which a worker reads that the user has asked to stop.
#pragma once

#include <cstdint>
#include <string>

#include "core/base/io/descriptor.hpp"

namespace quench {

class CancelFlag {
 public:
  // `label`: whose process, for messages. Throws Error(RESOURCE_EXHAUSTED).
  explicit CancelFlag(const std::string& label);
  ~CancelFlag();
  CancelFlag(const CancelFlag&) = delete;
  CancelFlag& operator=(const CancelFlag&) = delete;

  // Of the page, for the worker to map.
  int descriptor() const { return file_.get(); }
  void raise() noexcept;

 private:
  Descriptor file_;
  int32_t* word_ = nullptr;
};

}  // namespace quench
