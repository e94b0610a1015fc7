// The tensors of a place, as its files hold them.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "formats/shared/tensor_info.hpp"
#include "quench/kit/format.hpp"

namespace quench::formats {

class TensorFiles {
 public:
  // Throws kit::Error as the place does.
  explicit TensorFiles(const kit::Place& place);

  // The place, for messages.
  const std::string& description() const { return description_; }
  uint64_t count() const { return tensors_.size(); }
  const TensorInfo& info(uint64_t index) const { return tensors_[index]; }
  std::optional<uint64_t> find(const std::string& name) const;
  // [thread-safe]
  void read(uint64_t index, uint64_t first, uint64_t elements, void* to) const {
    source_.read(index, first, elements, to);
  }

 private:
  std::string description_;
  kit::Source source_;
  std::vector<TensorInfo> tensors_;
  std::unordered_map<std::string, uint64_t> by_name_;
};

}  // namespace quench::formats
