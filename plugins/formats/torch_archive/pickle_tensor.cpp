// Facts from torch/_utils.py: _rebuild_tensor_v2 takes storage, storage_offset, size, stride,
// requires_grad, backward_hooks and, where there is some, metadata: a dict of what torch applies to
// the elements when it loads them. It writes {'neg': True} and {'conj': True} for views whose
// negation or conjugation is still to be done.
#include "formats/torch_archive/pickle_tensor.hpp"

#include "formats/shared/failure.hpp"
#include "formats/shared/tensor_info.hpp"

namespace quench::formats {

namespace {

// An expanded tensor (stride 0) may have more elements than its storage, up to 1 GiB of float32.
constexpr uint64_t kMaxExpanded = uint64_t{1} << 28;

[[noreturn]] void refuse(std::string what) {
  throw PickleFault{std::move(what)};
}

std::vector<int64_t> integers(const PickleGraph& graph, PickleId id, const char* what) {
  const PickleValue& tuple = graph.values[id];
  if (tuple.kind != PickleKind::kTuple) {
    refuse(fmt::format("tensor {} is {}, wanted a tuple", what, pickle_kind_name(tuple.kind)));
  }
  if (tuple.items.size() > QUENCH_MAX_DIMENSIONS) {
    refuse(fmt::format("tensor of {} dimensions, at most {} are read", tuple.items.size(),
                       QUENCH_MAX_DIMENSIONS));
  }
  std::vector<int64_t> out;
  for (const PickleId item : tuple.items) {
    const PickleValue& value = graph.values[item];
    if (value.kind != PickleKind::kInteger || value.integer < 0) {
      refuse(fmt::format("tensor {} holds {}, wanted integers that are not negative", what,
                         value.kind == PickleKind::kInteger ? std::to_string(value.integer)
                                                            : pickle_kind_name(value.kind)));
    }
    out.push_back(value.integer);
  }
  return out;
}

// Does the view lie inside its storage?
void check_view(const PickleTensor& tensor) {
  const std::optional<uint64_t> elements = element_count(tensor.shape);
  if (!elements) {
    refuse(fmt::format("tensor shape {} overflows", shape_text(tensor.shape)));
  }
  if (*elements > tensor.storage_elements && *elements > kMaxExpanded) {
    refuse(fmt::format("tensor shape {} expands a storage of {} elements, at most {} are read",
                       shape_text(tensor.shape), tensor.storage_elements, kMaxExpanded));
  }
  uint64_t last = tensor.offset;
  bool overflow = false;
  for (size_t i = 0; i < tensor.shape.size() && *elements > 0; ++i) {
    uint64_t reach = 0;
    overflow |= __builtin_mul_overflow(static_cast<uint64_t>(tensor.shape[i] - 1),
                                       static_cast<uint64_t>(tensor.stride[i]), &reach);
    overflow |= __builtin_add_overflow(last, reach, &last);
  }
  const bool inside =
      *elements == 0 ? tensor.offset <= tensor.storage_elements : last < tensor.storage_elements;
  if (overflow || !inside) {
    refuse(
        fmt::format("tensor of shape {}, stride {} at offset {} reaches outside its storage "
                    "of {} elements",
                    shape_text(tensor.shape), shape_text(tensor.stride), tensor.offset,
                    tensor.storage_elements));
  }
}

// Conjugation changes nothing here: storages of complex numbers are refused.
void read_metadata(const PickleGraph& graph, const PickleValue& metadata, PickleTensor& tensor) {
  if (metadata.kind == PickleKind::kOther) {
    return;
  }
  if (metadata.kind != PickleKind::kDict) {
    refuse(fmt::format("tensor metadata is {}, wanted a dict", pickle_kind_name(metadata.kind)));
  }
  for (size_t i = 0; i + 1 < metadata.items.size(); i += 2) {
    const PickleValue& name = graph.values[metadata.items[i]];
    const PickleValue& value = graph.values[metadata.items[i + 1]];
    const bool known = name.kind == PickleKind::kText && value.kind == PickleKind::kBoolean &&
                       (name.text == "neg" || name.text == "conj");
    if (!known) {
      tensor.unread =
          name.kind == PickleKind::kText ? printable(name.text) : pickle_kind_name(name.kind);
    } else if (name.text == "neg") {
      tensor.negated = value.integer != 0;
    }
  }
}

}  // namespace

PickleValue storage_of(const PickleGraph& graph, const PickleValue& id) {
  if (id.kind != PickleKind::kTuple || id.items.size() != 5) {
    refuse("a persistent id that is not a tuple of 5");
  }
  const auto part = [&](size_t i) -> const PickleValue& { return graph.values[id.items[i]]; };
  if (part(0).kind != PickleKind::kText || part(0).text != "storage" ||
      part(1).kind != PickleKind::kGlobal || part(1).name.global != PickleGlobal::kStorage ||
      part(2).kind != PickleKind::kText || part(3).kind != PickleKind::kText ||
      part(4).kind != PickleKind::kInteger) {
    refuse("a persistent id that is not ('storage', type, key, location, elements)");
  }
  if (part(4).integer < 0) {
    refuse(fmt::format("storage '{}' has {} elements", printable(part(2).text), part(4).integer));
  }
  PickleValue made;
  made.kind = PickleKind::kStorage;
  made.name = part(1).name;
  made.text = part(2).text;
  made.integer = part(4).integer;
  return made;
}

PickleTensor tensor_of(const PickleGraph& graph, const std::vector<PickleId>& arguments) {
  if (arguments.size() != 6 && arguments.size() != 7) {
    refuse(fmt::format("_rebuild_tensor_v2 with {} arguments, wanted 6 or 7", arguments.size()));
  }
  const PickleValue& storage = graph.values[arguments[0]];
  const PickleValue& offset = graph.values[arguments[1]];
  if (storage.kind != PickleKind::kStorage) {
    refuse(fmt::format("tensor of {}, wanted a storage", pickle_kind_name(storage.kind)));
  }
  if (offset.kind != PickleKind::kInteger || offset.integer < 0) {
    refuse("tensor offset is not an integer, or negative");
  }
  PickleTensor tensor;
  tensor.storage = storage.text;
  tensor.storage_elements = static_cast<uint64_t>(storage.integer);
  tensor.dtype = storage.name.dtype;
  tensor.offset = static_cast<uint64_t>(offset.integer);
  tensor.shape = integers(graph, arguments[2], "shape");
  tensor.stride = integers(graph, arguments[3], "stride");
  if (tensor.shape.size() != tensor.stride.size()) {
    refuse(fmt::format("tensor shape {} and stride {} differ in length", shape_text(tensor.shape),
                       shape_text(tensor.stride)));
  }
  check_view(tensor);
  if (arguments.size() == 7) {
    read_metadata(graph, graph.values[arguments[6]], tensor);
  }
  return tensor;
}

}  // namespace quench::formats
