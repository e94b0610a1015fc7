#include "core/store/counting.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <unordered_set>

#include "core/error.hpp"
#include "core/store/json_members.hpp"
#include "core/store/tombstones.hpp"

namespace quench {

namespace {

using nlohmann::json;

// All values of one evaluation in one file.
struct Group {
  std::vector<size_t> lines;
  bool failed = false;
  bool hidden = false;
  bool superseded = false;
  size_t original = 0;  // the first success of this key and cell
};

bool equal_field(std::string_view name, std::string_view a, std::string_view b) {
  if (a == b || !is_compared(name)) {
    return true;
  }
  if (!a.starts_with('{') || !b.starts_with('{')) {
    return false;
  }
  json left = json::parse(a, nullptr, false);
  json right = json::parse(b, nullptr, false);
  for (json* side : {&left, &right}) {
    strip_not_compared(*side);
    if (name == "details") {
      strip_given_names(*side);
    }
  }
  return left == right;
}

class Counting {
 public:
  Counting(const std::filesystem::path& folder, RunScan& scan)
      : scan_(scan), tombstones_(folder, scan.damaged) {}

  void run() {
    make_groups();
    hide_forgotten();
    choose_first_successes();
    if (scan_.files.size() > 1 || any_failed_) {
      supersede();
      choose_failures();
    }
    finish();
  }

 private:
  const RecordLine& first(const Group& group) const { return scan_.lines[group.lines[0]]; }

  std::string file_of(const Group& group) const {
    return tombstones_.any() ? scan_.files[first(group).file].filename().string() : std::string();
  }

  // A writer writes the values of one evaluation at once and in order; whatever breaks that order
  // is the rest of a torn write.
  void make_groups() {
    std::unordered_map<std::string_view, Group> open;
    uint32_t file = 0;
    for (size_t i = 0; i < scan_.lines.size(); ++i) {
      const RecordLine& line = scan_.lines[i];
      if (line.file != file) {
        report_open(open, i);
        file = line.file;
      }
      if (line.count == 1) {
        groups_.push_back({{i}, line.failed, false, false, 0});
        continue;
      }
      Group& group = open[line.key];
      if (line.index != group.lines.size()) {
        report(group, scan_.damaged);
        group = {};
      }
      if (line.index != group.lines.size()) {
        report({{i}, false, false, false, 0}, scan_.damaged);
        continue;
      }
      group.lines.push_back(i);
      group.failed = group.failed || line.failed;
      if (group.lines.size() == line.count) {
        groups_.push_back(std::move(group));
        open.erase(line.key);
      }
    }
    report_open(open, scan_.lines.size());
  }

  // Reports incomplete groups at the end of a file whose lines end before index `end`. A writer may
  // not have finished the group of its last line.
  void report_open(std::unordered_map<std::string_view, Group>& open, size_t end) {
    for (auto& [key, group] : open) {
      const bool last = !group.lines.empty() && group.lines.back() + 1 == end;
      report(group, last && !is_followed(scan_.lines[end - 1]) ? scan_.unfinished : scan_.damaged);
    }
    open.clear();
  }

  // Whether its file has damage after the line.
  bool is_followed(const RecordLine& line) const {
    return std::any_of(scan_.damaged.begin(), scan_.damaged.end(), [&](const DamagedLine& other) {
      return other.offset > line.offset && other.file == scan_.files[line.file];
    });
  }

  void report(const Group& group, std::vector<DamagedLine>& to) const {
    if (!group.lines.empty()) {
      const RecordLine& line = first(group);
      to.push_back({scan_.files[line.file], line.line, line.offset,
                    fmt::format("incomplete: {} of {} values of {}", group.lines.size(), line.count,
                                line.key.substr(0, 12))});
    }
  }

  void hide_forgotten() {
    for (Group& group : groups_) {
      any_failed_ = any_failed_ || group.failed;
      group.hidden = tombstones_.hides(file_of(group), first(group).key);
    }
  }

  void choose_first_successes() {
    for (size_t i = 0; i < groups_.size(); ++i) {
      Group& group = groups_[i];
      group.original = i;
      if (group.hidden || group.failed) {
        continue;
      }
      const std::string_view key = first(group).key;
      if (!key.empty() && !is_first_of_its_cell(group, key)) {
        continue;
      }
      chosen_.push_back(i);
      if (!key.empty()) {
        success_[key].push_back(i);
      }
    }
  }

