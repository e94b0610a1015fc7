// Reads safetensors files: 8 bytes of header length, a JSON header, the data.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/io/file.hpp"
#include "core/checkpoint/tensor_source.hpp"

namespace quench {

// The bound that the format sets for the header.
inline constexpr uint64_t kSafetensorsMaxHeader = 100'000'000;

struct SafetensorsEntry {
  std::string name;
  quench_dtype dtype{};
  std::vector<int64_t> shape;
  uint64_t begin = 0;  // bytes from the start of the data
  uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // sorted by offset, without hole or overlap
  std::map<std::string, std::string> metadata;
};

// Parses and checks the JSON header of a file with `data_bytes` bytes of data; messages begin with
// `name`. Throws Error: INVALID_ARGUMENT, UNSUPPORTED (element type).
SafetensorsHeader parse_safetensors_header(std::string_view header, uint64_t data_bytes,
                                           const std::string& name);

class SafetensorsSource final : public TensorSource {
 public:
  // Reads and checks the header; throws Error like parse_safetensors_header and File.
  explicit SafetensorsSource(const std::filesystem::path& path);

  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  void read_elements(uint64_t index, uint64_t first, uint64_t elements,
                     void* destination) const override;

  File file_;
  std::map<std::string, std::string> metadata_;
  std::vector<uint64_t> offsets_;  // of each tensor, from the start of the file
};

}  // namespace quench
