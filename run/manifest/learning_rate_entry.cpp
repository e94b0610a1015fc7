#include "run/manifest/learning_rate_entry.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/base/config/amount.hpp"
#include "core/error.hpp"
#include "run/manifest/fields.hpp"

namespace quench {

using nlohmann::json;

const std::vector<std::pair<std::string, bool>>& decay_shapes() {
  static const std::vector<std::pair<std::string, bool>> kShapes = {{"linear", false},
                                                                    {"1-sqrt", true}};
  return kShapes;
}

namespace {

using Shape = LearningRateSchedule::Shape;

using Schedule = LearningRateSchedule;

const std::vector<std::pair<std::string, Shape>> kShapes = {{"constant", Shape::kConstant},
                                                            {"linear", Shape::kLinear},
                                                            {"cosine", Shape::kCosine},
                                                            {"wsd", Shape::kWsd}};

// The keys of a schedule: those of every shape, of a decay, and of wsd's decay.
const Fields<Schedule> kShape([](Fields<Schedule>& f) {
  f.choice("schedule", &Schedule::shape, kShapes);
});
const Fields<Schedule> kRates([](Fields<Schedule>& f) {
  f.number("peak", &Schedule::peak, "The highest learning rate").required();
  f.amount("warmup", &Schedule::warmup, "Steps from 0 to the peak");
});
const Fields<Schedule> kLength([](Fields<Schedule>& f) {
  f.amount("steps", &Schedule::steps, "Length of the run; the rate is unknown beyond");
});
const Fields<Schedule> kDecay([](Fields<Schedule>& f) {
  f.number("final", &Schedule::final, "The learning rate at the last step");
});
const Fields<Schedule> kWsd([](Fields<Schedule>& f) {
  f.amount("decay_steps", &Schedule::decay_steps, "Steps of the decay, at the end").required();
  f.choice("decay", &Schedule::decays_with_square_root, decay_shapes());
});

// `steps`: length of the run, if it is given elsewhere.
Schedule read_schedule(MappingReader& reader, std::optional<int64_t> steps) {
  Schedule out;
  kShape.read_keys(reader, out);
  const size_t before = reader.problems().size();
  kRates.read_keys(reader, out);
  out.steps = steps;
  const bool decays = out.shape != Shape::kConstant;
  if (!steps) {
    kLength.read_keys(reader, out);
    if (decays) {
      reader.require("steps");
    }
  }
  if (decays) {
    kDecay.read_keys(reader, out);
  }
  if (out.shape == Shape::kWsd) {
    kWsd.read_keys(reader, out);
  }
  if (reader.problems().size() == before && out.steps &&
      (out.warmup > *out.steps || out.decay_steps > *out.steps - out.warmup)) {
    reader.add(reader.node().place,
               fmt::format("warmup {} and decay {} are longer than the {} steps", out.warmup,
                           out.decay_steps, *out.steps));
  }
  return out;
}

json schedule_schema(const json& shapes, std::vector<const Fields<Schedule>*> more,
                     const json& required) {
  json properties = {{"schedule", {{"enum", shapes}}}};
  kRates.add_properties(properties);
  kLength.add_properties(properties);
  for (const Fields<Schedule>* fields : more) {
    fields->add_properties(properties);
  }
  json out = closed(std::move(properties));
  out["required"] = required;
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
    out.schedule = read_schedule(reader, std::nullopt);
  }
  reader.finish();
  return out;
}

json learning_rate_schema() {
  json points = closed(
      {{"points", described({{"type", "string"}}, "CSV file with columns step (or tokens), lr")}});
  points["required"] = json::array({"points"});
  return {{"description", "The learning rate: a constant, points of a file, or a schedule"},
          {"anyOf",
           {{{"type", "null"}},
            {{"type", "number"}, {"minimum", 0}},
            points,
            schedule_schema(json::array({"constant"}), {}, {"schedule", "peak"}),
            schedule_schema({"linear", "cosine"}, {&kDecay}, {"schedule", "peak", "steps"}),
            schedule_schema(json::array({"wsd"}), {&kDecay, &kWsd},
                            {"schedule", "peak", "steps", "decay_steps"})}}};
}

json training_rate_schema() {
  json out = schedule_schema({"constant", "linear", "cosine", "wsd"}, {&kDecay, &kWsd},
                             {"schedule", "peak"});
  out["properties"].erase("steps");  // of the training
  json& peak = out["properties"]["peak"];
  peak.erase("minimum");
  peak["exclusiveMinimum"] = 0;
  return out;
}

LearningRateSchedule read_training_schedule(const YamlNode& node, const std::string& where,
                                            int64_t steps, Problems& problems) {
  LearningRateSchedule out;
  MappingReader reader(node, where, problems);
  if (reader.require("schedule") != nullptr) {
    const size_t before = problems.size();
    out = read_schedule(reader, steps);
    if (problems.size() == before && out.peak == 0) {
      problems.add(node.place, where + ": peak = 0, wanted more");
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