  // Several cells may share a key: the same weights under two names. Returns false if an equal
  // group of the same cell exists, which becomes its original.
  bool is_first_of_its_cell(Group& group, std::string_view key) {
    const auto found = success_.find(key);
    if (found == success_.end()) {
      return true;
    }
    const std::string cell = cell_identity(first(group));
    for (const size_t i : found->second) {
      if (cell_identity(first(groups_[i])) == cell) {
        group.original = groups_[i].original;
        if (same_values(groups_[i], group)) {
          return false;
        }
        if (scan_.conflicts.empty() || scan_.conflicts.back() != key) {
          scan_.conflicts.emplace_back(key);
        }
      }
    }
    return true;
  }

  bool same_values(const Group& a, const Group& b) const {
    if (a.lines.size() != b.lines.size()) {
      return false;
    }
    for (size_t i = 0; i < a.lines.size(); ++i) {
      if (!equal_records(scan_.lines[a.lines[i]], scan_.lines[b.lines[i]])) {
        return false;
      }
    }
    return true;
  }

  // If a cell has values under several keys, the one written last counts, even if that key was also
  // written earlier.
  void supersede() {
    for (const size_t i : chosen_) {
      usable_.insert(i);
    }
    for (size_t i = 0; i < groups_.size(); ++i) {
      const Group& group = groups_[i];
      const std::string cell = cell_identity(first(group));
      if (group.hidden || group.failed || cell.empty() || !usable_.contains(group.original)) {
        continue;
      }
      const auto [found, fresh] = latest_.emplace(cell, i);
      const Group& before = groups_[found->second];
      if (!fresh && first(before).key != first(group).key &&
          first(before).file != first(group).file) {
        groups_[before.original].superseded = true;
        groups_[group.original].superseded = false;
      }
      found->second = i;
    }
  }

  // A failure counts if its cell has no success; of several failures the last one counts.
  void choose_failures() {
    std::unordered_map<std::string, size_t> failures;
    for (size_t i = 0; i < groups_.size(); ++i) {
      if (groups_[i].failed && !groups_[i].hidden) {
        const std::string cell = cell_identity(first(groups_[i]));
        if (cell.empty()) {
          chosen_.push_back(i);
        } else if (!latest_.contains(cell)) {
          failures[cell] = i;
        }
      }
    }
    for (const auto& [cell, i] : failures) {
      chosen_.push_back(i);
    }
  }

  void finish() {
    for (const size_t i : chosen_) {
      auto& list = groups_[i].superseded ? scan_.superseded : scan_.counted;
      list.insert(list.end(), groups_[i].lines.begin(), groups_[i].lines.end());
    }
    std::sort(scan_.counted.begin(), scan_.counted.end());
    std::sort(scan_.superseded.begin(), scan_.superseded.end());
  }

  RunScan& scan_;
  Tombstones tombstones_;
  std::vector<Group> groups_;
  std::vector<size_t> chosen_;                                         // groups that count
  std::unordered_map<std::string_view, std::vector<size_t>> success_;  // successes of each key
  std::unordered_map<std::string, size_t> latest_;                     // last group of each cell
  std::unordered_set<size_t> usable_;
  bool any_failed_ = false;
};

}  // namespace

bool equal_records(const RecordLine& a, const RecordLine& b) {
  if (a.body == b.body) {
    return true;
  }
  const auto fields = record_fields();
  for (size_t i = 0; i < fields.size(); ++i) {
    if (!equal_field(fields[i].name, a.fields[i], b.fields[i])) {
      return false;
    }
  }
  return true;
}

std::string cell_identity(const RecordLine& line) {
  const std::string_view label = line.field("label");
  if (label.size() <= 2) {
    return "";
  }
  std::string out;
  const auto add = [&](std::string_view text) {
    out += text;
    out += '\n';
  };
  const std::string_view checkpoint = line.field("checkpoint");
  const std::string_view averaging = line.field("averaging");
  add(line.field("job"));
  for (const char* name : {"model", "revision", "branch"}) {
    add(json_member(checkpoint, name));
  }
  for (const char* name : {"label", "members"}) {
    add(json_member(averaging, name));
  }
  add(json_member(line.field("quantizer"), "label"));
  add(line.field("draw"));
  add(line.field("jitter"));
  add(line.field("metric"));
  add(label);
  return out;
}

void decide_what_counts(const std::filesystem::path& folder, RunScan& scan) {
  Counting(folder, scan).run();
}

}  // namespace quench
