// The header of a safetensors file: which tensors lie where. Total: foreign bytes give an error.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "corpora/shared/file.hpp"

namespace quench::corpora {

struct StoredTensor {
  std::string name;
  std::string dtype;  // "I64", "F32", ... as the file says
  std::vector<uint64_t> shape;
  uint64_t begin = 0;  // of its bytes in the file
  uint64_t end = 0;
};

// Bytes of an element of that dtype, or 0 where it is none of the format's.
uint64_t element_bytes(const std::string& dtype);
bool is_integer(const std::string& dtype);

// All tensors, in the order of the header. DATA_LOSS names the file and what is wrong in it: header
// length, JSON, dtype, shape against offsets, offsets against the file.
std::vector<StoredTensor> read_safetensors_header(const File& file);

}  // namespace quench::corpora
