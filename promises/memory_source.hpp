// A tensor source over tensors in memory, for plugins that read one.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "quench/abi/source.h"

namespace quench::promises {

class MemorySource {
 public:
  MemorySource();
  MemorySource(const MemorySource&) = delete;
  MemorySource& operator=(const MemorySource&) = delete;

  // Adds a tensor; `values` are rounded to `dtype`, one of the float dtypes, or int32.
  void add(const std::string& name, std::vector<int64_t> shape, std::span<const double> values,
           quench_dtype dtype);
  // Adds a tensor from its bytes in C order.
  void add_bytes(const std::string& name, std::vector<int64_t> shape, std::string bytes,
                 quench_dtype dtype);
  void remove(const std::string& name);

  // Every tensor of a safetensors file, read whole; for files that are known to be good.
  void add_safetensors(const std::filesystem::path& path);

  std::vector<std::string> names() const;
  // The values of a tensor of any float dtype or int32; throws when there is none.
  std::vector<double> values(const std::string& name) const;
  std::vector<int64_t> shape(const std::string& name) const;

  // Valid as long as this object.
  const quench_source* source() const { return &source_; }

 private:
  struct Entry {
    std::string name;
    std::vector<int64_t> shape;
    std::string bytes;
    quench_dtype dtype;
  };
  const Entry& entry(const std::string& name) const;
  static const MemorySource& self(const quench_source* source) {
    return *static_cast<const MemorySource*>(source->context);
  }

  std::deque<Entry> entries_;
  quench_source source_{};
};

}  // namespace quench::promises
