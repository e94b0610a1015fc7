#include "run/manifest/learning_rate.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "core/base/config/amount.hpp"
#include "core/base/io/file.hpp"
#include "core/error.hpp"
#include "core/parse_number.hpp"
#include "run/manifest/decay_fields.hpp"
#include "run/manifest/fields.hpp"
#include "train/update_rate.hpp"

namespace quench {

using nlohmann::json;

namespace {

using Shape = LearningRateSchedule::Shape;
using Kind = ManifestLearningRate::Kind;

constexpr size_t kMaxPointsBytes = 64u << 20;
constexpr int64_t kCurvePoints = 200;    // points of a curve, and cycles
constexpr double kMostRate = 1'000'000;  // of a training; float32 ends at 3e38

// Where the first field of a line ends. A comma counts for nothing in a field in quotes.
size_t field_end(std::string_view line) {
  const size_t start = line.find_first_not_of(" \t");
  const bool in_quotes = start != std::string_view::npos && line[start] == '"';
  bool open = false;
  size_t at = 0;
  for (; at < line.size() && (open || line[at] != ','); ++at) {
    open ^= in_quotes && line[at] == '"';
  }
  return at;
}

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  while (true) {
    const size_t end = field_end(line);
    std::string_view field = line.substr(0, end);
    const size_t first = field.find_first_not_of(" \t\r\"");
    field = first == std::string_view::npos
                ? std::string_view()
                : field.substr(first, field.find_last_not_of(" \t\r\"") - first + 1);
    fields.push_back(field);
    if (end == line.size()) {
      return fields;
    }
    line.remove_prefix(end + 1);
  }
}

// A CSV file with a header; reads the columns step (or tokens) and lr and ignores others.
class PointsFile {
 public:
  explicit PointsFile(const std::filesystem::path& path) : path_(path) {
    const std::string text = read_file(path, kMaxPointsBytes);
    std::string_view rest = text;
    if (rest.starts_with("\xEF\xBB\xBF")) {  // as spreadsheets write it
      rest.remove_prefix(3);
    }
    for (line_ = 1; !rest.empty(); ++line_) {
      const size_t end = rest.find('\n');
      take(rest.substr(0, end));
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    if (points.empty()) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: no points; wanted lines under a header like step,lr",
           path.string());
    }
  }

  bool by_tokens = false;
  std::vector<std::pair<double, double>> points;

 private:
  void take(std::string_view line) {
    if (line.empty() || line[0] == '#' || line == "\r") {
      return;
    }
    const std::vector<std::string_view> fields = fields_of(line);
    if (columns_ == 0) {
      take_header(fields);
      return;
    }
    if (fields.size() != columns_) {
      fail(QUENCH_INVALID_ARGUMENT, "{}:{}: {} columns, the header has {}", path_.string(), line_,
           fields.size(), columns_);
    }
    const double x = number(fields[x_]);
    const double rate = number(fields[rate_]);
    if (!points.empty() && x <= points.back().first) {
      fail(QUENCH_INVALID_ARGUMENT, "{}:{}: {} = {} comes behind {}, wanted ascending values",
           path_.string(), line_, by_tokens ? "tokens" : "step", x, points.back().first);
    }
    points.emplace_back(x, rate);
  }

  void take_header(const std::vector<std::string_view>& fields) {
    const auto column = [&](std::string_view name) {
      return static_cast<size_t>(std::find(fields.begin(), fields.end(), name) - fields.begin());
    };
    rate_ = column("lr");
    x_ = column("step");
    if (x_ == fields.size()) {
      by_tokens = true;
      x_ = column("tokens");
    }
    if (rate_ == fields.size() || x_ == fields.size()) {
      fail(QUENCH_INVALID_ARGUMENT,
           "{}:{}: the header is \"{}\", wanted columns step (or tokens) and "
           "lr",
           path_.string(), line_, printable(fmt::format("{}", fmt::join(fields, ","))));
    }
    columns_ = fields.size();
  }

  double number(std::string_view field) const {
    const auto value = parse_number<double>(field);
    if (!value || !(*value >= 0) || !std::isfinite(*value)) {
      fail(QUENCH_INVALID_ARGUMENT, "{}:{}: got \"{}\", wanted a number of at least 0",
           path_.string(), line_, printable(field));
    }
    return *value;
  }

  std::filesystem::path path_;
  size_t line_ = 0;
  size_t columns_ = 0;
  size_t x_ = 0;
  size_t rate_ = 0;
};

}  // namespace

std::optional<double> scheduled_rate(const LearningRateSchedule& schedule, int64_t step) {
  if (step < 0 || (schedule.steps && step > *schedule.steps)) {
    return std::nullopt;
  }
  if (step < schedule.warmup) {
    return schedule.peak * static_cast<double>(step) / static_cast<double>(schedule.warmup);
  }
  if (schedule.shape == Shape::kConstant || step <= decay_start(schedule)) {
    return schedule.peak;
  }
  const int64_t start = decay_start(schedule);
  if (schedule.cycle_steps > 0) {  // the end of a cycle belongs to it, not to the next
    const int64_t cycle = (step - start - 1) / schedule.cycle_steps;
    const double t = static_cast<double>(step - start - cycle * schedule.cycle_steps) /
                     static_cast<double>(schedule.cycle_steps);
    const double peak = cycle_peak(schedule, cycle);
    return schedule.final + (peak - schedule.final) * decay_remaining(schedule, t);
  }
  const double t = static_cast<double>(step - start) / static_cast<double>(*schedule.steps - start);
  return schedule.final + (schedule.peak - schedule.final) * decay_remaining(schedule, t);
}

