#include "report/observation.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "core/error.hpp"
#include "core/store/derived.hpp"
#include "core/store/metric_text.hpp"
#include "report/dimension.hpp"

namespace quench {

namespace {

nlohmann::json member(const nlohmann::json& object, const char* key) {
  return object.is_object() && object.contains(key) ? object.at(key) : nlohmann::json();
}

nlohmann::json members(const nlohmann::json& object, std::initializer_list<const char*> keys) {
  nlohmann::json out = nlohmann::json::array();
  for (const char* key : keys) {
    out.push_back(member(object, key));
  }
  return out;
}

std::string weights_of(const Record& record) {
  return nlohmann::json{
      members(record.checkpoint, {"model", "branch", "revision", "commit", "step", "tokens"}),
      members(record.averaging, {"id", "params", "label", "members"})}
      .dump();
}

std::string cell_of(const Record& record) {
  return nlohmann::json{members(record.quantizer, {"id", "params", "label", "calibration"}),
                        record.metric, record.label, sweep_point(record),
                        metric_text(record.parts, record.details)}
      .dump();
}

uint64_t count_or_zero(const nlohmann::json& value) {
  return value.is_number_unsigned() ? value.get<uint64_t>() : 0;
}

Observation observation_of(const Record& record) {
  Observation out;
  out.record = &record;
  out.weights = weights_of(record);
  out.cell = out.weights + cell_of(record);
  out.draw = count_or_zero(record.draw);
  out.jitter = count_or_zero(record.jitter);
  return out;
}

// A sweep of one seed gives its values. Of two, each pair is a replicate, and they are counted.
void set_seeds(std::vector<Observation>& all) {
  std::set<std::vector<int64_t>> seeds;
  size_t most = 0;
  for (const Observation& it : all) {
    most = std::max(most, seeds.insert(swept_seeds(*it.record)).first->size());
  }
  for (Observation& it : all) {
    const std::vector<int64_t> own = swept_seeds(*it.record);
    it.seed = most > 1      ? std::distance(seeds.begin(), seeds.find(own))
              : own.empty() ? 0
                            : own.front();
  }
}

// The position of a checkpoint: by step, by tokens, or else by order of appearance.
struct AxisPlace {
  double step;
  double tokens;
  size_t appearance;
  auto operator<=>(const AxisPlace&) const =
      default;  // NOLINT(modernize-use-nullptr): not in the text
};

double number_or_zero(const nlohmann::json& value) {
  return value.is_number() ? value.get<double>() : 0;
}

void set_positions(std::vector<Observation>& all) {
  // Averages form a line of their own and have positions on it.
  std::map<std::string, std::map<std::string, AxisPlace>> lines;  // line → weights → place
  const auto line_of = [](const Observation& it) {
    return nlohmann::json{members(it.record->checkpoint, {"model", "branch"}),
                          dimension_value(*it.record, "averaging"), it.record->job}
        .dump();
  };
  for (const Observation& it : all) {
    auto& line = lines[line_of(it)];
    line.try_emplace(it.weights, AxisPlace{number_or_zero(member(it.record->checkpoint, "step")),
                                           number_or_zero(member(it.record->checkpoint, "tokens")),
                                           line.size()});
  }
  std::map<std::string, std::map<std::string, size_t>> positions;
  for (const auto& [line, weights] : lines) {
    std::vector<std::pair<AxisPlace, std::string>> sorted;
    for (const auto& [key, place] : weights) {
      sorted.emplace_back(place, key);
    }
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < sorted.size(); ++i) {
      positions[line][sorted[i].second] = i;
    }
  }
  for (Observation& it : all) {
    const auto& line = positions[line_of(it)];
    it.position = line.at(it.weights);
    it.is_last = it.position + 1 == line.size();
  }
}

// Says where values under one label were measured on different texts, as when a corpus or a block
// was changed and the run went on in the same folder.
void tell_texts_apart(Observations& out) {
  const auto group_of = [](const Observation& it) {
    return it.record->label.empty() ? it.record->metric : it.record->label;
  };
  const auto text_of = [](const Observation& it) {
    return metric_text(it.record->parts, it.record->details);
  };
  TextNames names;
  for (const Observation& it : out.all) {
    names.add(group_of(it), text_of(it), it.record->details);
  }
  if (names.differing().empty()) {
    return;
  }
  std::map<std::string, std::map<std::string, size_t>> counts;  // group → words → values
  for (Observation& it : out.all) {
    it.text = names.words(group_of(it), text_of(it));
    if (!it.text.empty()) {
      ++counts[group_of(it)][it.text];
    }
  }
  for (const auto& [group, texts] : counts) {
    std::vector<std::string> list;
    for (const auto& [words, values] : texts) {
      list.push_back(fmt::format("{} of {}", values, printable(words)));
    }
    out.notes.push_back(
        fmt::format("{} has values of several texts, which are neither compared "
                    "nor averaged: {}.",
                    printable(group), fmt::join(list, ", ")));
  }
}

// Pairs each quantized value with the float value of the same job, or else of another job: several
// jobs can share a float model that was measured once.
void pair_with_float(Observations& out) {
  FloatValues floats;
  for (size_t i = 0; i < out.all.size(); ++i) {
    if (out.all[i].is_float()) {
      floats.add(common_ground(*out.all[i].record), out.all[i].record->job, i);
    }
  }
  size_t unpaired = 0;
  for (Observation& it : out.all) {
    if (it.is_float()) {
      continue;
    }
    if (const auto place = floats.find(common_ground(*it.record), it.record->job)) {
      it.floating = out.all[*place].record;
    } else {
      unpaired += is_loss(*it.record) ? 1 : 0;
    }
  }
  if (unpaired > 0) {
    out.notes.push_back(
        fmt::format("{} quantized losses have no float loss of the same weights, corpus, dtype and "
                    "device beside them: no error is derived from them.",
                    unpaired));
  }
}

}  // namespace

