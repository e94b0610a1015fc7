// A GGUF file in memory.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "formats/gguf/bytes.hpp"

namespace quench::test {

// Called "file" in messages.
class MemoryBytes final : public gguf::Bytes {
 public:
  explicit MemoryBytes(std::string bytes) : bytes_(std::move(bytes)) {}
  const std::string& name() const override { return name_; }
  uint64_t size() const override { return bytes_.size(); }
  // Ends the program where a range does not lie inside the file, so that no test misses it.
  void read(uint64_t offset, uint64_t count, void* destination) const override {
    if (offset > bytes_.size() || count > bytes_.size() - offset) {
      std::abort();
    }
    std::memcpy(destination, bytes_.data() + offset, count);
  }

 private:
  std::string name_ = "file";
  std::string bytes_;
};

}  // namespace quench::test
