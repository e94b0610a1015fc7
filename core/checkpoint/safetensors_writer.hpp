// Streaming writer of safetensors files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/io/atomic_file.hpp"
#include "core/checkpoint/tensor_source.hpp"

namespace quench {

// Declare all tensors, write their data in the order of declaration in pieces of any size, then
// call finish(). `path` does not exist before finish(), which enters the file in `list` if there is
// one. Data begins at a multiple of 8 bytes.
class SafetensorsWriter {
 public:
  explicit SafetensorsWriter(std::filesystem::path path,
                             std::map<std::string, std::string> metadata = {},
                             WrittenFiles* list = nullptr);

  // Uses name, dtype and shape only. Throws Error(INVALID_ARGUMENT) for a repeated or reserved name
  // and for shapes that overflow, Error(FAILED_PRECONDITION) after the first write().
  void declare(const TensorInfo& tensor);
  // Appends the next bytes of the data. Throws Error: INVALID_ARGUMENT beyond the declared size,
  // and like AtomicFile.
  void write(const void* data, uint64_t bytes);
  // Throws Error(FAILED_PRECONDITION) if bytes are missing, and like AtomicFile.
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
