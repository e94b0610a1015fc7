// What a pickle holds: plain data, tensors and objects as descriptions, never an object itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quench/abi/tensor.h"

namespace quench::formats {

// The things that a checkpoint may name. A name yields one of these numbers and nothing else.
enum class PickleGlobal : uint8_t {
  kRebuildTensor,     // torch._utils._rebuild_tensor_v2
  kRebuildParameter,  // torch._utils._rebuild_parameter
  kOrderedDict,       // collections.OrderedDict
  kCounter,           // collections.Counter (learning-rate schedulers)
  kSize,              // torch.Size
  kStorage,           // torch.FloatStorage, ...
  kDtype,             // torch.float32, ... as a value
  kClass,             // one of the classes that the reader was given
};

struct PickleName {
  PickleGlobal global;
  quench_dtype dtype{};  // of kStorage and kDtype
};

// Nothing when `module`.`name` is not allowed.
std::optional<PickleName> pickle_name(std::string_view module, std::string_view name);

// Does the name belong to a torch storage of a type that quench does not read?
bool is_unsupported_storage(std::string_view module, std::string_view name);

enum class PickleKind : uint8_t {
  kOther,  // None, a long integer: carried, never used
  kBoolean,
  kInteger,
  kFloat,
  kText,
  kTuple,
  kList,
  kDict,
  kGlobal,
  kStorage,
  kTensor,
  kObject,
};

const char* pickle_kind_name(PickleKind kind);

using PickleId = uint32_t;

struct PickleValue {
  PickleKind kind = PickleKind::kOther;
  PickleName name{};  // kGlobal; for kStorage its dtype
  // kBoolean, kInteger; kStorage: elements; kTensor: index into tensors; kObject and a kGlobal that
  // is a kClass: index into the reader's classes
  int64_t integer = 0;
  std::string_view text;  // kText; kStorage: key. Points into the pickle
  // kTuple, kList: elements; kDict: key, value, key, value, ...; kObject: the arguments that it was
  // made with, and its state where it has one
  std::vector<PickleId> items;
};

// A view into a storage.
struct PickleTensor {
  std::string_view storage;  // key: the member data/<key>
  uint64_t storage_elements = 0;
  quench_dtype dtype{};
  uint64_t offset = 0;  // in elements
  std::vector<int64_t> shape;
  std::vector<int64_t> stride;  // in elements
  bool negated = false;         // the elements are those of the storage with the other sign
  std::string unread;           // metadata whose meaning is not known: its name, or empty
};

// Values refer to each other by number, so cycles are harmless and nothing is destroyed
// recursively.
struct PickleGraph {
  std::vector<PickleValue> values;
  std::vector<PickleTensor> tensors;
  PickleId root = 0;
};

}  // namespace quench::formats
