#include "core/hub/fetch/revision_window.hpp"

#include <algorithm>
#include <map>

#include "core/error.hpp"

namespace quench {

RevisionWindow::RevisionWindow(std::vector<std::set<size_t>> steps, uint64_t limit, bool evict,
                               RevisionStore& store)
    : steps_(std::move(steps)), limit_(limit), evict_(evict), store_(store) {
  for (const std::set<size_t>& step : steps_) {
    kept_.insert(step.begin(), step.end());
  }
}

void RevisionWindow::begin(size_t step) {
  const std::set<size_t>& wanted = steps_[step];
  store_.claim(wanted);
  kept_.insert(wanted.begin(), wanted.end());
  if (evict_) {
    std::erase_if(kept_, [&](size_t revision) { return !next_use(revision, step); });
    store_.keep_only(kept_);
  }
  for (const size_t revision : wanted) {
    if (store_.has(revision)) {
      continue;
    }
    if (!make_room(revision, step, wanted)) {
      fail(QUENCH_RESOURCE_EXHAUSTED,
           "storage: limit = {} bytes, wanted {} for the next weights: {} are there and needed, {} "
           "are to be fetched",
           limit_, store_.used() + store_.missing(revision), store_.used(),
           store_.missing(revision));
    }
    store_.fetch(revision);
  }
  used_.insert(wanted.begin(), wanted.end());
}

std::optional<size_t> RevisionWindow::next(size_t step) {
  std::set<size_t> wanted = steps_[step];
  for (size_t later = step + 1; later < steps_.size(); ++later) {
    wanted.insert(steps_[later].begin(), steps_[later].end());
    bool ahead = false;
    for (const size_t revision : steps_[later]) {
      if (store_.has(revision)) {
        ahead = ahead || !used_.contains(revision);
        continue;
      }
      if (ahead || !make_room(revision, step, wanted)) {
        return std::nullopt;
      }
      std::set<size_t> claimed = steps_[step];
      claimed.insert(revision);
      store_.claim(claimed);
      kept_.insert(revision);
      return revision;
    }
    if (ahead) {
      return std::nullopt;  // one is enough
    }
  }
  return std::nullopt;
}

void RevisionWindow::end() {
  store_.claim({});
  if (evict_) {
    kept_.clear();
    store_.keep_only(kept_);
  }
}

bool RevisionWindow::make_room(size_t revision, size_t step, const std::set<size_t>& wanted) {
  while (limit_ > 0 && store_.used() + store_.missing(revision) > limit_) {
    std::optional<size_t> last;  // the one whose next use is the farthest
    for (const size_t other : kept_) {
      const bool free = evict_ && !wanted.contains(other) && store_.has(other);
      if (free && (!last || next_use(other, step) > next_use(*last, step))) {
        last = other;
      }
    }
    if (!last) {
      return false;
    }
    kept_.erase(*last);
    used_.erase(*last);
    store_.keep_only(kept_);
  }
  return true;
}

std::optional<size_t> RevisionWindow::next_use(size_t revision, size_t from) const {
  for (size_t step = from; step < steps_.size(); ++step) {
    if (steps_[step].contains(revision)) {
      return step;
    }
  }
  return std::nullopt;
}

namespace {

// Files by name, each there or not.
class SimulatedStore final : public RevisionStore {
 public:
  SimulatedStore(const std::vector<std::vector<SimulatedFile>>& revisions,
                 const std::set<std::string>& present)
      : revisions_(revisions), present_(present) {
    for (const std::vector<SimulatedFile>& files : revisions_) {
      for (const SimulatedFile& file : files) {
        bytes_[file.name] = file.bytes;
      }
    }
    peak_ = used();
  }

  uint64_t used() override { return sum(present_); }
  bool has(size_t revision) override { return missing_files(revision).empty(); }
  uint64_t missing(size_t revision) override { return sum(missing_files(revision)); }
  void fetch(size_t revision) override {
    const std::set<std::string> files = missing_files(revision);
    fetched_ += sum(files);
    present_.insert(files.begin(), files.end());
    peak_ = std::max(peak_, used());
  }
  void keep_only(const std::set<size_t>& revisions) override {
    std::set<std::string> unwanted;
    for (size_t i = 0; i < revisions_.size(); ++i) {
      for (const SimulatedFile& file : revisions_[i]) {
        if (file.holds_weights && !revisions.contains(i)) {
          unwanted.insert(file.name);
        }
      }
    }
    for (const size_t kept : revisions) {
      for (const SimulatedFile& file : revisions_[kept]) {
        unwanted.erase(file.name);
      }
    }
    for (const std::string& name : unwanted) {
      present_.erase(name);
    }
  }
  void claim(const std::set<size_t>&) override {}

  uint64_t peak() const { return peak_; }
  uint64_t fetched() const { return fetched_; }

 private:
  uint64_t sum(const std::set<std::string>& names) const {
    uint64_t out = 0;
    for (const std::string& name : names) {
      const auto known = bytes_.find(name);
      out += known != bytes_.end() ? known->second : 0;
    }
    return out;
  }
  std::set<std::string> missing_files(size_t revision) const {
    std::set<std::string> out;
    for (const SimulatedFile& file : revisions_[revision]) {
      if (!present_.contains(file.name)) {
        out.insert(file.name);
      }
    }
    return out;
  }

  const std::vector<std::vector<SimulatedFile>>& revisions_;
  std::set<std::string> present_;
  std::map<std::string, uint64_t> bytes_;
  uint64_t peak_ = 0;
  uint64_t fetched_ = 0;
};

// What is on the disk when a step has all that it reads and nothing else that could go. Small files
// stay, so those of all steps count.
void find_least(const std::vector<std::set<size_t>>& steps, bool evict,
                const std::vector<std::vector<SimulatedFile>>& revisions, WindowForecast& out) {
  std::map<std::string, uint64_t> stay;
  std::vector<std::map<std::string, uint64_t>> go(steps.size());
  for (size_t step = 0; step < steps.size(); ++step) {
    for (const size_t revision : steps[step]) {
      for (const SimulatedFile& file : revisions[revision]) {
        (file.holds_weights && evict ? go[step] : stay)[file.name] = file.bytes;
      }
    }
  }
  for (size_t step = 0; step < steps.size(); ++step) {
    uint64_t bytes = 0;
    for (const auto* some : {&go[step], &stay}) {
      for (const auto& [name, size] : *some) {
        bytes += size;
      }
    }
    if (!steps[step].empty() && bytes > out.least) {
      out.least = bytes;
      out.least_step = step;
    }
  }
}

}  // namespace

WindowForecast forecast(const std::vector<std::set<size_t>>& steps, uint64_t limit, bool evict,
                        const std::vector<std::vector<SimulatedFile>>& revisions,
                        const std::set<std::string>& present) {
  WindowForecast out;
  find_least(steps, evict, revisions, out);
  if (limit > 0 && out.least > limit) {
    return out;
  }
  SimulatedStore store(revisions, present);
  RevisionWindow window(steps, limit, evict, store);
  for (size_t step = 0; step < steps.size(); ++step) {
    window.begin(step);
    if (const auto ahead = window.next(step)) {
      store.fetch(*ahead);
    }
  }
  window.end();
  out.peak = store.peak();
  out.fetched = store.fetched();
  return out;
}

}  // namespace quench
