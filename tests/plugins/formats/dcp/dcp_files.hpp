// Small writers of torch's distributed checkpoints, good and bad, for tests.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/core/checkpoint/builders.hpp"

namespace quench::test::dcp {

namespace p = quench::test::pickle;

using Numbers = std::vector<int64_t>;

inline std::string size(const Numbers& numbers) {
  return p::global("torch", "Size") + p::tuple(numbers) + "\x85R";
}

// An object of a class of torch.distributed.checkpoint, with its attributes.
inline std::string object(const std::string& module, const std::string& name,
                          const std::vector<std::string>& attributes) {
  return p::global("torch.distributed.checkpoint." + module, name) + ")\x81" + p::dict(attributes) +
         "b";
}

inline std::string properties(const std::string& dtype = "float32") {
  return p::global("torch.distributed.checkpoint.metadata", "TensorProperties") + ")\x81(" +
         p::global("torch", dtype) + "\x89tb";
}

inline std::string chunk(const Numbers& offsets, const Numbers& sizes) {
  return object("metadata", "ChunkStorageMetadata",
                {p::text("offsets"), size(offsets), p::text("sizes"), size(sizes)});
}

inline std::string tensor(const Numbers& shape, const std::vector<std::string>& chunks,
                          const std::string& dtype = "float32") {
  std::string list = "](";
  for (const std::string& one : chunks) {
    list += one;
  }
  return object("metadata", "TensorStorageMetadata",
                {p::text("properties"), properties(dtype), p::text("size"), size(shape),
                 p::text("chunks"), list + "e"});
}

inline std::string index(const std::string& fqn, const Numbers& offset) {
  return object("metadata", "MetadataIndex",
                {p::text("fqn"), p::text(fqn), p::text("offset"), size(offset)});
}

inline std::string info(const std::string& file, int64_t offset, int64_t length,
                        const std::vector<std::string>& more = {}) {
  std::vector<std::string> attributes = {p::text("relative_path"), p::text(file),
                                         p::text("offset"),        p::integer(offset),
                                         p::text("length"),        p::integer(length)};
  attributes.insert(attributes.end(), more.begin(), more.end());
  return object("filesystem", "_StorageInfo", attributes);
}

// Keys and values alternate in each. `planner` "": none.
inline std::string metadata(const std::vector<std::string>& tensors,
                            const std::vector<std::string>& storage,
                            const std::string& planner = "N") {
  return p::whole(object("metadata", "Metadata",
                         {p::text("state_dict_metadata"), p::dict(tensors), p::text("planner_data"),
                          planner, p::text("storage_data"), p::dict(storage)}));
}

// What torch.save writes of one float32 tensor.
inline std::string entry(const std::vector<float>& values, const Numbers& shape) {
  Numbers stride(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) {
    stride[d - 1] = stride[d] * shape[d];
  }
  return torch_file(p::tensor(p::storage("FloatStorage", "0", static_cast<int64_t>(values.size())),
                              0, shape, stride),
                    {bytes_of(values)});
}

}  // namespace quench::test::dcp
