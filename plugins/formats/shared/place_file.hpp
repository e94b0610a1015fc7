// One file of a place.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "quench/kit/format.hpp"

namespace quench::formats {

class PlaceFile {
 public:
  // Throws kit::Error as the place does.
  PlaceFile(const kit::Place& place, std::string name)
      : place_(place), name_(std::move(name)), size_(place_.size(name_)) {}

  std::string path() const { return place_.where(name_); }
  const std::string& name() const { return name_; }
  uint64_t size() const { return size_; }
  // [thread-safe]
  void read(uint64_t offset, void* destination, uint64_t bytes) const {
    place_.read(name_, offset, bytes, destination);
  }

 private:
  kit::Place place_;
  std::string name_;
  uint64_t size_;
};

}  // namespace quench::formats
