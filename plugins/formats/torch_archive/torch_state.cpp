#include "formats/torch_archive/torch_state.hpp"

#include <algorithm>

#include "formats/shared/failure.hpp"
#include "formats/torch_archive/wrapped_names.hpp"

namespace quench::formats {

namespace {

// A dict may occur in many places, so a small pickle can describe 2^30 paths; these bound the walk.
// Of real files the longest listing is that of DeepSeek-V3, in all its shards: 92,000 tensors with
// 6 MB of names.
constexpr size_t kMaxVisits = size_t{1} << 18;
constexpr size_t kMaxDepth = 32;
constexpr size_t kMaxName = 4096;
constexpr size_t kMaxNames = size_t{16} << 20;  // bytes of all names

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
      // One text that many entries refer to is one name for each of them.
      names_ += path.size();
      if (names_ > kMaxNames) {
        fail(QUENCH_INVALID_ARGUMENT, "{}: tensor names of more than {} bytes together", name_,
             kMaxNames);
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
      fail(QUENCH_INVALID_ARGUMENT, "{}: the key of a tensor is {}, wanted a string", name_,
           pickle_kind_name(key.kind));
    }
    if (first_invalid_utf8(key.text) != std::string_view::npos) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: tensor name '{}' is not UTF-8", name_,
           printable(key.text));
    }
    return std::string(key.text);
  }

  const PickleGraph& graph_;
  const std::string& name_;
  size_t visits_ = 0;
  size_t names_ = 0;  // bytes
  std::vector<NamedPickleTensor> found_;
};

// Under which key trainers put the weights; the first that is there counts.
constexpr std::string_view kStateKeys[] = {"state_dict", "model", "model_state_dict"};

// The dict under `key`, or nullptr.
const PickleValue* dict_under(const PickleGraph& graph, const PickleValue& dict,
                              std::string_view key) {
  for (size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const PickleValue& name = graph.values[dict.items[i]];
    const PickleValue& entry = graph.values[dict.items[i + 1]];
    if (name.kind == PickleKind::kText && name.text == key && entry.kind == PickleKind::kDict) {
      return &entry;
    }
  }
  return nullptr;
}

bool has_tensors(const PickleGraph& graph, const PickleValue& dict) {
  for (size_t i = 1; i < dict.items.size(); i += 2) {
    if (graph.values[dict.items[i]].kind == PickleKind::kTensor) {
      return true;
    }
  }
  return false;
}

// The dict of weights: the root where it holds tensors itself, else what a trainer's key names.
const PickleValue& weights_in(const PickleGraph& graph, const PickleValue& root) {
  for (const std::string_view key : kStateKeys) {
    const PickleValue* found = dict_under(graph, root, key);
    if (found != nullptr && (key == "state_dict" || !has_tensors(graph, root))) {
      return *found;
    }
  }
  return root;
}

}  // namespace

std::vector<NamedPickleTensor> lone_tensor(const PickleGraph& graph, const std::string& name,
                                           const std::string& tensor) {
  const PickleValue& root = graph.values[graph.root];
  if (root.kind != PickleKind::kTensor) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: holds {}, wanted the tensor '{}'", name,
         pickle_kind_name(root.kind), printable(tensor));
  }
  return {{tensor, static_cast<uint32_t>(root.integer)}};
}

std::vector<NamedPickleTensor> find_state(const PickleGraph& graph, const std::string& name) {
  const PickleValue& root = graph.values[graph.root];
  if (root.kind != PickleKind::kDict) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: holds {}, wanted a dict of tensors", name,
         pickle_kind_name(root.kind));
  }
  Walk walk(graph, name);
  walk.visit(weights_in(graph, root), "", 1);
  std::vector<NamedPickleTensor> found = walk.take();
  if (found.empty()) {
    fail(QUENCH_INVALID_ARGUMENT,
         "{}: no tensor at the root or under 'state_dict', 'model' or 'model_state_dict'", name);
  }
  std::vector<std::string*> names;
  for (NamedPickleTensor& tensor : found) {
    names.push_back(&tensor.name);
  }
  unwrap_names(names, name);
  return found;
}

}  // namespace quench::formats
