#include "run/manifest/branches.hpp"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <numeric>

#include "core/base/io/file.hpp"
#include "core/base/io/look.hpp"
#include "core/base/io/passing_fault.hpp"
#include "core/error.hpp"
#include "core/hub/resolve.hpp"
#include "core/inputs/weights/open_checkpoint_folder.hpp"
#include "run/manifest/branch_tree.hpp"
#include "run/manifest/learning_rate.hpp"
#include "run/manifest/revision_pattern.hpp"

namespace quench {

namespace fs = std::filesystem;

std::string path_hint(const std::string& path) {
  if (path.starts_with("~/")) {
    return "; `~` is the home folder to a shell alone, wanted the whole path";
  }
  const size_t slash = path.find('/');
  const bool in_form = slash != std::string::npos && slash > 0 && slash + 1 < path.size() &&
                       path.find('/', slash + 1) == std::string::npos && path[0] != '.' &&
                       path[0] != '~' && path[0] != '-' && path.size() <= 200 &&
                       std::all_of(path.begin(), path.end(), [](unsigned char c) {
                         return std::isalnum(c) != 0 || std::strchr("/._-@", c) != nullptr;
                       });
  return in_form ? fmt::format("; did you mean hf://{}?", path) : "";
}

std::string config_text(const std::string& config, const fs::path& relative_to) {
  constexpr size_t kMaxConfigBytes = 16u << 20;
  return config.empty() || config[0] == '{' ? config
                                            : read_file(relative_to / config, kMaxConfigBytes);
}

const std::vector<std::string>& RevisionNames::of(const std::string& model,
                                                  const fs::path& folder) {
  const std::string key = is_hub_spec(model) ? model : folder.string();
  const auto known = known_.find(key);
  if (known != known_.end()) {
    return known->second;
  }
  std::vector<std::string> names;
  if (is_hub_spec(model)) {
    names = list_ ? list_(model) : cached_revisions(model, hub_);
  } else {
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
      if (it->is_directory(error)) {
        names.push_back(it->path().filename().string());
      }
    }
    if (error) {
      fail(status_of_fault(error.value(), QUENCH_NOT_FOUND), "{}: {}", folder.string(),
           error.message());
    }
    for (const PlacedCheckpoint& checkpoint : placed(folder)) {
      names.push_back(checkpoint.name);
    }
    std::sort(names.begin(), names.end());
  }
  return known_[key] = std::move(names);
}

const std::vector<PlacedCheckpoint>& RevisionNames::placed(const fs::path& folder) {
  const auto [entry, added] = placed_.try_emplace(folder.string());
  if (added && is_folder_at(folder)) {
    entry->second = placed_checkpoints(catalog_, folder);
  }
  return entry->second;
}

const ManifestBranch* Trajectory::spec_of(const std::string& branch) const {
  for (size_t i = 0; i < branches.size(); ++i) {
    if (branches[i].name == branch) {
      return specs[i];
    }
  }
  return nullptr;
}

