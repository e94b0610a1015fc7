// One file of a place, or a part of one.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "quench/kit/format.hpp"

namespace quench::formats {

class PlaceFile {
 public:
  // Throws kit::Error as the place does.
  PlaceFile(const kit::Place& place, std::string name)
      : place_(place), name_(std::move(name)), size_(place_.size(name_)) {}
  // The `bytes` from `first` on, which lie in the file.
  PlaceFile(const kit::Place& place, std::string name, uint64_t first, uint64_t bytes)
      : place_(place), name_(std::move(name)), first_(first), size_(bytes) {}

  // "folder/name", of a part "folder/name: from byte 512".
  std::string path() const {
    return first_ ? fmt::format("{}: from byte {}", place_.where(name_), *first_)
                  : place_.where(name_);
  }
  const std::string& name() const { return name_; }
  uint64_t size() const { return size_; }
  // [thread-safe]
  void read(uint64_t offset, void* destination, uint64_t bytes) const {
    place_.read(name_, first_.value_or(0) + offset, bytes, destination);
  }

 private:
  kit::Place place_;
  std::string name_;
  std::optional<uint64_t> first_;
  uint64_t size_;
};

}  // namespace quench::formats