bool Observation::is_calibrated() const {
  return !record->draw.is_null() || !member(record->quantizer, "calibration").is_null();
}

double Observation::delta() const {
  return is_float() ? 0 : value() - floating->value.get<double>();
}

double Observation::error() const {
  return is_float() ? 0 : quantization_error(floating->value.get<double>(), value());
}

double Observation::bits_per_byte() const {
  const nlohmann::json bits = member(record->details, "bits_per_byte");
  return bits.is_number() && value() > 0 ? bits.get<double>() / value() : 0;
}

bool is_value_of(const Record& record, const std::string& name) {
  const size_t slash = record.metric.find('/');
  return record.metric == name ||
         record.label + (slash == std::string::npos ? "" : record.metric.substr(slash)) == name;
}

Observations observe(const std::vector<Record>& records) {
  Observations out;
  std::set<std::tuple<std::string, std::string, uint64_t, uint64_t, int64_t>> seen;
  for (const Record& record : records) {
    if (!record.error.empty()) {
      out.failed.push_back(&record);
      continue;
    }
    if (!record.value.is_number() || !std::isfinite(record.value.get<double>())) {
      out.notes.push_back(
          fmt::format("A value of {} that is not finite was left out.", printable(record.metric)));
      continue;
    }
    out.all.push_back(observation_of(record));
  }
  set_seeds(out.all);
  const size_t measured = out.all.size();
  std::erase_if(out.all, [&](const Observation& it) {
    return !seen.emplace(it.cell, common_ground(*it.record), it.draw, it.jitter, it.seed).second;
  });
  const size_t repeated = measured - out.all.size();
  if (repeated > 0) {
    out.notes.push_back(
        fmt::format("{} values were measured more than once; the first of each counts.", repeated));
  }
  set_positions(out.all);
  tell_texts_apart(out);
  pair_with_float(out);
  return out;
}

}  // namespace quench
