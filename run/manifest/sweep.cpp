#include "run/manifest/sweep.hpp"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "core/error.hpp"

namespace quench {

std::vector<Sweep::Setting> Sweep::point(size_t index) const {
  if (!points_.empty()) {
    return points_.at(index);
  }
  std::vector<Setting> settings(axes_.size());
  for (size_t i = axes_.size(); i-- > 0;) {
    const Axis& axis = axes_[i];
    settings[i] = {axis.path, axis.place, axis.values[index % axis.values.size()]};
    index /= axis.values.size();
  }
  return settings;
}

namespace {

// {train: {seed: [0, 1]}} as {train.seed: [0, 1]}.
std::vector<YamlNode::Member> with_dotted_keys(const YamlNode& mapping, const std::string& before) {
  std::vector<YamlNode::Member> out;
  for (YamlNode::Member member : mapping.members) {
    member.key = before + member.key;
    if (member.value.is_mapping() && !member.value.members.empty()) {
      std::vector<YamlNode::Member> inner = with_dotted_keys(member.value, member.key + ".");
      std::move(inner.begin(), inner.end(), std::back_inserter(out));
    } else {
      out.push_back(std::move(member));
    }
  }
  return out;
}

}  // namespace

Sweep read_sweep(const YamlNode& node, Problems& problems) {
  Sweep out;
  out.place_ = node.place;
  const auto refuse = [&](const Place& place, const std::string& message) {
    problems.add(place, "sweep: " + message);
  };
  // All tasks of a submission are asked for alike, whatever points they run.
  const auto refuse_cluster = [&](const YamlNode::Member& member) {
    if (member.key == "cluster" || member.key.starts_with("cluster.")) {
      refuse(member.key_place, fmt::format("`{}`: the section `cluster` holds for all points",
                                           printable(member.key)));
    }
  };
  const size_t before = problems.size();
  if (node.is_sequence()) {
    for (const YamlNode& item : node.items) {
      std::vector<Sweep::Setting> point;
      if (!item.is_mapping() || item.members.empty()) {
        refuse(item.place,
               fmt::format("got {}, wanted a mapping of dotted paths to values", item.described()));
      }
      for (const YamlNode::Member& member : item.members) {
        refuse_cluster(member);
        point.push_back({member.key, member.key_place, member.value});
      }
      out.points_.push_back(std::move(point));
    }
    out.size_ = out.points_.size();
  } else if (node.is_mapping() && !node.members.empty()) {
    // Saturates: only the size of a large count matters.
    unsigned __int128 count = 1;
    constexpr unsigned __int128 kLargest = ~uint64_t{0};
    for (const YamlNode::Member& member : with_dotted_keys(node, "")) {
      refuse_cluster(member);
      if (std::any_of(out.axes_.begin(), out.axes_.end(),
                      [&](const Sweep::Axis& axis) { return axis.path == member.key; })) {
        refuse(member.key_place, fmt::format("`{}` is there twice", printable(member.key)));
        continue;
      }
      if (!member.value.is_sequence() || member.value.items.empty()) {
        refuse(member.value.place, fmt::format("`{}`: got {}, wanted a list of values",
                                               printable(member.key), member.value.described()));
        continue;
      }
      count = std::min(count * member.value.items.size(), kLargest);
      out.axes_.push_back({member.key, member.key_place, member.value.items});
    }
    out.size_ = static_cast<size_t>(count);
  } else {
    refuse(node.place, fmt::format("got {}, wanted a list of points, or lists under dotted paths",
                                   node.described()));
  }
  if (node.is_sequence() && node.items.empty()) {
    refuse(node.place, "an empty list; wanted at least one point");
  }
  if (out.size_ > kMaxCells) {
    refuse(node.place, fmt::format("{} points, more than {}", out.size_, kMaxCells));
  }
  if (problems.size() > before) {
    out = {};
  }
  return out;
}

nlohmann::json sweep_schema() {
  const nlohmann::json point = {{"type", "object"}, {"minProperties", 1}};
  const nlohmann::json axes = {{"type", "object"},
                               {"minProperties", 1},
                               {"additionalProperties",
                                {{"type", {"array", "object"}},  // {train: {seed: [0, 1]}}
                                 {"minItems", 1},
                                 {"minProperties", 1}}}};
  return {{"anyOf",
           {{{"type", "null"}}, {{"type", "array"}, {"items", point}, {"minItems", 1}}, axes}}};
}

}  // namespace quench
