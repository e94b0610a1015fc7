#include "core/store/merge_runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "core/base/io/atomic_file.hpp"
#include "core/base/io/file.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/error.hpp"
#include "core/store/counting.hpp"
#include "core/store/difference.hpp"
#include "core/store/json_members.hpp"
#include "core/store/merged_files.hpp"
#include "core/store/run_scan.hpp"
#include "core/store/tombstones.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kLargestText = uint64_t{64} << 20;
constexpr const char* kManifests[] = {"manifest.yaml", "manifest.json"};
constexpr size_t kShownParts = 8;  // differences, or shares, in one message

std::optional<nlohmann::json> json_in(const fs::path& run, const char* name) {
  const fs::path path = run / name;
  std::error_code unreadable;
  if (!fs::exists(path, unreadable)) {
    return std::nullopt;
  }
  return parse_json(read_file(path, kLargestText), path.string());
}

// Throws Error(INVALID_ARGUMENT) with the differences if one of the runs has another manifest.
void refuse_other_manifests(const std::vector<fs::path>& runs) {
  std::optional<nlohmann::json> first;
  fs::path of_first;
  for (const fs::path& run : runs) {
    for (const char* name : kManifests) {
      std::error_code unreadable;
      if (fs::exists(run / name, unreadable)) {
        require_plain(run / name);  // it is copied
      }
    }
    const std::optional<nlohmann::json> manifest = json_in(run, "manifest.json");
    if (!manifest) {
      continue;  // no attempt has begun there
    }
    if (!first) {
      first = manifest;
      of_first = run;
    }
    const std::vector<Difference> differences = explain_difference(*first, *manifest);
    std::vector<std::string> lines;
    for (size_t i = 0; i < std::min(differences.size(), kShownParts); ++i) {
      lines.push_back(difference_text(differences[i]));
    }
    if (differences.size() > kShownParts) {
      lines.push_back(fmt::format("... and {} more", differences.size() - kShownParts));
    }
    if (!lines.empty()) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: another manifest than {}:\n  {}",
           printable(run.string(), 4096), printable(of_first.string(), 4096),
           fmt::join(lines, "\n  "));
    }
  }
}

// What the joined run's run.json says of shares: a list, in order. Adds what is odd about them to
// `notes`, one line each.
nlohmann::json merged_shares(const std::vector<fs::path>& runs, std::vector<std::string>& notes) {
  std::set<nlohmann::json> shares;
  for (const fs::path& run : runs) {
    const nlohmann::json description = json_in(run, "run.json").value_or(nlohmann::json::object());
    if (const auto share = description.find("share");
        share != description.end() && share->is_object()) {
      shares.insert(*share);
    }
    if (const auto before = description.find("shares");
        before != description.end() && before->is_array()) {
      shares.insert(before->begin(), before->end());
    }
  }
  std::set<std::string> splits;
  std::set<uint64_t> numbers;
  uint64_t of = 0;
  for (const nlohmann::json& share : shares) {
    splits.insert(share.value("split", ""));
    numbers.insert(share.value("number", uint64_t{0}));
    of = std::max(of, share.value("of", uint64_t{0}));
  }
  if (splits.size() > 1) {
    notes.push_back(fmt::format(
        "the runs have shares of different splits ({}): cells may be missing; `quench run` on "
        "the joined folder computes them",
        fmt::join(splits, ", ")));
  } else if (!splits.empty() && numbers.size() < of) {
    std::vector<std::string> missing;
    for (uint64_t number = 1; number <= of && missing.size() < kShownParts; ++number) {
      if (!numbers.contains(number)) {
        missing.push_back(fmt::format("{}/{}", number, of));
      }
    }
    notes.push_back(fmt::format("not here yet: share {}", fmt::join(missing, ", ")));
  }
  return shares;
}

// Writes manifest and run.json where the joined run has none, and the shares.
void write_description(const std::vector<fs::path>& runs, const fs::path& into,
                       const nlohmann::json& shares) {
  for (const char* name : kManifests) {
    for (const fs::path& run : runs) {
      std::error_code unreadable;
      if (!fs::exists(into / name, unreadable) && fs::exists(run / name, unreadable)) {
        write_file_atomically(into / name, read_file(run / name, kLargestText));
      }
    }
  }
  std::optional<nlohmann::json> description = json_in(into, "run.json");
  for (size_t i = 0; i < runs.size() && !description; ++i) {
    description = json_in(runs[i], "run.json");
  }
  if (description) {
    if (!shares.empty()) {
      (*description)["share"] = nullptr;
      (*description)["shares"] = shares;
    }
    const std::string text = description->dump(1) + "\n";
    std::error_code unreadable;
    const fs::path path = into / "run.json";
    if (!fs::exists(path, unreadable) || read_file(path, kLargestText) != text) {
      write_file_atomically(path, text);
    }
  }
}

// One evaluation that counts in one run.
struct MergedEvaluation {
  std::string file;                       // its name
  std::vector<const RecordLine*> values;  // at least one
};

// One of the runs that are joined.
struct MergedRun {
  std::filesystem::path folder;
  RunScan scan;
  std::map<std::string, MergedEvaluation> evaluations;
};

// The values that give way to those of the preferred run.
struct HiddenValues {
  std::map<std::string, std::set<std::string>> files;  // by key
  std::vector<std::string> names;                      // of their cells, for people
};

constexpr size_t kShownConflicts = 8;  // in one message

