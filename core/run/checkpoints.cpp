#include "core/run/checkpoints.hpp"

#include <algorithm>
#include <set>

#include "core/error.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

// 10^3, 10^6, 10^9, 10^12 for k (or K), M, B, T; else 0.
int64_t unit_of(char letter) {
  switch (letter) {
    case 'k':
    case 'K':
      return 1'000;
    case 'M':
      return 1'000'000;
    case 'B':
      return 1'000'000'000;
    case 'T':
      return 1'000'000'000'000;
    default:
      return 0;
  }
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

RevisionPattern::RevisionPattern(std::string pattern) : pattern_(std::move(pattern)) {
  std::set<std::string> names;
  size_t at = 0;
  while (true) {
    const size_t open = pattern_.find('{', at);
    Piece piece;
    piece.literal = pattern_.substr(at, open == std::string::npos ? open : open - at);
    if (open == std::string::npos) {
      pieces_.push_back(piece);
      return;
    }
    const size_t close = pattern_.find('}', open);
    if (close == std::string::npos) {
      fail(QUENCH_INVALID_ARGUMENT, "the pattern \"{}\" has a {{ without a }}",
           printable(pattern_));
    }
    piece.capture = pattern_.substr(open + 1, close - open - 1);
    if (piece.capture.empty() || !names.insert(piece.capture).second) {
      fail(QUENCH_INVALID_ARGUMENT, "the pattern \"{}\" has an empty capture, or one twice",
           printable(pattern_));
    }
    const char behind = close + 1 < pattern_.size() ? pattern_[close + 1] : '\0';
    piece.unit = std::max<int64_t>(1, unit_of(behind));
    pieces_.push_back(piece);
    at = close + 1;
  }
}

std::optional<RevisionPattern::Match> RevisionPattern::match(const std::string& name) const {
  Match found;
  size_t at = 0;
  for (const Piece& piece : pieces_) {
    if (name.compare(at, piece.literal.size(), piece.literal) != 0) {
      return std::nullopt;
    }
    at += piece.literal.size();
    if (piece.capture.empty()) {
      break;
    }
    int64_t value = 0;
    const size_t first = at;
    while (at < name.size() && is_digit(name[at])) {
      if (__builtin_mul_overflow(value, 10, &value) ||
          __builtin_add_overflow(value, name[at] - '0', &value)) {
        return std::nullopt;
      }
      ++at;
    }
    if (at == first) {
      return std::nullopt;
    }
    int64_t unit = piece.unit;
    if (unit == 1 && at < name.size() && unit_of(name[at]) > 0) {
      unit = unit_of(name[at++]);
    }
    if (__builtin_mul_overflow(value, unit, &value)) {
      return std::nullopt;
    }
    if (piece.capture == "step") {
      found.step = value;
    } else if (piece.capture == "tokens") {
      found.tokens = value;
    }
  }
  return at == name.size() ? std::optional(found) : std::nullopt;
}

namespace {

bool is_hub(const std::string& model) {
  return model.rfind("hf://", 0) == 0;
}

// Names that can be revisions: subfolders, or the refs of the cache.
std::vector<std::string> revision_names(const std::string& model, const fs::path& folder,
                                        const HubEnvironment& hub) {
  if (is_hub(model)) {
    return cached_revisions(model, hub);
  }
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory()) {
      names.push_back(entry.path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

CheckpointCell cell_of(const ManifestCheckpoints& spec, const fs::path& folder,
                       const std::string& revision) {
  CheckpointCell cell;
  cell.model = spec.model;
  cell.revision = revision;
  if (is_hub(spec.model)) {
    cell.location = revision.empty() ? spec.model : spec.model + "@" + revision;
  } else {
    cell.location = revision.empty() ? folder.string() : (folder / revision).string();
  }
  return cell;
}

}  // namespace

std::vector<CheckpointCell> find_checkpoints(const ManifestCheckpoints& spec,
                                             const fs::path& relative_to, const HubEnvironment& hub,
                                             Problems& problems) {
  std::vector<CheckpointCell> cells;
  if (spec.model.empty()) {
    return cells;
  }
  const fs::path folder = relative_to / spec.model;
  if (!is_hub(spec.model) && !fs::exists(folder)) {
    problems.add(spec.model_place, fmt::format("checkpoints: model {} is not there",
                                               folder.lexically_normal().string()));
    return cells;
  }
  try {
    if (spec.pattern.empty() && spec.revisions.empty()) {
      cells.push_back(cell_of(spec, folder, ""));
      return cells;
    }
    const std::vector<std::string> names = revision_names(spec.model, folder, hub);
    for (const auto& [name, place] : spec.revisions) {
      if (std::find(names.begin(), names.end(), name) == names.end()) {
        const std::string near = nearest(name, names);
        problems.add(place, fmt::format("checkpoints: no revision \"{}\" in {}{}", printable(name),
                                        spec.model,
                                        near.empty() ? "" : fmt::format("; nearest is {}", near)));
        continue;
      }
      CheckpointCell cell = cell_of(spec, folder, name);
      if (const auto match = RevisionPattern("step{step}").match(name)) {
        cell.step = match->step;
      }
      cells.push_back(std::move(cell));
    }
    if (spec.pattern.empty()) {
      return cells;
    }
    const RevisionPattern pattern(spec.pattern);
    for (const std::string& name : names) {
      if (const auto match = pattern.match(name)) {
        CheckpointCell cell = cell_of(spec, folder, name);
        cell.step = match->step;
        cell.tokens = match->tokens;
        cells.push_back(std::move(cell));
      }
    }
    if (cells.empty()) {
      problems.add(
          spec.revisions_place,
          fmt::format(
              "checkpoints: no revision of {} matches \"{}\"; there are {}: {}", spec.model,
              spec.pattern, names.size(),
              fmt::join(names.begin(),
                        names.begin() + static_cast<ptrdiff_t>(std::min<size_t>(names.size(), 5)),
                        ", ")));
    }
    std::stable_sort(cells.begin(), cells.end(), [](const auto& a, const auto& b) {
      return std::tuple(a.step.value_or(0), a.tokens.value_or(0)) <
             std::tuple(b.step.value_or(0), b.tokens.value_or(0));
    });
  } catch (const Error& error) {
    problems.add(spec.model_place, fmt::format("checkpoints: {}", error.what()));
  } catch (const fs::filesystem_error& error) {
    problems.add(spec.model_place, fmt::format("checkpoints: {}", error.what()));
  }
  return cells;
}

}  // namespace quench