namespace {

// A checkpoint of a branch before the branch's offset is added.
struct Found {
  CheckpointCell cell;
  Place place;
  RevisionPattern::Match captures;
};

// The last part of the path is its name, with or without a trailing slash.
fs::path without_slash(const fs::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

class BranchFinder {
 public:
  BranchFinder(const ManifestBranch& spec, const fs::path& relative_to, RevisionNames& names,
               Problems& problems)
      : spec_(spec),
        relative_to_(relative_to),
        folder_(without_slash(relative_to / spec.model.value)),
        names_(names),
        problems_(problems),
        where_(spec.name.empty() ? "checkpoints" : "branch " + printable(spec.name)) {}

  // One branch per value of the captures in the branch's name.
  std::vector<FoundBranch> find() {
    if (spec_.model.value.empty() || spec_.model.value == "train") {
      return {};  // reported already
    }
    if (!is_pattern(spec_.name, spec_.place) ||
        !is_pattern(spec_.parent.value, spec_.parent.place)) {
      return {};
    }
    if (!is_hub_spec(spec_.model.value) && !fs::exists(folder_)) {
      add(spec_.model.place,
          fmt::format("model {} does not exist{}", folder_.lexically_normal().string(),
                      path_hint(spec_.model.value)));
      return {};
    }
    read_config();
    try {
      const bool all_that_match = !spec_.pattern.empty() && spec_.revisions.empty();
      std::vector<Found> found = all_that_match ? matching() : listed();
      keep_matching(found);
      return grouped(std::move(found));
    } catch (const Error& error) {
      problems_.add(spec_.model.place, error, where_ + ": ");
      return {};
    }
  }

 private:
  void add(const Place& place, const std::string& message) {
    problems_.add(place, where_ + ": " + message);
  }

  void read_config() {
    try {
      config_ = config_text(spec_.config.value, relative_to_);
    } catch (const Error& error) {
      problems_.add(spec_.config.place, error, where_ + ": config: ");
    }
  }

  bool is_pattern(const std::string& text, const Place& place) {
    try {
      const RevisionPattern pattern(text);
      return true;
    } catch (const Error& error) {
      add(place, error.what());
      return false;
    }
  }

  CheckpointCell cell_of(const std::string& revision) const {
    CheckpointCell cell;
    cell.model = spec_.model.value;
    cell.revision = revision;
    if (is_hub_spec(cell.model)) {
      cell.location = revision.empty() ? cell.model : cell.model + "@" + revision;
    } else {
      cell.location = revision.empty() ? folder_.string() : (folder_ / revision).string();
    }
    cell.family = spec_.family.value;
    cell.config = config_;
    return cell;
  }

  Found named(const std::string& revision, const Place& place) const {
    Found out{cell_of(revision), place, {}};
    const NamedPosition position =
        named_position(revision.empty() ? folder_.filename().string() : revision);
    out.cell.step = position.step;
    out.cell.tokens = position.tokens;
    return out;
  }

  // The checkpoint of that name, with the captures of the pattern.
  Found captured(const std::string& revision, const Place& place, RevisionPattern::Match captures) {
    Found out{cell_of(revision), place, std::move(captures)};
    const auto value_of = [&](const char* capture) {
      const auto value = out.captures.find(capture);
      return value == out.captures.end() ? std::nullopt : std::optional(value->second.value);
    };
    out.cell.step = value_of("step");
    out.cell.tokens = value_of("tokens");
    return out;
  }

  // Reads one name of a list.
  void take(const PlacedText& name, std::vector<Found>& out) {
    if (spec_.pattern.empty()) {
      out.push_back(named(name.value, name.place));
    } else if (auto captures = RevisionPattern(spec_.pattern).match(name.value)) {
      out.push_back(captured(name.value, name.place, std::move(*captures)));
    } else {
      add(name.place, fmt::format("revision \"{}\" does not match the pattern \"{}\"",
                                  printable(name.value), printable(spec_.pattern)));
    }
  }

  // The folder as one checkpoint, or all those that lie as files in it.
  std::vector<Found> whole_folder() {
    std::vector<Found> out;
    for (const PlacedCheckpoint& checkpoint : names_.placed(folder_)) {
      Found found{cell_of(checkpoint.name), spec_.model.place, {}};
      found.cell.step = checkpoint.step < 0 ? std::nullopt : std::optional(checkpoint.step);
      found.cell.tokens = checkpoint.tokens < 0 ? std::nullopt : std::optional(checkpoint.tokens);
      out.push_back(std::move(found));
    }
    return out.empty() ? std::vector{named("", spec_.model.place)} : out;
  }

  // The checkpoints of a list, or the model itself. A hub model may have more revisions than the
  // cache: listed ones are accepted, and their cells wait until they are downloaded.
  std::vector<Found> listed() {
    if (spec_.revisions.empty()) {
      return is_hub_spec(spec_.model.value) ? std::vector{named("", spec_.model.place)}
                                            : whole_folder();
    }
    if (!is_pattern(spec_.pattern, spec_.revisions_place)) {
      return {};
    }
    std::vector<Found> out;
    const bool is_hub = is_hub_spec(spec_.model.value);  // no list is asked for then
    const std::vector<std::string> names =
        is_hub ? std::vector<std::string>() : names_.of(spec_.model.value, folder_);
    for (const PlacedText& wanted : spec_.revisions) {
      if (is_hub || std::find(names.begin(), names.end(), wanted.value) != names.end()) {
        take(wanted, out);
        continue;
      }
      const std::string near = nearest(wanted.value, names);
      add(wanted.place,
          fmt::format("no revision \"{}\" in {}{}", printable(wanted.value), spec_.model.value,
                      near.empty() ? "" : fmt::format("; nearest is {}", near)));
    }
    return out;
  }

  std::vector<Found> matching() {
    const std::vector<std::string>& names = names_.of(spec_.model.value, folder_);
    if (!is_pattern(spec_.pattern, spec_.revisions_place)) {
      return {};
    }
    const RevisionPattern pattern(spec_.pattern);
    std::vector<Found> out;
    for (const std::string& name : names) {
      auto match = pattern.match(name);
      if (!match) {
        continue;
      }
      out.push_back(captured(name, spec_.revisions_place, std::move(*match)));
    }
    if (out.empty()) {
      constexpr size_t kShown = 5;
      const auto shown = names.begin() + static_cast<ptrdiff_t>(std::min(names.size(), kShown));
      add(spec_.revisions_place,
          fmt::format("no revision of {} matches \"{}\"; there are {}", spec_.model.value,
                      printable(spec_.pattern),
                      names.empty() ? none()
                                    : fmt::format("{}: {}", names.size(),
                                                  fmt::join(names.begin(), shown, ", "))));
    }
    return out;
  }

  std::string none() const {
    return is_hub_spec(spec_.model.value)
               ? "none in the cache; get them with: quench fetch " +
                     printable(spec_.place.file, 400) + names_.near(spec_.model.value)
               : "none";
  }

  // The number that a range of `match` constrains, or nothing.
  static std::optional<int64_t> number_of(const Found& found, const std::string& name) {
    if (name == "step") {
      return found.cell.step;
    }
    if (name == "tokens") {
      return found.cell.tokens;
    }
    const auto value = found.captures.find(name);
    return value == found.captures.end() ? std::nullopt : std::optional(value->second.value);
  }

  void keep_matching(std::vector<Found>& found) {
    for (const ManifestRange& range : spec_.match) {
      if (found.empty()) {
        return;
      }
      const auto knows = [&](const Found& one) { return number_of(one, range.name).has_value(); };
      if (std::none_of(found.begin(), found.end(), knows)) {
        add(range.place, fmt::format("match: no revision tells its `{}`", printable(range.name)));
        return;
      }
      const auto outside = [&](const Found& one) {
        const auto number = number_of(one, range.name);
        return !number || *number < range.first || *number > range.last;
      };
      found.erase(std::remove_if(found.begin(), found.end(), outside), found.end());
      if (found.empty()) {
        add(range.place,
            fmt::format("match: no revision has its `{}` there", printable(range.name)));
      }
    }
  }

  std::vector<FoundBranch> grouped(std::vector<Found> found) {
    const RevisionPattern name(spec_.name);
    const std::vector<std::string> captures = name.captures();
    for (const std::string& capture : captures) {
      if (!found.empty() && !found.front().captures.contains(capture)) {
        add(spec_.place, fmt::format("the capture {{{}}} of its name is not in `revisions`",
                                     printable(capture)));
        return {};
      }
    }
    if (captures.empty() && found.size() > 1) {
      check_captures_read(found.front().captures);
    }
    std::map<std::vector<int64_t>, std::vector<Found>> groups;
    for (Found& one : found) {
      groups[values_of(one, captures)].push_back(std::move(one));
    }
    std::vector<FoundBranch> out;
    out.reserve(groups.size());
    for (auto& [key, members] : groups) {
      out.push_back(branch_of(name, std::move(members)));
    }
    return out;
  }

  static std::vector<int64_t> values_of(const Found& found, const std::vector<std::string>& names) {
    std::vector<int64_t> out;
    out.reserve(names.size());
    for (const std::string& name : names) {
      out.push_back(found.captures.at(name).value);
    }
    return out;
  }

  // Refuses captures that tell the checkpoints of a branch apart and that nothing reads: a misspelt
  // {step}.
  void check_captures_read(const RevisionPattern::Match& captures) {
    const auto is_read = [&](const auto& capture) {
      return capture.first == "step" || capture.first == "tokens" ||
             std::any_of(spec_.match.begin(), spec_.match.end(),
                         [&](const ManifestRange& range) { return range.name == capture.first; });
    };
    if (!captures.empty() && std::none_of(captures.begin(), captures.end(), is_read)) {
      add(spec_.revisions_place,
          fmt::format(
              "nothing reads the capture {{{}}} of \"{}\"; the place in training is {{step}} "
              "or {{tokens}}, others stand in `match` or in the name of a branch",
              printable(captures.begin()->first), printable(spec_.pattern)));
    }
  }

  FoundBranch branch_of(const RevisionPattern& name, std::vector<Found> members) {
    const RevisionPattern::Match captures = members.front().captures;
    sort_and_thin(members);
    FoundBranch out{&spec_, {}, {}, {}};
    out.branch.name = name.filled(captures);
    out.branch.parent = RevisionPattern(spec_.parent.value).filled(captures);
    out.branch.mark = spec_.mark;
    for (Found& one : members) {
      one.cell.branch = out.branch.name;
      out.checkpoints.push_back(std::move(one.cell));
      out.places.push_back(one.place);
    }
    return out;
  }

  void sort_and_thin(std::vector<Found>& members) {
    // Where no capture is a place in training, by those that there are.
    if (!spec_.pattern.empty()) {
      const std::vector<std::string> captures = RevisionPattern(spec_.pattern).captures();
      std::stable_sort(members.begin(), members.end(), [&](const Found& a, const Found& b) {
        return values_of(a, captures) < values_of(b, captures);
      });
    }
    using Position = std::optional<int64_t> CheckpointCell::*;
    for (const Position position : {&CheckpointCell::step, &CheckpointCell::tokens}) {
      const auto knows = [&](const Found& one) { return (one.cell.*position).has_value(); };
      if (std::all_of(members.begin(), members.end(), knows)) {
        std::stable_sort(members.begin(), members.end(), [&](const Found& a, const Found& b) {
          return *(a.cell.*position) < *(b.cell.*position);
        });
        report_equal(members, position);
        break;
      }
    }
    if (spec_.thin > 1) {
      std::vector<Found> kept;
      for (size_t i = 0; i < members.size(); ++i) {
        if (i % spec_.thin == 0 || i + 1 == members.size()) {
          kept.push_back(std::move(members[i]));
        }
      }
      members = std::move(kept);
    }
  }

  // Two checkpoints with equal positions can be neither distinguished nor ordered.
  void report_equal(const std::vector<Found>& members,
                    std::optional<int64_t> CheckpointCell::*position) {
    for (size_t i = 1; i < members.size(); ++i) {
      const CheckpointCell& a = members[i - 1].cell;
      const CheckpointCell& b = members[i].cell;
      if (a.*position == b.*position) {
        add(members[i].place,
            fmt::format("{} and {} are both at {} {}", printable(a.revision), printable(b.revision),
                        position == &CheckpointCell::step ? "step" : "tokens", *(b.*position)));
        return;
      }
    }
  }

  const ManifestBranch& spec_;
  const fs::path& relative_to_;
  fs::path folder_;
  std::string config_;
  RevisionNames& names_;
  Problems& problems_;
  std::string where_;
};

}  // namespace

Trajectory find_trajectory(const ManifestCheckpoints& spec, const fs::path& relative_to,
                           RevisionNames& names, Problems& problems) {
  std::vector<FoundBranch> found;
  for (const ManifestBranch& branch : spec.branches) {
    for (FoundBranch& one : BranchFinder(branch, relative_to, names, problems).find()) {
      found.push_back(std::move(one));
    }
  }
  for (FoundBranch& branch : found) {
    place_on_axes(branch, problems);
    annotate_learning_rate(branch, relative_to, problems);
  }
  return build_branch_tree(std::move(found), spec, problems);
}

}  // namespace quench
