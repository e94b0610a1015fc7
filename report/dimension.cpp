#include "report/dimension.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "core/store/sweep_point.hpp"

namespace quench {

namespace {

nlohmann::json member(const nlohmann::json& object, const std::string& key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() ? *found : nlohmann::json();
}

nlohmann::json text_or_null(const std::string& text) {
  return text.empty() ? nlohmann::json() : nlohmann::json(text);
}

// The stored bits per weight, rounded, if no parameter gives the number of bits.
nlohmann::json bits_of(const Record& record) {
  nlohmann::json bits = member(member(record.quantizer, "params"), "bits");
  const nlohmann::json stored = member(record.quantizer, "bits_per_weight");
  if (!bits.is_number() && stored.is_number()) {
    return std::llround(stored.get<double>());
  }
  return bits;
}

constexpr std::string_view kSweep = "sweep.";

const nlohmann::json& point_of(const Record& record) {
  static const nlohmann::json none;
  return record.environment.is_object() && record.environment.contains("sweep")
             ? record.environment.at("sweep")
             : none;
}

// The value at `path` in a point of a sweep: {"train.lr": {"peak": 1}} has train.lr.peak. nullptr
// if there is none.
template <typename Json>
Json* walk(Json& value, std::string_view path) {
  if (!value.is_object()) {
    return nullptr;
  }
  for (auto item = value.begin(); item != value.end(); ++item) {
    const std::string& key = item.key();
    if (path == key) {
      return &item.value();
    }
    if (path.starts_with(key) && path[key.size()] == '.') {
      if (Json* found = walk(item.value(), path.substr(key.size() + 1))) {
        return found;
      }
    }
  }
  return nullptr;
}

// Takes the value at `path` out of a point. Where the plugin or section on the way to it is another
// one, takes out what stands there whole; a key that is only not given is nothing to take.
void take_out(nlohmann::json& value, std::string_view path) {
  if (!value.is_object()) {
    return;
  }
  for (auto item = value.begin(); item != value.end(); ++item) {
    const std::string& key = item.key();
    if (path == key) {
      value.erase(item);
      return;
    }
    if (path.starts_with(key) && path[key.size()] == '.') {
      const std::string_view rest = path.substr(key.size() + 1);
      const bool has_next =
          item.value().is_object() &&
          std::any_of(item.value().items().begin(), item.value().items().end(),
                      [&](const auto& next) {
                        return rest == next.key() || rest.starts_with(next.key() + ".");
                      });
      if (has_next) {
        take_out(item.value(), rest);
      } else if (rest.find('.') != std::string_view::npos || !item.value().is_object()) {
        item.value() = nullptr;
      }
      return;
    }
  }
}

constexpr const char* kSeeds[] = {"seed", "train.seed"};

constexpr const char* kOfCheckpoint[] = {"model", "branch", "revision", "phase",
                                         "mark",  "step",   "tokens",   "lr"};

}  // namespace

const std::vector<std::string>& dimension_names() {
  static const std::vector<std::string> names = {
      "branch",      "checkpoint", "model",     "revision",  "phase", "mark", "step",
      "tokens",      "lr",         "averaging", "quantizer", "label", "bits", "bytes",
      "calibration", "metric",     "seed",      "job",       "device"};
  return names;
}

bool is_dimension(const std::string& name) {
  const auto& names = dimension_names();
  return std::find(names.begin(), names.end(), name) != names.end() ||
         (name.starts_with("params.") && name.size() > 7) ||
         (name.starts_with("averaging.") && name.size() > 10) ||
         (name.starts_with(kSweep) && name.size() > kSweep.size());
}

nlohmann::json dimension_value(const Record& record, const std::string& name) {
  if (std::find(std::begin(kOfCheckpoint), std::end(kOfCheckpoint), name) !=
      std::end(kOfCheckpoint)) {
    const nlohmann::json value = member(record.checkpoint, name);
    return value.is_string() && value.get_ref<const std::string&>().empty() ? nlohmann::json()
                                                                            : value;
  }
  if (name == "checkpoint") {  // the position of the weights on the axes, whatever their name
    const nlohmann::json revision = member(record.checkpoint, "revision");
    return revision.is_null() ? member(record.checkpoint, "model") : revision;
  }
  if (name == "averaging") {
    const nlohmann::json label = member(record.averaging, "label");
    return label.is_null() ? member(record.averaging, "id") : label;
  }
  if (name == "quantizer") {
    return member(record.quantizer, "id");
  }
  if (name == "label" || name == "calibration") {
    return member(record.quantizer, name);
  }
  if (name == "bits") {
    return bits_of(record);
  }
  if (name == "bytes") {
    return member(record.details, "stored_bytes");
  }
  if (name == "metric") {
    return text_or_null(record.label.empty() ? record.metric : record.label);
  }
  if (name == "seed" || name == "device") {
    return member(record.environment, name);
  }
  if (name == "job") {
    return record.job;
  }
  if (name.starts_with("params.")) {
    return member(member(record.quantizer, "params"), name.substr(7));
  }
  if (name.starts_with("averaging.")) {
    return member(member(record.averaging, "params"), name.substr(10));
  }
  if (name.starts_with(kSweep)) {
    const nlohmann::json* found =
        walk(point_of(record), std::string_view(name).substr(kSweep.size()));
    return found != nullptr ? *found : nlohmann::json();
  }
  fail(QUENCH_INTERNAL, "report: no dimension is called {}", printable(name));
}

nlohmann::json sweep_point(const Record& record, const std::vector<std::string>& without) {
  nlohmann::json point = point_of(record);
  if (!point.is_object()) {
    return record.job;
  }
  for (const char* name : kSeeds) {
    if (point.erase(name) == 0) {
      if (nlohmann::json* found = walk(point, name)) {
        *found = nullptr;
      }
    }
  }
  for (const std::string& name : without) {
    if (name.starts_with(kSweep)) {
      take_out(point, std::string_view(name).substr(kSweep.size()));
    }
  }
  return point;
}

std::vector<int64_t> swept_seeds(const Record& record) {
  std::vector<int64_t> out;
  for (const char* name : kSeeds) {
    const nlohmann::json* found = walk(point_of(record), name);
    if (found != nullptr && found->is_number_integer()) {
      out.push_back(found->get<int64_t>());
    }
  }
  return out;
}

std::string value_text(const nlohmann::json& value) {
  return value.is_null() ? "none" : value.is_string() ? value.get<std::string>() : value.dump();
}

std::string point_text(const Record& record, const std::vector<std::string>& without) {
  std::vector<std::string> words;
  for (const auto& [path, value] : sweep_values(point_of(record))) {
    const std::string name = std::string(kSweep) + path;
    const bool is_seed = std::find(std::begin(kSeeds), std::end(kSeeds), path) != std::end(kSeeds);
    const bool is_said = std::any_of(without.begin(), without.end(), [&](const std::string& said) {
      return name == said || name.starts_with(said + ".");
    });
    if (!is_seed && !is_said) {
      const size_t dot = path.rfind('.');
      words.push_back((dot == std::string::npos ? path : path.substr(dot + 1)) + " " +
                      value_text(value));
    }
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string dimension_text(const std::string& name, const nlohmann::json& value) {
  if (name == "bits") {
    return value.is_null() ? "float" : value_text(value) + " bits";
  }
  if (name == "checkpoint" || name == "quantizer" || name == "label" || name == "metric") {
    return value_text(value);
  }
  // A long path ends with the word by which people know the value.
  const size_t dot = name.starts_with(kSweep) ? name.rfind('.') : name.find('.');
  return (dot == std::string::npos ? name : name.substr(dot + 1)) + " " + value_text(value);
}

}  // namespace quench
