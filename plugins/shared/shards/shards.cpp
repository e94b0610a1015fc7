#include "shared/shards/shards.hpp"

#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "quench/kit/error.hpp"

namespace quench {

namespace {

constexpr size_t kMaxShards = 1'000'000;

struct Shard {
  std::string name;  // the part before the number
  size_t index = 0;
  std::optional<size_t> count;
};

// Removes the number at the start of `text` and returns it; nothing if there is none.
std::optional<size_t> number(std::string_view& text) {
  size_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc() || value >= kMaxShards) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<size_t>(read.ptr - text.data()));
  return value;
}

// NAME-<index>-of-<count>[-anything].ending or <index>.ending.
std::optional<Shard> shard_of(const std::string& file) {
  constexpr std::string_view kOf = "-of-";
  std::string_view text = file;
  if (const auto index = number(text); index && text.starts_with('.')) {
    return Shard{"", *index, std::nullopt};
  }
  const size_t of = file.rfind(kOf);
  const size_t dash = of == std::string::npos || of == 0 ? of : file.rfind('-', of - 1);
  if (dash == std::string::npos) {
    return std::nullopt;
  }
  std::string_view before = std::string_view(file).substr(dash + 1, of - dash - 1);
  std::string_view after = std::string_view(file).substr(of + kOf.size());
  const auto index = number(before);
  const auto count = number(after);
  if (!index || !before.empty() || !count || !(after.starts_with('.') || after.starts_with('-'))) {
    return std::nullopt;
  }
  return Shard{file.substr(0, dash), *index, count};
}

struct Series {
  std::set<size_t> counts;
  std::set<size_t> found;
  size_t files = 0;
};

void check(const std::string& folder, const std::string& name, const Series& series) {
  const std::string what = folder + ": " + (name.empty() ? "numbered files" : name);
  if (series.counts.size() > 1) {
    kit::fail(QUENCH_DATA_LOSS, "%s: got pieces of %zu and of %zu, wanted one data set",
              what.c_str(), *series.counts.begin(), *series.counts.rbegin());
  }
  if (series.files > series.found.size()) {
    kit::fail(QUENCH_DATA_LOSS, "%s: got %zu files for %zu pieces, wanted one for each",
              what.c_str(), series.files, series.found.size());
  }
  const size_t count = series.counts.empty() ? *series.found.rbegin() + 1 : *series.counts.begin();
  for (size_t i = 0; i < count; ++i) {
    if (series.found.count(i) == 0) {
      kit::fail(QUENCH_DATA_LOSS, "%s: got %zu of %zu pieces, piece %zu (from 0) is missing",
                what.c_str(), series.found.size(), count, i);
    }
  }
  if (*series.found.rbegin() >= count) {
    kit::fail(QUENCH_DATA_LOSS, "%s: got piece %zu (from 0) of %zu", what.c_str(),
              *series.found.rbegin(), count);
  }
}

}  // namespace

void check_shards(const std::vector<std::string>& paths) {
  std::map<std::string, Series> all;
  std::string folder;
  for (const std::string& path : paths) {
    const std::filesystem::path file(path);
    if (const auto shard = shard_of(file.filename().string())) {
      folder = file.parent_path().string();
      Series& series = all[shard->name];
      series.found.insert(shard->index);
      ++series.files;
      if (shard->count) {
        series.counts.insert(*shard->count);
      }
    }
  }
  for (const auto& [name, series] : all) {
    check(folder, name, series);
  }
}

}  // namespace quench
