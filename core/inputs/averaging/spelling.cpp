#include "core/inputs/averaging/spelling.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "core/checkpoint/abi_source.hpp"
#include "core/error.hpp"
#include "core/plugin/catalog/choose.hpp"
#include "core/plugin/handles/model_handle.hpp"
#include "quench/abi/kind/model.h"

namespace quench {

namespace {

using Names = std::unordered_map<std::string, std::string>;  // as in a file, as in the family

struct Place {
  std::shared_ptr<const TensorSource> source;
  uint64_t index;
};

// Tensors of other sources under other names.
class RespelledSource final : public TensorSource {
 public:
  explicit RespelledSource(std::string description) : TensorSource(std::move(description)) {}

  void add_as(const std::string& name, Place place) {
    const TensorInfo& info = place.source->info(place.index);
    add({name, info.dtype, info.shape, count()});
    places_.push_back(std::move(place));
  }
  const Place& place(uint64_t index) const { return places_[index]; }

 private:
  void read_elements(uint64_t index, uint64_t first, uint64_t elements,
                     void* destination) const override {
    places_[index].source->read(places_[index].index, first, elements, destination);
  }

  std::vector<Place> places_;
};

bool same_names(const TensorSource& a, const TensorSource& b) {
  for (uint64_t i = 0; i < a.count(); ++i) {
    if (!b.find(a.info(i).name)) {
      return false;
    }
  }
  return a.count() == b.count();
}

// Every name that the family takes for a parameter; nothing where it needs weights to tell.
std::optional<Names> names_of_family(Catalog& catalog, const std::string& config_json,
                                     const std::string& where, const std::string& family,
                                     const AverageMember& member) {
  if (config_json.empty()) {
    return std::nullopt;
  }
  const AbiSource source(member.source);
  try {
    const PluginDescription& plugin = family.empty() ? choose_family(catalog, config_json, where)
                                                     : catalog.require("model", family);
    const ModelHandle model = ModelHandle::open(catalog, plugin,
                                                {sizeof(quench_model_open_args),
                                                 QUENCH_OPEN_SHAPES,
                                                 source.get(),
                                                 config_json.data(),
                                                 config_json.size(),
                                                 {QUENCH_DEVICE_CPU, 0},
                                                 kFloat32});
    Names names;
    for (const quench_parameter_info& parameter : model.parameters()) {
      names.emplace(parameter.name, parameter.name);
      for (uint32_t i = 0; i < parameter.alias_count; ++i) {
        names.emplace(parameter.aliases[i], parameter.name);
      }
    }
    return names;
  } catch (const Error& failure) {
    if (failure.code() == QUENCH_UNAVAILABLE || failure.code() == QUENCH_RESOURCE_EXHAUSTED ||
        failure.code() == QUENCH_CANCELLED) {
      throw;  // says nothing of the files
    }
    return std::nullopt;  // the names as they are, and what their difference is reported as
  }
}

bool same_values(const TensorSource& source, uint64_t a, uint64_t b) {
  constexpr uint64_t kCompared = uint64_t{1} << 20;
  const TensorInfo& first = source.info(a);
  const TensorInfo& second = source.info(b);
  if (first.shape != second.shape || !same_dtype(first.dtype, second.dtype)) {
    return false;
  }
  const uint64_t count = element_count(first.shape).value_or(0);
  std::vector<char> left(std::min(count, kCompared) * dtype_size(first.dtype));
  std::vector<char> right(left.size());
  for (uint64_t at = 0; at < count; at += kCompared) {
    const uint64_t part = std::min(kCompared, count - at);
    source.read(a, at, part, left.data());
    source.read(b, at, part, right.data());
    if (!std::equal(left.begin(),
                    left.begin() + static_cast<ptrdiff_t>(part * dtype_size(first.dtype)),
                    right.begin())) {
      return false;
    }
  }
  return true;
}

// The member's tensors under the family's names, and those that it has no name for under theirs.
std::shared_ptr<RespelledSource> respelled(const AverageMember& member, const Names& names) {
  auto out = std::make_shared<RespelledSource>(member.source->description());
  std::unordered_map<std::string, uint64_t> taken;  // by the family's name
  for (uint64_t i = 0; i < member.source->count(); ++i) {
    const std::string& name = member.source->info(i).name;
    const auto known = names.find(name);
    const std::string& own = known == names.end() ? name : known->second;
    const auto [earlier, added] = taken.emplace(own, i);
    if (added) {
      out->add_as(own, {member.source, i});
    } else if (!same_values(*member.source, earlier->second, i)) {
      fail(QUENCH_INVALID_ARGUMENT,
           "{}: '{}' and '{}' are one tensor of the model and have different values",
           printable(member.name, 400), printable(member.source->info(earlier->second).name),
           printable(name));
    }
  }
  return out;
}

}  // namespace

void spell_alike(Catalog& catalog, const std::string& config_json, const std::string& where,
                 const std::string& family, std::vector<AverageMember>& members) {
  if (members.empty() || std::all_of(members.begin(), members.end(), [&](const auto& member) {
        return same_names(*members.front().source, *member.source);
      })) {
    return;
  }
  const std::optional<Names> names =
      names_of_family(catalog, config_json, where, family, members.front());
  if (!names) {
    return;
  }
  std::vector<std::shared_ptr<RespelledSource>> sources;
  for (const AverageMember& member : members) {
    sources.push_back(respelled(member, *names));
  }
  for (const auto& source : sources) {
    const uint64_t count = source->count();
    for (uint64_t i = 0; i < count; ++i) {
      const std::string name = source->info(i).name;
      for (const auto& other : sources) {
        if (!names->contains(name) && !other->find(name)) {
          other->add_as(name, source->place(i));
        }
      }
    }
  }
  for (size_t i = 0; i < members.size(); ++i) {
    members[i].source = sources[i];
  }
}

}  // namespace quench
