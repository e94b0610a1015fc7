#include "formats/dcp/weight_names.hpp"

#include <algorithm>
#include <set>

#include "formats/shared/failure.hpp"
#include "formats/torch_archive/wrapped_names.hpp"

namespace quench::formats {

namespace {

constexpr std::string_view kStateKeys[] = {"state_dict", "model", "model_state_dict"};
// Of state dicts that a trainer made flat by itself.
constexpr std::string_view kOptimizers[] = {"optimizer.", "optimizers.", "optim.",
                                            "optimizer_state."};

bool is_state_key(const std::string& key) {
  return std::find(std::begin(kStateKeys), std::end(kStateKeys), key) != std::end(kStateKeys);
}

bool stands_under(const StatePath& tensor, std::string_view key) {
  return tensor.keys.size() > 1 && tensor.keys.front() == key;
}

// {"state": {"model": ..., "optimizers": ...}}: what everything stands under says nothing.
void drop_common_key(std::vector<StatePath>& tensors) {
  const std::string first = tensors.front().keys.front();
  const auto nested = [&](const StatePath& tensor) {
    return tensor.keys.size() > 2 && tensor.keys.front() == first;
  };
  if (!is_state_key(first) && std::all_of(tensors.begin(), tensors.end(), nested)) {
    for (StatePath& tensor : tensors) {
      tensor.keys.erase(tensor.keys.begin());
    }
  }
}

bool is_optimizers(std::string_view name) {
  return std::any_of(std::begin(kOptimizers), std::end(kOptimizers),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

std::string joined(const std::vector<std::string>& keys, size_t from) {
  std::string out;
  for (size_t i = from; i < keys.size(); ++i) {
    out += (i == from ? "" : ".") + keys[i];
  }
  return out;
}

std::string top_keys(const std::vector<StatePath>& tensors) {
  constexpr size_t kShown = 8;
  std::set<std::string> keys;
  for (const StatePath& tensor : tensors) {
    keys.insert(tensor.keys.front());
  }
  std::string out;
  size_t shown = 0;
  for (const std::string& key : keys) {
    if (shown++ == kShown) {
      return out + ", ...";
    }
    out += (out.empty() ? "'" : ", '") + printable(key) + "'";
  }
  return out;
}

}  // namespace

std::vector<std::optional<std::string>> weight_names(std::vector<StatePath> tensors,
                                                     const std::string& where) {
  std::vector<std::optional<std::string>> out(tensors.size());
  if (tensors.empty()) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: holds no tensor", where);
  }
  drop_common_key(tensors);
  const auto key =
      std::find_if(std::begin(kStateKeys), std::end(kStateKeys), [&](std::string_view one) {
        return std::any_of(tensors.begin(), tensors.end(),
                           [&](const StatePath& tensor) { return stands_under(tensor, one); });
      });
  std::vector<std::string*> names;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const StatePath& tensor = tensors[i];
    if (key != std::end(kStateKeys) ? stands_under(tensor, *key)
                                    : tensor.keys.size() == 1 && !is_optimizers(tensor.fqn)) {
      out[i] = joined(tensor.keys, key != std::end(kStateKeys) ? 1 : 0);
      names.push_back(&*out[i]);
    }
  }
  if (names.empty()) {
    fail(QUENCH_INVALID_ARGUMENT,
         "{}: no tensor at the root or under 'state_dict', 'model' or 'model_state_dict'; there "
         "are tensors under {}",
         where, top_keys(tensors));
  }
  unwrap_names(names, where);
  return out;
}

}  // namespace quench::formats
