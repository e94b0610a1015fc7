#include "train/training_inventory.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <system_error>
#include <tuple>

#include "core/base/io/lease.hpp"
#include "core/error.hpp"
#include "train/trained_states.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr std::pair<std::string_view, TrainedPart> kEndings[] = {
    {".optimizer", TrainedPart::kOptimizer}, {".sums", TrainedPart::kSums}};
constexpr int64_t kHour = 3600;

int64_t modified_at(const fs::path& path) {
  struct stat status = {};
  return ::lstat(path.c_str(), &status) == 0 ? status.st_mtim.tv_sec : 0;
}

uint64_t bytes_below(const fs::path& folder) {
  uint64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    struct stat status = {};
    if (::lstat(it->path().c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
      bytes += static_cast<uint64_t>(status.st_size);
    }
  }
  return bytes;
}

void refuse(const fs::path& folder, const std::error_code& error) {
  if (error && error != std::errc::no_such_file_or_directory &&
      error != std::errc::not_a_directory) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: cannot be listed: {}", folder.string(), error.message());
  }
}

// Adds the keys that links below RUN/checkpoints lead to.
void add_linked(const fs::path& run, const fs::path& training, std::set<std::string>& keys) {
  const fs::path links = run / "checkpoints";
  std::error_code error;
  for (fs::recursive_directory_iterator it(links, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code none;
    if (!it->is_symlink(none)) {
      continue;
    }
    const fs::path target = it->path().parent_path() / fs::read_symlink(it->path(), none);
    if (fs::weakly_canonical(target.parent_path(), none) == training) {
      keys.insert(target.filename().string());
    }
  }
  refuse(links, error);  // the files that an unreadable run uses must not be removed
}

// Adds the states that the keys came from, as far as they exist: the log of a training is spread
// over the notes of all of them.
void add_ancestors(const TrainedStates& states, std::set<std::string>& keys) {
  std::vector<std::string> open(keys.begin(), keys.end());
  while (!open.empty()) {
    const std::string key = open.back();
    open.pop_back();
    std::string previous;
    try {
      previous = states.note(key).value("previous", "");
    } catch (const std::exception&) {
      continue;  // an unreadable note has no ancestors
    }
    if (!previous.empty() && keys.insert(previous).second) {
      open.push_back(previous);
    }
  }
}

}  // namespace

TrainingInventory training_inventory(const fs::path& home, const std::vector<fs::path>& runs,
                                     int64_t now, int64_t age) {
  const int64_t young = now - std::max(age, kHour);
  TrainingInventory out;
  std::error_code error;
  const fs::path training = fs::weakly_canonical(home / "training", error);
  std::set<std::string> at_work;
  for (fs::directory_iterator it(training, error), end; !error && it != end; it.increment(error)) {
    const fs::path& path = it->path();
    std::error_code none;
    if (!it->is_directory(none) || it->is_symlink(none)) {
      continue;
    }
    const int64_t modified = modified_at(path);
    std::string key = path.filename().string();
    if (key.starts_with('.')) {
      if (is_abandoned(path, now)) {
        out.leftover.push_back(path);
      }
      continue;
    }
    TrainedPart part = TrainedPart::kWeights;
    for (const auto& [ending, what] : kEndings) {
      if (key.ends_with(ending)) {
        part = what;
        key.resize(key.size() - ending.size());
        break;
      }
    }
    if (modified >= young) {
      at_work.insert(key);
    }
    out.entries.push_back({key, part, path, bytes_below(path), false, false});
  }
  refuse(training, error);
  const TrainedStates states(home);
  add_ancestors(states, at_work);
  std::set<std::string> used = at_work;
  for (const fs::path& run : runs) {
    add_linked(run, training, used);
  }
  add_ancestors(states, used);
  for (TrainedEntry& entry : out.entries) {
    entry.at_work = at_work.contains(entry.key);
    // An average that a run links to is finished: no training continues from its sums.
    entry.used = entry.part == TrainedPart::kSums ? entry.at_work : used.contains(entry.key);
  }
  std::sort(out.entries.begin(), out.entries.end(), [](const auto& a, const auto& b) {
    return std::tie(a.key, a.part) < std::tie(b.key, b.part);
  });
  std::sort(out.leftover.begin(), out.leftover.end());
  return out;
}

}  // namespace quench
