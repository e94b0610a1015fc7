// Streaming writer of safetensors files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/checkpoint/tensor_source.hpp"
#include "core/io/atomic_file.hpp"

namespace quench {

// Declare all tensors, write their data in the order of declaration in pieces of any size, finish.
// Nothing is visible under `path` before finish(), which enters the file in `list` where there is
// one. Data begins at a multiple of 8 bytes.
class SafetensorsWriter {
 public:
  explicit SafetensorsWriter(std::filesystem::path path,
                             std::map<std::string, std::string> metadata = {},
                             WrittenFiles* list = nullptr);

  // Only name, dtype and shape are used. Throws Error(INVALID_ARGUMENT) for a name given twice or
  // reserved and for shapes that overflow, Error(FAILED_PRECONDITION) after the first write().
  void declare(const TensorInfo& tensor);
  // The next bytes of the data. Throws Error: INVALID_ARGUMENT beyond what was declared, and as
  // AtomicFile does.
  void write(const void* data, uint64_t bytes);
  // Throws Error(FAILED_PRECONDITION) when bytes are missing, and as AtomicFile does.
  void finish();

 private:
  void begin();

  std::filesystem::path path_;
  std::map<std::string, std::string> metadata_;
  WrittenFiles* list_;
  std::vector<TensorInfo> tensors_;
  std::map<std::string, uint64_t> by_name_;
  uint64_t data_bytes_ = 0;
  uint64_t written_ = 0;
  std::optional<AtomicFile> file_;
};

}  // namespace quench
