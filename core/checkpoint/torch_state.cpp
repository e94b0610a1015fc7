#include "core/checkpoint/torch_state.hpp"

#include <utf8proc.h>

#include "core/error.hpp"

namespace quench {

namespace {

// A dict may occur in many places, so a small pickle can describe 2^30 paths; these bound the walk.
constexpr size_t kMaxVisits = size_t{1} << 20;
constexpr size_t kMaxDepth = 32;
constexpr size_t kMaxName = 4096;

bool is_utf8(std::string_view text) {
  const auto* at = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  auto left = static_cast<utf8proc_ssize_t>(text.size());
  while (left > 0) {
    utf8proc_int32_t code_point = 0;
    const utf8proc_ssize_t bytes = utf8proc_iterate(at, left, &code_point);
    if (bytes <= 0) {
      return false;
    }
    at += bytes;
    left -= bytes;
  }
  return true;
}

class Walk {
 public:
  Walk(const PickleGraph& graph, const std::string& name) : graph_(graph), name_(name) {}

  void visit(const PickleValue& dict, const std::string& prefix, size_t depth) {
    if (depth > kMaxDepth) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: dicts nested deeper than {} levels", name_, kMaxDepth);
    }
    for (size_t i = 0; i + 1 < dict.items.size(); i += 2) {
      if (++visits_ > kMaxVisits) {
        fail(QUENCH_INVALID_ARGUMENT, "{}: more than {} entries", name_, kMaxVisits);
      }
      const PickleValue& entry = graph_.values[dict.items[i + 1]];
      if (entry.kind != PickleKind::kTensor && entry.kind != PickleKind::kDict) {
        continue;
      }
      const std::string path = prefix + key_text(graph_.values[dict.items[i]]);
      if (path.size() > kMaxName) {
        fail(QUENCH_INVALID_ARGUMENT, "{}: tensor name of {} bytes, at most {} are read", name_,
             path.size(), kMaxName);
      }
      if (entry.kind == PickleKind::kDict) {
        visit(entry, path + ".", depth + 1);
      } else {
        found_.push_back({path, static_cast<uint32_t>(entry.integer)});
      }
    }
  }

  std::vector<NamedPickleTensor> take() { return std::move(found_); }

 private:
  std::string key_text(const PickleValue& key) const {
    if (key.kind == PickleKind::kInteger) {
      return std::to_string(key.integer);
    }
    if (key.kind != PickleKind::kText) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: the key of a tensor is {}, expected a string", name_,
           pickle_kind_name(key.kind));
    }
    if (!is_utf8(key.text)) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: tensor name '{}' is not UTF-8", name_,
           printable(key.text));
    }
    return std::string(key.text);
  }

  const PickleGraph& graph_;
  const std::string& name_;
  size_t visits_ = 0;
  std::vector<NamedPickleTensor> found_;
};

}  // namespace

std::vector<NamedPickleTensor> find_state(const PickleGraph& graph, const std::string& name) {
  const PickleValue* state = &graph.values[graph.root];
  if (state->kind != PickleKind::kDict) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: holds {}, expected a dict of tensors", name,
         pickle_kind_name(state->kind));
  }
  for (size_t i = 0; i + 1 < state->items.size(); i += 2) {
    const PickleValue& key = graph.values[state->items[i]];
    const PickleValue& entry = graph.values[state->items[i + 1]];
    if (key.kind == PickleKind::kText && key.text == "state_dict" &&
        entry.kind == PickleKind::kDict) {
      state = &entry;
      break;
    }
  }
  Walk walk(graph, name);
  walk.visit(*state, "", 1);
  std::vector<NamedPickleTensor> found = walk.take();
  if (found.empty()) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: no tensor at the root or under 'state_dict'", name);
  }
  return found;
}

}  // namespace quench
