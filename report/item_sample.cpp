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

// Of a mean over documents, by leaving out one at a time: without document u the mean would differ
// by rest/(positions − nᵤ).
double document_variance(const ItemSample& sample, const std::vector<double>& sums, double mean) {
  double positions = 0;
  for (const double size : sample.sizes) {
    positions += size;
  }
  double squares = 0;
  for (size_t u = 0; u < sums.size(); ++u) {
    const double difference = (sums[u] - mean * sample.sizes[u]) / (positions - sample.sizes[u]);
    squares += difference * difference;
  }
  const auto n = static_cast<double>(sums.size());
  return (n - 1) / n * squares;
}

// The correlation of neighbours, between 0 and 1 − 1/√n: an estimate of a short text is too small
// by (1 + 4r)/n, and one close to 1 would be a guess.
double neighbour_correlation(const std::vector<double>& rests) {
  double next = 0;
  double squares = 0;
  for (size_t i = 0; i < rests.size(); ++i) {
    next += i > 0 ? rests[i - 1] * rests[i] : 0;
    squares += rests[i] * rests[i];
  }
  if (!(squares > 0)) {
    return 0;
  }
  const auto n = static_cast<double>(rests.size());
  const double estimate = next / squares;
  return std::clamp(estimate + (1 + 4 * estimate) / n, 0.0, 1 - 1 / std::sqrt(n));
}

// Of the mean, from means of runs of `run` neighbours.
double variance_of_runs(const std::vector<double>& values, size_t run) {
  const double mean = mean_of(values);
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

double block_variance(const ItemSample& sample, const std::vector<double>& values, double mean) {
  std::vector<double> rests;
  rests.reserve(values.size());
  for (const double value : values) {
    rests.push_back(value - mean);
  }
  const double correlation = neighbour_correlation(rests);
  if (correlation == 0) {
    return variance_of_runs(rests, sample.run());
  }
  std::vector<double> news;
  news.reserve(rests.size() - 1);
  for (size_t i = 1; i < rests.size(); ++i) {
    news.push_back(rests[i] - correlation * rests[i - 1]);
  }
  const double share = static_cast<double>(news.size()) / static_cast<double>(rests.size());
  return share * variance_of_runs(news, sample.run()) / ((1 - correlation) * (1 - correlation));
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
  if (by_documents) {
    double positions = 0;
    double squares = 0;
    for (const double size : sizes) {
      positions += size;
      squares += size * size;
    }
    return std::max(1.0, positions * positions / squares - 1);
  }
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
