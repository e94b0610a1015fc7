// A tensor that a plugin describes, held to what a file's are held to.
#pragma once

#include <string>

#include "core/checkpoint/tensor_source.hpp"

namespace quench {

// Copies name, type and shape; `shared_with` is 0. `where` begins every message. Throws Error(code)
// for a name that is missing, empty or too long, a type that checkpoints do not hold, and a shape
// that is negative, too large or of too many dimensions.
TensorInfo offered_tensor(const char* name, quench_dtype dtype, int32_t dimensions,
                          const int64_t* shape, int32_t code, const std::string& where);

}  // namespace quench
