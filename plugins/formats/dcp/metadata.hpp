// What `.metadata` of a torch distributed checkpoint says of the weights: which tensors there are,
// in what parts, and where each part lies.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "formats/dcp/box.hpp"
#include "formats/shared/tensor_info.hpp"

namespace quench::formats {

struct DcpPart {
  Box box;
  std::string file;
  uint64_t offset = 0;  // in bytes
  uint64_t bytes = 0;
};

struct DcpTensor {
  std::string name;
  quench_dtype dtype{};
  std::vector<int64_t> shape;
  std::vector<DcpPart> parts;  // which have elements, and together are the tensor
};

// The weights, in the order of the file: of a training's state the model's alone. `where` begins
// every message. Throws Error: INVALID_ARGUMENT; UNSUPPORTED for parts that were transformed
// (compressed) and for element types that are not read.
std::vector<DcpTensor> read_metadata(std::string_view pickle, const std::string& where);

}  // namespace quench::formats