std::string name_of(const RecordLine& line) {
  const std::string_view checkpoint = line.field("checkpoint");
  std::string place(plain_text(json_member(checkpoint, "revision")));
  if (place.empty()) {
    place = plain_text(json_member(checkpoint, "model"));
  }
  const std::string quantizer(plain_text(json_member(line.field("quantizer"), "label")));
  return fmt::format("job {}: {}, {}, {}", line.field("job"), place,
                     quantizer.empty() ? "float" : quantizer, plain_text(line.field("label")));
}

bool equal_values(const MergedEvaluation& a, const MergedEvaluation& b) {
  if (a.values.front()->key != b.values.front()->key) {
    return false;
  }
  return a.file == b.file ||  // copied before
         std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(),
                    [](const RecordLine* x, const RecordLine* y) { return equal_records(*x, *y); });
}

// By cell; they point into the scan. Failures give way to any value, so they do not matter here.
std::map<std::string, MergedEvaluation> evaluations_of(const RunScan& scan) {
  std::map<std::string, MergedEvaluation> out;
  MergedEvaluation* last = nullptr;  // all values of an evaluation follow its first one
  for (const size_t i : scan.counted) {
    const RecordLine& line = scan.lines[i];
    if (line.failed || line.key.empty()) {
      continue;
    }
    if (line.index == 0) {
      const std::string cell = cell_identity(line);
      last = cell.empty() ? nullptr : &out[cell];
      if (last != nullptr) {
        *last = {scan.files[line.file].filename().string(), {}};
      }
    }
    if (last != nullptr) {
      last->values.push_back(&line);
    }
  }
  return out;
}

// Throws Error(INVALID_ARGUMENT) listing the cells of which two runs have different values, unless
// one of the two is `prefer`.
HiddenValues compare_values(const std::vector<MergedRun>& runs,
                            const std::optional<fs::path>& prefer) {
  HiddenValues hidden;
  std::vector<std::string> conflicts;
  std::map<std::string, size_t> first;  // by cell: the source that counts
  for (size_t at = 0; at < runs.size(); ++at) {
    for (const auto& [cell, evaluation] : runs[at].evaluations) {
      const auto [found, fresh] = first.emplace(cell, at);
      const MergedRun& before = runs[found->second];
      const MergedEvaluation& other = before.evaluations.at(cell);
      if (fresh || equal_values(other, evaluation)) {
        continue;
      }
      const RecordLine& line = *evaluation.values.front();
      const RecordLine& other_line = *other.values.front();
      const bool this_one = prefer && runs[at].folder == *prefer;
      if (this_one || (prefer && before.folder == *prefer)) {
        hidden.files[std::string((this_one ? other_line : line).key)].insert(
            (this_one ? other : evaluation).file);
        hidden.names.push_back(name_of(line));
        found->second = this_one ? at : found->second;
        continue;
      }
      conflicts.push_back(
          fmt::format("{}: {} in {}, {} in {}{}", name_of(line), other_line.field("value"),
                      printable(before.folder.string(), 4096), line.field("value"),
                      printable(runs[at].folder.string(), 4096),
                      other_line.key == line.key ? "" : ", and they depend on different things"));
    }
  }
  if (!conflicts.empty()) {
    const size_t count = conflicts.size();
    conflicts.resize(std::min(count, kShownConflicts));
    if (count > kShownConflicts) {
      conflicts.push_back(fmt::format("... and {} more", count - kShownConflicts));
    }
    fail(QUENCH_INVALID_ARGUMENT,
         "{} cells have different values; --prefer RUN says whose count, `quench diff` shows "
         "why:\n  {}",
         count, fmt::join(conflicts, "\n  "));
  }
  return hidden;
}

std::vector<MergedRun> read_runs(const std::vector<fs::path>& folders, const fs::path& into) {
  std::vector<DamagedLine> unreadable;
  const Tombstones forgotten(into, unreadable);
  std::vector<MergedRun> out;
  for (const fs::path& folder : folders) {
    MergedRun& run = out.emplace_back(MergedRun{folder, scan_run(folder), {}});
    run.evaluations = evaluations_of(run.scan);
    // What was hidden when the runs were merged before stays hidden.
    std::erase_if(run.evaluations, [&](const auto& each) {
      return forgotten.hides(each.second.file, each.second.values.front()->key);
    });
  }
  return out;
}

}  // namespace

MergedRuns merge_runs(const std::vector<fs::path>& runs, const fs::path& into,
                      const std::optional<fs::path>& prefer) {
  MergedRuns out;
  std::vector<fs::path> all = {into};
  std::copy_if(runs.begin(), runs.end(), std::back_inserter(all),
               [&](const fs::path& run) { return run != into; });
  refuse_other_manifests(all);
  HiddenValues hidden = compare_values(read_runs(all, into), prefer);
  out.hidden = std::move(hidden.names);
  const nlohmann::json shares = merged_shares(all, out.notes);
  MergedFiles files;
  for (size_t i = 1; i < all.size(); ++i) {
    files.add(all[i], into);
  }
  make_folders(into);
  out.folders = files.copy_folders();
  write_description(all, into, shares);
  hide_records(into, hidden.files, "merged: values of another run were preferred");
  out.files = files.write_texts();
  const RunScan joined = scan_run(into);
  out.evaluations = evaluations_of(joined).size();
  return out;
}

}  // namespace quench
