#include "report/item_sample.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/error.hpp"
#include "core/store/derived.hpp"
#include "report/student_t.hpp"

namespace quench {

namespace {

// A list of numbers at details.documents.<key>; empty if there is none.
std::vector<double> of_documents(const Record& record, const char* key) {
  std::vector<double> out;
  const nlohmann::json& details = record.details;
  if (!details.is_object() || !details.contains("documents") ||
      !details.at("documents").is_object() || !details.at("documents").contains(key)) {
    return out;
  }
  const nlohmann::json& list = details.at("documents").at(key);
  for (const nlohmann::json& value : list.is_array() ? list : nlohmann::json::array()) {
    if (!value.is_number() || !std::isfinite(value.get<double>())) {
      return {};
    }
    out.push_back(value.get<double>());
  }
  return out;
}

bool attributes_to(const Record& record, const std::vector<double>& scored) {
  return of_documents(record, "scored") == scored &&
         of_documents(record, "nll").size() == scored.size();
}

double mean_of(const std::vector<double>& values) {
  double mean = 0;
  for (const double value : values) {
    mean += value / static_cast<double>(values.size());
  }
  return mean;
}

double document_variance(const ItemSample& sample, const std::vector<double>& sums, double mean) {
  double squares = 0;
  double positions = 0;
  for (size_t u = 0; u < sums.size(); ++u) {
    const double rest = sums[u] - mean * sample.sizes[u];
    squares += rest * rest;
    positions += sample.sizes[u];
  }
  const auto n = static_cast<double>(sums.size());
  return n / (n - 1) * squares / (positions * positions);
}

double block_variance(const ItemSample& sample, const std::vector<double>& values, double mean) {
  const size_t run = sample.run();
  double squares = 0;
  for (size_t first = 0; first + run <= values.size(); ++first) {
    double rest = 0;
    for (size_t i = first; i < first + run; ++i) {
      rest += (values[i] - mean) / static_cast<double>(run);
    }
    squares += rest * rest;
  }
  const auto n = static_cast<double>(values.size());
  const auto length = static_cast<double>(run);
  return length * squares / ((n - length + 1) * (n - length));
}

// SplitMix64 (Steele, Lea and Flood, 2014): the same numbers everywhere, whatever the library.
class Draws {
 public:
  size_t below(size_t limit) {
    state_ += 0x9E3779B97F4A7C15ULL;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    z ^= z >> 31;
    return static_cast<size_t>(static_cast<double>(z >> 11) * 0x1p-53 * static_cast<double>(limit));
  }

 private:
  uint64_t state_ = 20261123;
};

}  // namespace

size_t block_run(size_t count) {
  const auto wanted = static_cast<size_t>(std::ceil(3 * std::cbrt(static_cast<double>(count))));
  return std::max<size_t>(1, std::min(wanted, count / 6));
}

size_t ItemSample::run() const {
  return by_documents || !is_text ? 1 : block_run(count());
}

double ItemSample::degrees_of_freedom() const {
  const double runs = static_cast<double>(count()) / static_cast<double>(run());
  return (run() > 1 ? 1.5 : 1.0) * (runs - 1);
}

std::optional<ItemSample> common_sample(std::span<const Record* const> records) {
  if (records.empty()) {
    return std::nullopt;
  }
  ItemSample out;
  out.sizes = of_documents(*records.front(), "scored");
  out.by_documents =
      out.sizes.size() >= kFewestDocuments &&
      std::all_of(out.sizes.begin(), out.sizes.end(), [](double n) { return n > 0; }) &&
      std::all_of(records.begin(), records.end(),
                  [&](const Record* record) { return attributes_to(*record, out.sizes); });
  if (!out.by_documents) {
    out.is_text = !is_accuracy(*records.front());
    out.sizes.assign(records.front()->items.size(), 1.0);
    const bool equal = std::all_of(records.begin(), records.end(), [&](const Record* record) {
      return record->items.size() == out.sizes.size();
    });
    if (!equal || out.sizes.size() < 2) {
      return std::nullopt;
    }
  }
  return out;
}

std::vector<double> unit_sums(const Record& record, const ItemSample& sample) {
  return sample.by_documents ? of_documents(record, "nll") : record.items;
}

Spread item_spread(const ItemSample& sample, const std::vector<double>& sums) {
  Spread out = spread_of(SpreadKind::kItems, sums);  // checks them
  if (!sample.by_documents && sample.run() == 1) {
    return out;
  }
  double variance = 0;
  if (sample.by_documents) {
    double total = 0;
    double positions = 0;
    for (size_t u = 0; u < sums.size(); ++u) {
      total += sums[u];
      positions += sample.sizes[u];
    }
    out.mean = total / positions;
    out.documents = sums.size();
    variance = document_variance(sample, sums, out.mean);
  } else {
    out.run = sample.run();
    variance = block_variance(sample, sums, mean_of(sums));
  }
  out.degrees_of_freedom = sample.degrees_of_freedom();
  out.deviation = std::sqrt(variance * static_cast<double>(sums.size()));
  out.standard_error = std::sqrt(variance);
  out.interval = t_interval(out, kConfidence);
  return out;
}

std::optional<Spread> delta_spread(const Observation& it) {
  if (it.is_float() || it.floating == nullptr) {
    return std::nullopt;
  }
  const Record* const records[] = {it.record, it.floating};
  const std::optional<ItemSample> sample = common_sample(records);
  if (!sample) {
    return std::nullopt;
  }
  std::vector<double> sums = unit_sums(*it.record, *sample);
  const std::vector<double> floating = unit_sums(*it.floating, *sample);
  for (size_t u = 0; u < sums.size(); ++u) {
    sums[u] -= floating[u];
  }
  return item_spread(*sample, sums);
}

std::vector<std::vector<uint32_t>> resampled_counts(const ItemSample& sample) {
  const size_t n = sample.count();
  const size_t run = sample.run();
  Draws draws;
  std::vector<std::vector<uint32_t>> out(kResamples, std::vector<uint32_t>(n, 0));
  for (std::vector<uint32_t>& counts : out) {
    for (size_t drawn = 0; drawn < n;) {  // the last run is cut where it is full
      const size_t first = draws.below(n - run + 1);
      for (size_t i = 0; i < run && drawn < n; ++i, ++drawn) {
        ++counts[first + i];
      }
    }
  }
  return out;
}

double resampled_mean(const ItemSample& sample, const std::vector<double>& sums,
                      const std::vector<uint32_t>& counts) {
  double total = 0;
  double positions = 0;
  for (size_t u = 0; u < sums.size(); ++u) {
    total += counts[u] * sums[u];
    positions += counts[u] * sample.sizes[u];
  }
  return total / positions;
}

}  // namespace quench
