#include "formats/torch_archive/pickle_value.hpp"

#include <algorithm>
#include <array>

#include "formats/shared/tensor_info.hpp"

namespace quench::formats {

namespace {

struct Allowed {
  std::string_view module;
  std::string_view name;
  PickleName value;
};

constexpr Allowed storage(std::string_view name, quench_dtype dtype) {
  return {"torch", name, {PickleGlobal::kStorage, dtype}};
}

constexpr Allowed dtype_value(std::string_view name, quench_dtype dtype) {
  return {"torch", name, {PickleGlobal::kDtype, dtype}};
}

constexpr std::array kAllowed{
    Allowed{"torch._utils", "_rebuild_tensor_v2", {PickleGlobal::kRebuildTensor, {}}},
    Allowed{"torch._utils", "_rebuild_parameter", {PickleGlobal::kRebuildParameter, {}}},
    Allowed{"collections", "OrderedDict", {PickleGlobal::kOrderedDict, {}}},
    Allowed{"collections", "Counter", {PickleGlobal::kCounter, {}}},
    Allowed{"torch", "Size", {PickleGlobal::kSize, {}}},
    storage("DoubleStorage", kFloat64),
    storage("FloatStorage", kFloat32),
    storage("HalfStorage", kFloat16),
    storage("BFloat16Storage", kBFloat16),
    storage("LongStorage", kInt64),
    storage("IntStorage", kInt32),
    storage("ShortStorage", kInt16),
    storage("CharStorage", kInt8),
    storage("ByteStorage", kUInt8),
    storage("BoolStorage", kBool),
    dtype_value("float64", kFloat64),
    dtype_value("float32", kFloat32),
    dtype_value("float16", kFloat16),
    dtype_value("bfloat16", kBFloat16),
    dtype_value("int64", kInt64),
    dtype_value("int32", kInt32),
    dtype_value("int16", kInt16),
    dtype_value("int8", kInt8),
    dtype_value("uint8", kUInt8),
    dtype_value("bool", kBool),
};

}  // namespace

std::optional<PickleName> pickle_name(std::string_view module, std::string_view name) {
  const auto found = std::find_if(kAllowed.begin(), kAllowed.end(), [&](const Allowed& allowed) {
    return allowed.module == module && allowed.name == name;
  });
  return found == kAllowed.end() ? std::nullopt : std::optional<PickleName>(found->value);
}

bool is_unsupported_storage(std::string_view module, std::string_view name) {
  constexpr std::string_view kSuffix = "Storage";
  return (module == "torch" || module == "torch.storage") && name.size() > kSuffix.size() &&
         name.substr(name.size() - kSuffix.size()) == kSuffix;
}

const char* pickle_kind_name(PickleKind kind) {
  switch (kind) {
    case PickleKind::kBoolean:
      return "a bool";
    case PickleKind::kInteger:
      return "an integer";
    case PickleKind::kFloat:
      return "a float";
    case PickleKind::kText:
      return "a string";
    case PickleKind::kTuple:
      return "a tuple";
    case PickleKind::kList:
      return "a list";
    case PickleKind::kDict:
      return "a dict";
    case PickleKind::kGlobal:
      return "a name";
    case PickleKind::kStorage:
      return "a storage";
    case PickleKind::kTensor:
      return "a tensor";
    case PickleKind::kObject:
      return "an object";
    case PickleKind::kOther:
      break;
  }
  return "None";
}

}  // namespace quench::formats
