#include "train/live_averages.hpp"

#include <algorithm>

#include "core/arithmetic/convert_float.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"

namespace quench {

namespace {

// One plugin instance sums one chunk of all members, so there is one instance per chunk.
constexpr uint64_t kChunk = QUENCH_AVERAGING_CHUNK;

std::string step_name(int64_t step) {
  return fmt::format("step{}", step);
}

}  // namespace

struct LiveAverages::Open {
  size_t index;
  size_t next = 0;  // next member
  std::vector<std::string> names;
  std::vector<quench_averaging_member> members;
  std::vector<AveragingHandle> chunks;  // empty before the first member
};

LiveAverages::LiveAverages(Catalog& catalog, const std::vector<LiveAverage>& averages,
                           std::vector<size_t> wanted, uint64_t elements, uint64_t tokens_per_step)
    : catalog_(catalog), averages_(averages), elements_(elements) {
  for (const size_t index : wanted) {
    auto open = std::make_unique<Open>();
    open->index = index;
    for (const int64_t step : averages[index].members) {
      open->names.push_back(step_name(step));
    }
    for (size_t i = 0; i < open->names.size(); ++i) {
      open->members.push_back({sizeof(quench_averaging_member), open->names[i].c_str(),
                               averages[index].members[i],
                               averages[index].members[i] * static_cast<int64_t>(tokens_per_step)});
    }
    open_.push_back(std::move(open));
  }
}

LiveAverages::~LiveAverages() = default;

void LiveAverages::resume(int64_t step, const TrainedStates& states, const StateKeys& keys) {
  for (const std::unique_ptr<Open>& open : open_) {
    const LiveAverage& average = averages_[open->index];
    const size_t members = members_until(average, step);
    const std::string key = live_average_key(average, keys);
    if (members == 0 || !states.has_sums(key, members)) {
      continue;  // its first member is the state itself, or is still to come
    }
    begin(*open);
    size_t loaded = 0;
    states.load_sums(key, members, [&](size_t chunk, std::span<const double> sums) {
      if (chunk >= open->chunks.size()) {
        fail(QUENCH_DATA_LOSS, "{}: has more chunks than the model, {}",
             states.sums_path(key, members).string(), open->chunks.size());
      }
      open->chunks[chunk].resume(members, std::min(kChunk, elements_ - chunk * kChunk), sums);
      ++loaded;
    });
    if (loaded != open->chunks.size()) {
      fail(QUENCH_DATA_LOSS, "{}: has {} chunks, wanted {}",
           states.sums_path(key, members).string(), loaded, open->chunks.size());
    }
    open->next = members;
  }
}

void LiveAverages::save(TrainedStates& states, const StateKeys& keys) const {
  for (const std::unique_ptr<Open>& open : open_) {
    if (open->next == 0 || !open->chunks.front().resumes()) {
      continue;
    }
    const std::string key = live_average_key(averages_[open->index], keys);
    std::vector<uint64_t> sizes;
    for (const AveragingHandle& chunk : open->chunks) {
      sizes.push_back(chunk.sums_size());
    }
    try {
      states.save_sums(key, open->next, sizes,
                       [&](size_t chunk) { return open->chunks[chunk].sums(); });
    } catch (const Error&) {
      if (!states.has_weights(key)) {  // else another process finished it and removed its sums
        throw;
      }
    }
  }
}

std::vector<int64_t> LiveAverages::begun_unsaved() const {
  std::vector<int64_t> out;
  for (const std::unique_ptr<Open>& open : open_) {
    if (open->next > 0 && !open->chunks.front().resumes()) {
      out.push_back(averages_[open->index].members.front());
    }
  }
  return out;
}

std::vector<size_t> LiveAverages::unfinished() const {
  std::vector<size_t> out;
  for (const std::unique_ptr<Open>& open : open_) {
    out.push_back(open->index);
  }
  return out;
}

bool LiveAverages::needs(int64_t step) const {
  return std::any_of(open_.begin(), open_.end(), [&](const std::unique_ptr<Open>& open) {
    const std::vector<int64_t>& members = averages_[open->index].members;
    return open->next < members.size() && members[open->next] == step;
  });
}

void LiveAverages::begin(Open& open) {
  const LiveAverage& average = averages_[open.index];
  for (uint64_t first = 0; first < elements_; first += kChunk) {
    open.chunks.emplace_back(catalog_, *average.plugin, average.parameters);
    open.chunks.back().begin(open.members);
  }
}

void LiveAverages::take(int64_t step, std::span<const float> weights) {
  std::vector<double> values(std::min(kChunk, elements_));
  for (const std::unique_ptr<Open>& open : open_) {
    const std::vector<int64_t>& members = averages_[open->index].members;
    if (open->next >= members.size() || members[open->next] != step) {
      continue;
    }
    if (open->next == 0) {
      begin(*open);
    }
    for (size_t chunk = 0; chunk < open->chunks.size(); ++chunk) {
      const uint64_t first = chunk * kChunk;
      const uint64_t count = std::min(kChunk, elements_ - first);
      to_float64(kFloat32, reinterpret_cast<const char*>(weights.data() + first), count,
                 values.data());
      open->chunks[chunk].accumulate(open->next, {values.data(), count});
    }
    ++open->next;
  }
}

std::vector<LiveAverages::Finished> LiveAverages::finished() {
  std::vector<Finished> out;
  std::vector<double> values(std::min(kChunk, elements_));
  for (auto open = open_.begin(); open != open_.end();) {
    if ((*open)->next < (*open)->members.size()) {
      ++open;
      continue;
    }
    Finished average{(*open)->index, std::vector<float>(elements_)};
    for (size_t chunk = 0; chunk < (*open)->chunks.size(); ++chunk) {
      const uint64_t first = chunk * kChunk;
      const uint64_t count = std::min(kChunk, elements_ - first);
      (*open)->chunks[chunk].finish({values.data(), count});
      from_float64(values.data(), count, kFloat32,
                   reinterpret_cast<char*>(average.weights.data() + first));
    }
    out.push_back(std::move(average));
    open = open_.erase(open);
  }
  return out;
}

}  // namespace quench
