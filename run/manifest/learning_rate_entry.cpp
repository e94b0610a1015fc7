#include "run/manifest/learning_rate_entry.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/config/amount.hpp"
#include "core/error.hpp"

namespace quench {

namespace {

using Shape = LearningRateSchedule::Shape;

const std::vector<std::pair<std::string, Shape>> kShapes = {{"constant", Shape::kConstant},
                                                            {"linear", Shape::kLinear},
                                                            {"cosine", Shape::kCosine},
                                                            {"wsd", Shape::kWsd}};

void add_not_one_of(const YamlNode& node, const std::string& where, const std::string& key,
                    const std::vector<std::string>& choices, Problems& problems) {
  const std::string near = nearest(node.scalar, choices);
  problems.add(node.place,
               fmt::format("{}: {} = \"{}\", expected one of {}{}", where, key,
                           printable(node.scalar), fmt::join(choices, ", "),
                           near.empty() ? "" : fmt::format("; did you mean {}?", near)));
}

void read_shape(MappingReader& reader, const std::string& where, LearningRateSchedule& out,
                Problems& problems) {
  const YamlNode* node = reader.get("schedule");
  if (!node->is_scalar()) {
    reader.text("schedule", "");
    return;
  }
  std::vector<std::string> names;
  for (const auto& [name, shape] : kShapes) {
    names.push_back(name);
    if (name == node->scalar) {
      out.shape = shape;
      return;
    }
  }
  add_not_one_of(*node, where, "schedule", names, problems);
}

}  // namespace

bool read_decay(MappingReader& reader, const std::string& where, Problems& problems) {
  const std::string decay = reader.text("decay", "linear");
  if (decay != "linear" && decay != "1-sqrt") {
    add_not_one_of(*reader.get("decay"), where, "decay", {"linear", "1-sqrt"}, problems);
  }
  return decay == "1-sqrt";
}

namespace {

// `steps`: length of the run, if it is given elsewhere.
LearningRateSchedule read_schedule(MappingReader& reader, const Place& place,
                                   const std::string& where, std::optional<int64_t> steps,
                                   Problems& problems) {
  LearningRateSchedule out;
  read_shape(reader, where, out, problems);
  const size_t before = problems.size();
  reader.require("peak");
  out.peak = reader.number("peak", 0, 0);
  out.warmup = reader.amount("warmup").value_or(0);
  out.steps = steps ? steps : reader.amount("steps");
  const bool decays = out.shape != Shape::kConstant;
  if (decays) {
    if (!steps) {
      reader.require("steps");
    }
    out.final = reader.number("final", 0, 0);
  }
  if (out.shape == Shape::kWsd) {
    reader.require("decay_steps");
    out.decay_steps = reader.amount("decay_steps").value_or(0);
    out.decays_with_square_root = read_decay(reader, where, problems);
  }
  if (problems.size() == before && out.steps &&
      (out.warmup > *out.steps || out.decay_steps > *out.steps - out.warmup)) {
    problems.add(place, fmt::format("{}: warmup {} and decay {} are longer than the {} steps",
                                    where, out.warmup, out.decay_steps, *out.steps));
  }
  return out;
}

}  // namespace

ManifestLearningRate read_learning_rate(const YamlNode& node, const std::string& where,
                                        Problems& problems) {
  const std::string here = where + ": lr";
  ManifestLearningRate out;
  out.place = node.place;
  if (node.is_null()) {
    return out;
  }
  const nlohmann::json number = node.is_scalar() ? yaml_to_json(node) : nlohmann::json();
  if (number.is_number() && number.get<double>() >= 0) {
    out.kind = ManifestLearningRate::Kind::kConstant;
    out.constant = number.get<double>();
    return out;
  }
  const bool by_points = node.find("points") != nullptr;
  if (!by_points && node.find("schedule") == nullptr) {
    problems.add(node.place,
                 fmt::format("{}: got {}, wanted a number, {{points: FILE}} or {{schedule: ...}}",
                             here, node.described()));
    return out;
  }
  MappingReader reader(node, here, problems);
  if (by_points) {
    out.kind = ManifestLearningRate::Kind::kPoints;
    out.points = reader.text("points", "");
    out.place = reader.get("points")->place;
  } else {
    out.kind = ManifestLearningRate::Kind::kSchedule;
    out.schedule = read_schedule(reader, node.place, here, std::nullopt, problems);
  }
  reader.finish();
  return out;
}

LearningRateSchedule read_training_schedule(const YamlNode& node, const std::string& where,
                                            int64_t steps, Problems& problems) {
  LearningRateSchedule out;
  MappingReader reader(node, where, problems);
  if (reader.require("schedule") != nullptr) {
    const size_t before = problems.size();
    out = read_schedule(reader, node.place, where, steps, problems);
    if (problems.size() == before && out.peak == 0) {
      problems.add(node.place, where + ": peak = 0, expected more");
    }
  }
  out.steps = steps;
  reader.finish({{"steps", "under `train`"}});
  return out;
}

namespace {

// Reads one end; null is open. Returns false for anything else.
bool read_end(const YamlNode& node, int64_t& end) {
  const auto value = node.is_scalar() ? parse_amount(node.scalar) : std::nullopt;
  end = value.value_or(end);
  return value.has_value() || node.is_null();
}

bool read_range(const YamlNode& node, ManifestRange& out) {
  if (node.is_scalar()) {
    const bool sound = read_end(node, out.first);
    out.last = out.first;
    return sound;
  }
  return node.is_sequence() && node.items.size() == 2 && read_end(node.items[0], out.first) &&
         read_end(node.items[1], out.last) && out.first <= out.last;
}

}  // namespace

std::vector<ManifestRange> read_ranges(const YamlNode& node, const std::string& where, bool apart,
                                       Problems& problems) {
  std::vector<ManifestRange> out;
  if (!node.is_mapping()) {
    problems.add(node.place, fmt::format("{}: got {}, wanted a mapping of names to [first, last]",
                                         where, node.described()));
    return out;
  }
  for (const YamlNode::Member& member : node.members) {
    ManifestRange range;
    range.name = member.key;
    range.place = member.value.place;
    if (!read_range(member.value, range)) {
      problems.add(
          member.value.place,
          fmt::format("{}: `{}`: wanted [first, last], both included, null for an open end", where,
                      printable(member.key)));
      continue;
    }
    const auto overlaps = [&](const ManifestRange& earlier) {
      return apart && range.first < earlier.last && earlier.first < range.last;
    };
    const auto other = std::find_if(out.begin(), out.end(), overlaps);
    if (other != out.end()) {
      problems.add(range.place, fmt::format("{}: `{}` overlaps with `{}`", where,
                                            printable(range.name), printable(other->name)));
    }
    out.push_back(std::move(range));
  }
  return out;
}

}  // namespace quench
