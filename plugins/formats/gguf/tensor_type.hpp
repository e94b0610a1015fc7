// How GGUF files store the elements of a tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "quench/abi/tensor.h"

namespace quench::gguf {

// What a type that is stored in blocks says of its codes, for records.
struct CodeScheme {
  int64_t bits;        // of a code
  int64_t group_size;  // elements that share a scale
  bool symmetric;      // there is a scale and no minimum
};

struct TensorType {
  uint32_t number;  // in the file
  const char* name;
  uint64_t block_elements;
  uint64_t block_bytes;
  // The elements as they are offered.
  quench_dtype dtype;
  // One block to float32; nullptr: elements are offered as they lie in the file.
  void (*decode)(const std::byte* block, float* elements);
  CodeScheme codes;  // where there is a `decode`
};

// Largest block of a type that is decoded.
inline constexpr uint64_t kMaxBlockElements = 256;

// The type with that number in files, or nullptr where it is not read.
const TensorType* find_tensor_type(uint32_t number);

// The name of any type that GGUF has, also of those that are not read; "unknown" for others.
const char* name_of_tensor_type(uint32_t number);

// Names of the types that are read, "F32, F16, ...".
std::string names_of_tensor_types();

}  // namespace quench::gguf
