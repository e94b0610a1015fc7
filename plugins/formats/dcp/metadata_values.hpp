// Values of a `.metadata`: what pickle.dump writes of a torch.distributed.checkpoint Metadata.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/torch_archive/pickle_value.hpp"

namespace quench::formats {

enum class DcpClass : int64_t {
  kMetadata,
  kTensorStorage,
  kBytesStorage,
  kChunk,
  kIndex,
  kStorageInfo,
  kProperties,
  kOther,  // known, and never looked into
};

// Looks at values. Whatever is not as it should be throws Error(INVALID_ARGUMENT), whose message
// begins with `where`. The pickle must outlive it.
class MetadataValues {
 public:
  // Throws as read_objects.
  MetadataValues(std::string_view pickle, std::string where);

  const std::string& where() const { return where_; }
  const PickleValue& root() const { return graph_.values[graph_.root]; }
  const PickleValue& at(PickleId id) const { return graph_.values[id]; }

  // Is it an object of this class?
  static bool is(const PickleValue& value, DcpClass which);
  // The attribute of an object; null where it has none of this name. `what` names the object.
  const PickleValue* attribute(const PickleValue& object, std::string_view name,
                               const std::string& what) const;
  // The same, of this kind.
  const PickleValue& attribute(const PickleValue& object, std::string_view name, PickleKind kind,
                               const std::string& what) const;
  // The one element type of a TensorProperties.
  quench_dtype dtype_of(const PickleValue& properties, const std::string& what) const;
  // A torch.Size; none is negative.
  std::vector<int64_t> size_of(const PickleValue& value, const std::string& what) const;

 private:
  std::string where_;
  PickleGraph graph_;
};

}  // namespace quench::formats