std::string scheduled_phase(const LearningRateSchedule& schedule, int64_t step) {
  if (!scheduled_rate(schedule, step)) {
    return "";
  }
  if (schedule.warmup > 0 && step <= schedule.warmup) {
    return "warmup";
  }
  return schedule.shape == Shape::kConstant || step <= decay_start(schedule) ? "constant" : "decay";
}

std::vector<std::pair<int64_t, double>> schedule_line(const LearningRateSchedule& schedule,
                                                      int64_t last) {
  const int64_t end = std::min(last, schedule.steps.value_or(last));
  std::set<int64_t> steps = {0, std::min(schedule.warmup, end), end};
  const int64_t start = schedule.shape == Shape::kConstant ? end : decay_start(schedule);
  if (start < end) {
    steps.insert(start);
    const int64_t cycle = schedule.cycle_steps;
    if (cycle > 0 && (end - start) / cycle <= kCurvePoints) {
      for (int64_t jump = start + cycle; jump < end; jump += cycle) {
        steps.insert({jump, jump + 1});
      }
    }
    if (schedule.shape == Shape::kCosine ||
        schedule.decay != LearningRateSchedule::Decay::kLinear) {
      const auto length = static_cast<double>(end - start);
      for (int64_t i = 1; i < kCurvePoints; ++i) {
        steps.insert(start + static_cast<int64_t>(length * static_cast<double>(i) / kCurvePoints));
      }
    }
  }
  std::vector<std::pair<int64_t, double>> out;
  for (const int64_t step : steps) {
    if (const auto rate = scheduled_rate(schedule, step)) {
      out.emplace_back(step, *rate);
    }
  }
  return out;
}

LearningRate::LearningRate(const ManifestLearningRate& entry,
                           const std::filesystem::path& relative_to)
    : entry_(entry) {
  if (entry.kind == Kind::kPoints) {
    PointsFile file(relative_to / entry.points);
    by_tokens_ = file.by_tokens;
    points_ = std::move(file.points);
  }
}

std::optional<double> LearningRate::at(std::optional<int64_t> step,
                                       std::optional<int64_t> tokens) const {
  if (entry_.kind == Kind::kConstant) {
    return entry_.constant;
  }
  if (entry_.kind == Kind::kSchedule) {
    return step ? scheduled_rate(entry_.schedule, *step) : std::nullopt;
  }
  const std::optional<int64_t> where = by_tokens_ ? tokens : step;
  if (points_.empty() || !where) {
    return std::nullopt;
  }
  const auto x = static_cast<double>(*where);
  const auto above =
      std::lower_bound(points_.begin(), points_.end(), x,
                       [](const auto& point, double at) { return point.first < at; });
  if (above == points_.end() || (above == points_.begin() && above->first != x)) {
    return std::nullopt;
  }
  if (above->first == x) {
    return above->second;
  }
  const auto below = above - 1;
  const double t = (x - below->first) / (above->first - below->first);
  return below->second + t * (above->second - below->second);
}

namespace {

using Shape = LearningRateSchedule::Shape;

using Schedule = LearningRateSchedule;

const std::vector<std::pair<std::string, Shape>> kShapes = {{"constant", Shape::kConstant},
                                                            {"linear", Shape::kLinear},
                                                            {"cosine", Shape::kCosine},
                                                            {"wsd", Shape::kWsd}};

Schedule& the_schedule(Schedule& schedule) {
  return schedule;
}

// The keys of a schedule: those of every shape, of a decay, of wsd's decay, and of restarts.
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
  add_decay_shape<Schedule>(f, the_schedule);
});
const Fields<Schedule> kCycles([](Fields<Schedule>& f) { add_cycles<Schedule>(f, the_schedule); });

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
    kCycles.read_keys(reader, out);
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
  if (reader.problems().size() == before && decays) {
    check_decay(reader.node(), reader.where(), out, reader.problems());
  }
  return out;
}

json schedule_schema(const json& shapes, const std::vector<const Fields<Schedule>*>& more,
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
  return {
      {"description", "The learning rate: a constant, points of a file, or a schedule"},
      {"anyOf",
       {{{"type", "null"}},
        {{"type", "number"}, {"minimum", 0}},
        points,
        schedule_schema(json::array({"constant"}), {}, {"schedule", "peak"}),
        schedule_schema({"linear", "cosine"}, {&kDecay, &kCycles}, {"schedule", "peak", "steps"}),
        schedule_schema(json::array({"wsd"}), {&kDecay, &kWsd, &kCycles},
                        {"schedule", "peak", "steps", "decay_steps"})}}};
}

json training_rate_schema() {
  json out = schedule_schema({"constant", "linear", "cosine", "wsd"}, {&kDecay, &kWsd, &kCycles},
                             {"schedule", "peak"});
  out["properties"].erase("steps");  // of the training
  json& peak = out["properties"]["peak"];
  peak.erase("minimum");
  peak["exclusiveMinimum"] = 0;
  peak["maximum"] = kMostRate;
  return out;
}

LearningRateSchedule read_training_schedule(const YamlNode& node, const std::string& where,
                                            int64_t steps, Problems& problems) {
  LearningRateSchedule out;
  MappingReader reader(node, where, problems);
  if (reader.require("schedule") != nullptr) {
    const size_t before = problems.size();
    out = read_schedule(reader, steps);
    if (problems.size() == before && (out.peak == 0 || out.peak > kMostRate)) {
      problems.add(node.place, fmt::format("{}: `peak`: got {}, wanted more than 0 and at most {}",
                                           where, out.peak, kMostRate));
    }
  }
  out.steps = steps;
  reader.finish({{"steps", "under `train`"}});
  return out;
}

}  // namespace quench
