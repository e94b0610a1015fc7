// Parses the header of a safetensors file. Any bytes give a result or an error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "corpora/shared/file.hpp"

namespace quench::corpora {

struct StoredTensor {
  std::string name;
  std::string dtype;  // "I64", "F32", ... as in the file
  std::vector<uint64_t> shape;
  uint64_t begin = 0;  // offset of its bytes in the file
  uint64_t end = 0;
};

// Bytes per element of that dtype; 0 for a dtype that the format does not have.
uint64_t element_bytes(const std::string& dtype);
bool is_integer(const std::string& dtype);

// All tensors in the order of the header. Throws DATA_LOSS that names the file and the fault:
// header length, JSON, dtype, shape against offsets, or offsets against the file size.
std::vector<StoredTensor> read_safetensors_header(const File& file);

}  // namespace quench::corpora
