// Reads safetensors files of reference data, which are trusted: no check that a product needs.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/temporary.hpp"

namespace quench::test {

class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path) : bytes_(read_file(path)) {
    uint64_t header = 0;
    std::memcpy(&header, bytes_.data(), sizeof header);
    header_ = nlohmann::json::parse(bytes_.substr(8, header));
    data_ = 8 + header;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& [name, tensor] : header_.items()) {
      if (name != "__metadata__") {
        found.push_back(name);
      }
    }
    return found;
  }
  bool has(const std::string& name) const { return header_.contains(name); }
  std::vector<int64_t> shape(const std::string& name) const {
    return header_.at(name).at("shape").get<std::vector<int64_t>>();
  }
  // The elements, which must be of a type as wide as T.
  template <typename T>
  std::vector<T> elements(const std::string& name) const {
    const auto offsets = header_.at(name).at("data_offsets").get<std::vector<uint64_t>>();
    const uint64_t bytes = offsets.at(1) - offsets.at(0);
    uint64_t count = 1;
    for (const int64_t size : shape(name)) {
      count *= static_cast<uint64_t>(size);
    }
    if (bytes != count * sizeof(T)) {
      throw std::runtime_error(name + " has elements of another size");
    }
    std::vector<T> values(count);
    std::memcpy(values.data(), bytes_.data() + data_ + offsets.at(0), bytes);
    return values;
  }

 private:
  std::string bytes_;
  nlohmann::json header_;
  uint64_t data_ = 0;
};

}  // namespace quench::test
