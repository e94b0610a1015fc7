// Facts from torch/distributed/checkpoint/metadata.py and filesystem.py, torch 2.0 to 2.15.
#include "formats/dcp/metadata_values.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "formats/shared/failure.hpp"
#include "formats/shared/tensor_info.hpp"
#include "formats/torch_archive/pickle.hpp"

namespace quench::formats {

namespace {

struct Known {
  PickleClass name;
  DcpClass which;
};

constexpr std::string_view kModule = "torch.distributed.checkpoint.metadata";
constexpr std::string_view kFiles = "torch.distributed.checkpoint.filesystem";
// Where torch before 2.3 had what it says of tensors.
constexpr std::string_view kOlder = "torch.distributed._shard.sharded_tensor.metadata";

constexpr std::array kKnown{
    Known{{kModule, "Metadata"}, DcpClass::kMetadata},
    Known{{kModule, "TensorStorageMetadata"}, DcpClass::kTensorStorage},
    Known{{kModule, "BytesStorageMetadata"}, DcpClass::kBytesStorage},
    Known{{kModule, "ChunkStorageMetadata"}, DcpClass::kChunk},
    Known{{kModule, "MetadataIndex"}, DcpClass::kIndex},
    Known{{kFiles, "_StorageInfo"}, DcpClass::kStorageInfo},
    Known{{kModule, "TensorProperties"}, DcpClass::kProperties},
    Known{{kOlder, "TensorProperties"}, DcpClass::kProperties},
    Known{{kModule, "StorageMeta"}, DcpClass::kOther},
    Known{{kModule, "_MEM_FORMAT_ENCODING"}, DcpClass::kOther},
    Known{{kOlder, "MEM_FORMAT_ENCODING"}, DcpClass::kOther},
    Known{{"torch.serialization", "_get_layout"}, DcpClass::kOther},
    // A member of an enumeration, as Python 3.11 writes it, and the folder that was written to.
    Known{{"builtins", "getattr"}, DcpClass::kOther},
    Known{{"pathlib", "PosixPath"}, DcpClass::kOther},
    Known{{"pathlib._local", "PosixPath"}, DcpClass::kOther},
};

constexpr size_t kMaxAttributes = 64;

constexpr auto kClasses = [] {
  std::array<PickleClass, kKnown.size()> out{};
  std::transform(kKnown.begin(), kKnown.end(), out.begin(),
                 [](const Known& one) { return one.name; });
  return out;
}();

}  // namespace

MetadataValues::MetadataValues(std::string_view pickle, std::string where)
    : where_(std::move(where)), graph_(read_objects(pickle, where_, kClasses)) {}

bool MetadataValues::is(const PickleValue& value, DcpClass which) {
  return value.kind == PickleKind::kObject &&
         kKnown[static_cast<size_t>(value.integer)].which == which;
}

const PickleValue* MetadataValues::attribute(const PickleValue& object, std::string_view name,
                                             const std::string& what) const {
  const PickleValue* state = object.items.size() == 2 ? &at(object.items[1]) : nullptr;
  if (state == nullptr || state->kind != PickleKind::kDict) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: {} has no attributes", where_, what);
  }
  if (state->items.size() > 2 * kMaxAttributes) {  // many objects may share one dict
    fail(QUENCH_INVALID_ARGUMENT, "{}: {} has {} attributes, at most {} are read", where_, what,
         state->items.size() / 2, kMaxAttributes);
  }
  for (size_t i = 0; i + 1 < state->items.size(); i += 2) {
    const PickleValue& key = at(state->items[i]);
    if (key.kind == PickleKind::kText && key.text == name) {
      return &at(state->items[i + 1]);
    }
  }
  return nullptr;
}

const PickleValue& MetadataValues::attribute(const PickleValue& object, std::string_view name,
                                             PickleKind kind, const std::string& what) const {
  const PickleValue* found = attribute(object, name, what);
  if (found == nullptr || found->kind != kind) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: {}: its {} is {}, wanted {}", where_, what, name,
         found == nullptr ? "missing" : pickle_kind_name(found->kind), pickle_kind_name(kind));
  }
  return *found;
}

quench_dtype MetadataValues::dtype_of(const PickleValue& properties,
                                      const std::string& what) const {
  // Its __getstate__ makes a tuple, of which the element type is the first.
  const PickleValue* state = is(properties, DcpClass::kProperties) && properties.items.size() == 2
                                 ? &at(properties.items[1])
                                 : nullptr;
  const PickleValue* dtype =
      state != nullptr && state->kind == PickleKind::kTuple && !state->items.empty()
          ? &at(state->items[0])
          : nullptr;
  if (dtype == nullptr || dtype->kind != PickleKind::kGlobal ||
      dtype->name.global != PickleGlobal::kDtype) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: {}: its properties do not begin with an element type",
         where_, what);
  }
  return dtype->name.dtype;
}

std::vector<int64_t> MetadataValues::size_of(const PickleValue& value,
                                             const std::string& what) const {
  if (value.kind != PickleKind::kTuple) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: {} is {}, wanted a tuple", where_, what,
         pickle_kind_name(value.kind));
  }
  if (value.items.size() > QUENCH_MAX_DIMENSIONS) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: {} has {} dimensions, at most {} are read", where_, what,
         value.items.size(), QUENCH_MAX_DIMENSIONS);
  }
  std::vector<int64_t> out;
  for (const PickleId id : value.items) {
    const PickleValue& item = at(id);
    if (item.kind != PickleKind::kInteger || item.integer < 0) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: {} holds {}, wanted integers that are not negative",
           where_, what,
           item.kind == PickleKind::kInteger ? std::to_string(item.integer)
                                             : pickle_kind_name(item.kind));
    }
    out.push_back(item.integer);
  }
  return out;
}

}  // namespace quench::formats
