// A tensor source as a C++ object.
#pragma once

#include <optional>
#include <string>

#include "quench/abi/source.h"
#include "quench/kit/error.hpp"
#include "quench/kit/tensor.hpp"

namespace quench::kit {

// Borrows a quench_source, whose comments say what the calls promise.
class Source {
 public:
  explicit Source(const quench_source& source) : source_(&source) {}

  uint64_t count() const { return source_->count(source_); }
  quench_tensor_info info(uint64_t index) const {
    quench_tensor_info found{};
    found.struct_size = sizeof found;
    quench_error error{sizeof error, 0, {}};
    check(source_->info(source_, index, &found, &error), error);
    return found;
  }
  std::optional<uint64_t> find(const std::string& name) const {
    uint64_t index = 0;
    quench_error error{sizeof error, 0, {}};
    const quench_status status = source_->find(source_, name.c_str(), &index, &error);
    if (status == QUENCH_NOT_FOUND) {
      return std::nullopt;
    }
    check(status, error);
    return index;
  }
  void read(uint64_t index, uint64_t first, uint64_t elements, void* destination) const {
    quench_error error{sizeof error, 0, {}};
    check(source_->read(source_, index, first, elements, destination, &error), error);
  }

 private:
  const quench_source* source_;
};

}  // namespace quench::kit
