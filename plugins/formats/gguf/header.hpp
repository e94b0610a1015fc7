// What a GGUF file says before its data: metadata, and where which tensor lies.
// Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, versions 2 and 3.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/gguf/metadata.hpp"
#include "formats/gguf/tensor_type.hpp"

namespace quench::gguf {

struct StoredTensor {
  std::string name;
  const TensorType* type;
  std::vector<int64_t> shape;  // in C order: the last dimension is contiguous; GGUF's is reversed
  uint64_t elements;
  uint64_t offset;  // of the first byte, in the file
  uint64_t bytes;
};

struct Header {
  Metadata metadata;
  std::vector<StoredTensor> tensors;  // in the order of the file
};

// The first bytes of every GGUF file.
inline constexpr std::string_view kMagic = "GGUF";

// Reads and checks the header. Every tensor lies inside the file, is aligned, and shares no byte
// with another. Throws kit::Error with file and offset: UNSUPPORTED for what GGUF has and this
// reader does not (version 1, big-endian files, other types of tensors), else DATA_LOSS. `bytes`
// must outlive what is returned.
Header read_header(const Bytes& bytes);

}  // namespace quench::gguf
