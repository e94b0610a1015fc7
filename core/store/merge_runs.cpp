#include "core/store/merge_runs.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

#include "core/error.hpp"
#include "core/io/atomic_file.hpp"
#include "core/io/file.hpp"
#include "core/io/new_folder.hpp"
#include "core/json/parse_json.hpp"
#include "core/store/counting.hpp"
#include "core/store/difference.hpp"
#include "core/store/json_members.hpp"
#include "core/store/run_scan.hpp"
#include "core/store/sealed_folder.hpp"
#include "core/store/tombstones.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kLargestText = uint64_t{64} << 20;  // of a manifest
constexpr uint64_t kLargestLog = uint64_t{64} << 30;
constexpr size_t kShown = 8;  // differences in one message

bool is_record_file(const std::string& name) {
  return name.starts_with("records-") && name.ends_with(".jsonl");
}

// Only ever appended to, so of two copies the longer one is the later one.
bool is_appended(const std::string& name) {
  return is_record_file(name) || (name.starts_with("log-") && name.ends_with(".jsonl"));
}

// Written once, under a name that no other attempt has.
bool is_written_once(const std::string& name) {
  return name.ends_with(".json") &&
         (name.starts_with("tombstone-") || name.starts_with("processes-"));
}

std::optional<nlohmann::json> json_in(const fs::path& run, const char* name) {
  const fs::path path = run / name;
  std::error_code unreadable;
  if (!fs::exists(path, unreadable)) {
    return std::nullopt;
  }
  return parse_json(read_file(path, kLargestText), path.string());
}

void refuse_other_manifests(const std::vector<fs::path>& runs) {
  std::optional<nlohmann::json> first;
  fs::path of_first;
  for (const fs::path& run : runs) {
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
    for (size_t i = 0; i < std::min(differences.size(), kShown); ++i) {
      lines.push_back(difference_text(differences[i]));
    }
    if (differences.size() > kShown) {
      lines.push_back(fmt::format("... and {} more", differences.size() - kShown));
    }
    if (!lines.empty()) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: another manifest than {}:\n  {}",
           printable(run.string(), 4096), printable(of_first.string(), 4096),
           fmt::join(lines, "\n  "));
    }
  }
}

// One evaluation that counts in one run.
struct Evaluation {
  std::string cell;
  std::string key;
  std::string name;   // for people
  std::string value;  // likewise, the first one
  std::string file;
};

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

// By cell. Failures give way to any value, so they do not matter here.
std::map<std::string, Evaluation> evaluations_of(const RunScan& scan) {
  std::map<std::string, Evaluation> out;
  for (const size_t i : scan.counted) {
    const RecordLine& line = scan.lines[i];
    // All values of an evaluation are one piece, although each has a metric of its own.
    const std::string cell = line.index == 0 ? cell_identity(line) : "";
    if (line.failed || line.key.empty()) {
      continue;
    }
    if (line.index == 0 && !cell.empty()) {
      out[cell] = {cell, std::string(line.key), name_of(line), std::string(line.field("value")),
                   scan.files[line.file].filename().string()};
    }
  }
  return out;
}

struct Source {
  fs::path run;
  RunScan scan;
  std::map<std::string, Evaluation> evaluations;
};

// The values of one evaluation: those of this key in this file.
std::vector<const RecordLine*> lines_of(const Source& source, const Evaluation& evaluation) {
  std::vector<const RecordLine*> out;
  for (const size_t i : source.scan.counted) {
    const RecordLine& line = source.scan.lines[i];
    if (line.key == evaluation.key && !line.failed &&
        source.scan.files[line.file].filename().string() == evaluation.file) {
      out.push_back(&line);
    }
  }
  return out;
}

bool equal_values(const Source& a, const Evaluation& of_a, const Source& b,
                  const Evaluation& of_b) {
  if (of_a.key != of_b.key) {
    return false;
  }
  if (of_a.file == of_b.file) {
    return true;  // copied before
  }
  // Several cells may have one key; compare those of this cell.
  const auto values = [](const Source& source, const Evaluation& of) {
    std::vector<const RecordLine*> out;
    bool mine = false;
    for (const RecordLine* line : lines_of(source, of)) {
      mine = line->index == 0 ? cell_identity(*line) == of.cell : mine;
      if (mine) {
        out.push_back(line);
      }
    }
    return out;
  };
  const std::vector<const RecordLine*> left = values(a, of_a);
  const std::vector<const RecordLine*> right = values(b, of_b);
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](const RecordLine* x, const RecordLine* y) { return equal_records(*x, *y); });
}

// Which records of which file give way.
using Hidden = std::map<std::string, std::set<std::string>>;  // key -> files

Hidden compare(const std::vector<Source>& sources, const std::optional<fs::path>& prefer,
               MergedRuns& out) {
  Hidden hidden;
  std::vector<std::string> lines;
  size_t conflicts = 0;
  std::map<std::string, size_t> first;  // by cell: the source that counts
  for (size_t at = 0; at < sources.size(); ++at) {
    for (const auto& [cell, evaluation] : sources[at].evaluations) {
      const auto [found, fresh] = first.emplace(cell, at);
      if (fresh) {
        continue;
      }
      const Source& before = sources[found->second];
      const Evaluation& other = before.evaluations.at(cell);
      if (equal_values(before, other, sources[at], evaluation)) {
        continue;
      }
      const bool this_one = prefer && sources[at].run == *prefer;
      if (this_one || (prefer && before.run == *prefer)) {
        const Evaluation& loser = this_one ? other : evaluation;
        hidden[loser.key].insert(loser.file);
        out.hidden.push_back(evaluation.name);
        found->second = this_one ? at : found->second;
        continue;
      }
      if (++conflicts <= kShown) {
        lines.push_back(fmt::format(
            "{}: {} in {}, {} in {}{}", evaluation.name, other.value,
            printable(before.run.string(), 4096), evaluation.value,
            printable(sources[at].run.string(), 4096),
            other.key == evaluation.key ? "" : ", and they depend on different things"));
      }
    }
  }
  if (conflicts > kShown) {
    lines.push_back(fmt::format("... and {} more", conflicts - kShown));
  }
  if (conflicts > 0) {
    fail(QUENCH_INVALID_ARGUMENT,
         "{} cells have different values; --prefer RUN says whose count, `quench diff` shows "
         "why:\n  {}",
         conflicts, fmt::join(lines, "\n  "));
  }
  return hidden;
}

// The files of text to be written, by their place in the joined run.
using Texts = std::map<fs::path, std::string>;

// Adds the file unless what is there, or comes from another run, is as good. Throws like
// merge_runs.
void add_text(const fs::path& from, const fs::path& to, Texts& texts) {
  std::string text = read_appended_file(from, kLargestLog);
  std::error_code unreadable;
  const auto queued = texts.find(to);
  const bool exists = fs::exists(to, unreadable);
  if (queued == texts.end() && !exists) {
    texts.emplace(to, std::move(text));
    return;
  }
  const std::string there =
      queued != texts.end() ? queued->second : read_appended_file(to, kLargestLog);
  const size_t common = std::min(text.size(), there.size());
  if (text.compare(0, common, there, 0, common) != 0 ||
      (text.size() != there.size() && !is_appended(from.filename().string()))) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: another file than {} under the same name; nothing merged",
         printable(from.string(), 4096), printable(to.string(), 4096));
  }
  if (text.size() > there.size()) {
    texts[to] = std::move(text);
  }
}

void copy_durably(const fs::path& from, const fs::path& to) {
  constexpr uint64_t kChunk = uint64_t{8} << 20;
  const File file(from);
  AtomicFile out(to, file.size());
  std::string buffer;
  for (uint64_t at = 0; at < file.size();) {
    buffer.resize(std::min(kChunk, file.size() - at));
    file.read(at, buffer.data(), buffer.size());
    out.write(buffer);
    at += buffer.size();
  }
  file.check_unchanged();
  out.commit();
}

void copy_tree(const fs::path& from, const fs::path& to) {
  for (const fs::directory_entry& entry : fs::directory_iterator(from)) {
    const fs::path target = to / entry.path().filename();
    if (entry.is_directory()) {
      make_folders(target);
      copy_tree(entry.path(), target);
    } else if (entry.is_regular_file()) {
      copy_durably(entry.path(), target);
    }
  }
}

// Calls `visit(from, to)` for the folders of weights and the files below `from`. A folder of
// weights has files in it; hidden names are half-written.
template <typename Visit>
void for_each_piece(const fs::path& from, const fs::path& to, const Visit& visit) {
  std::error_code unreadable;
  if (!fs::is_directory(from, unreadable)) {
    return;
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(from)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(".") || !fs::exists(entry.path(), unreadable)) {
      continue;  // also a link to a training of another machine
    }
    // A link leads to a training of this machine, and is copied as one.
    const bool folder = entry.is_directory() && !entry.is_symlink();
    const bool of_weights =
        folder && std::any_of(fs::directory_iterator(entry.path()), fs::directory_iterator(),
                              [](const fs::directory_entry& each) {
                                return each.is_regular_file() &&
                                       !each.path().filename().string().starts_with(".");
                              });
    if (folder && !of_weights) {
      for_each_piece(entry.path(), to / name, visit);
    } else {
      visit(entry.path(), to / name);
    }
  }
}

// Folders of one name are the same if their seals are. Throws like merge_runs.
void check_piece(const fs::path& from, const fs::path& other) {
  std::error_code unreadable;
  const fs::path seal = from / kFolderSeal;
  const fs::path there = other / kFolderSeal;
  if (!fs::exists(other, unreadable) || !fs::exists(seal, unreadable)) {
    return;
  }
  if (!fs::exists(there, unreadable) ||
      read_file(seal, kLargestText) != read_file(there, kLargestText)) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: other weights than {} under the same name; move one away",
         printable(from.string(), 4096), printable(other.string(), 4096));
  }
}

// Returns whether something was missing.
bool copy_piece(const fs::path& from, const fs::path& to) {
  std::error_code unreadable;
  if (fs::exists(fs::symlink_status(to, unreadable)) && fs::exists(to, unreadable)) {
    return false;
  }
  fs::remove(to, unreadable);  // a link that leads nowhere
  make_folders(to.parent_path());
  if (fs::is_symlink(from)) {
    fs::copy_symlink(from, to, unreadable);
    return !unreadable;
  }
  if (!fs::is_directory(from)) {
    copy_durably(from, to);
    return true;
  }
  NewFolder folder(to);
  copy_tree(from, folder.temporary());
  return folder.commit_if_absent();
}

// What the joined run's run.json says of shares: a list, in order.
nlohmann::json shares_of(const std::vector<fs::path>& runs, MergedRuns& out) {
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
    out.notes.push_back(fmt::format(
        "the runs have shares of different splits ({}): cells may be missing; `quench run` on "
        "the joined folder computes them",
        fmt::join(splits, ", ")));
  } else if (!splits.empty() && numbers.size() < of) {
    std::vector<std::string> missing;
    for (uint64_t number = 1; number <= of && missing.size() < kShown; ++number) {
      if (!numbers.contains(number)) {
        missing.push_back(fmt::format("{}/{}", number, of));
      }
    }
    out.notes.push_back(fmt::format("not here yet: share {}", fmt::join(missing, ", ")));
  }
  return shares;
}

void write_description(const std::vector<fs::path>& runs, const fs::path& into,
                       const nlohmann::json& shares) {
  for (const char* name : {"manifest.yaml", "manifest.json"}) {
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

}  // namespace

MergedRuns merge_runs(const std::vector<fs::path>& runs, const fs::path& into,
                      const std::optional<fs::path>& prefer) {
  MergedRuns out;
  std::vector<fs::path> all = {into};
  std::copy_if(runs.begin(), runs.end(), std::back_inserter(all),
               [&](const fs::path& run) { return run != into; });
  refuse_other_manifests(all);
  std::vector<Source> sources;
  std::vector<DamagedLine> unreadable;
  const Tombstones forgotten(into, unreadable);
  for (const fs::path& run : all) {
    sources.push_back({run, scan_run(run), {}});
    sources.back().evaluations = evaluations_of(sources.back().scan);
    // What was hidden when the runs were merged before stays hidden.
    std::erase_if(sources.back().evaluations, [&](const auto& each) {
      return forgotten.hides(each.second.file, each.second.key);
    });
  }
  const Hidden hidden = compare(sources, prefer, out);
  const nlohmann::json shares = shares_of(all, out);
  Texts others;
  Texts records;
  std::map<fs::path, fs::path> pieces;  // to -> from
  for (size_t i = 1; i < all.size(); ++i) {
    for (const fs::directory_entry& entry : fs::directory_iterator(all[i])) {
      const std::string name = entry.path().filename().string();
      if (entry.is_regular_file() && (is_appended(name) || is_written_once(name))) {
        add_text(entry.path(), into / name, is_record_file(name) ? records : others);
      }
    }
    for (const char* kind : {"averages", "exports", "checkpoints", "training"}) {
      for_each_piece(all[i] / kind, into / kind, [&](const fs::path& from, const fs::path& to) {
        check_piece(from, to);
        check_piece(from, pieces.emplace(to, from).first->second);
      });
    }
  }
  make_folders(into);
  for (const auto& [to, from] : pieces) {
    out.folders += copy_piece(from, to) ? 1 : 0;
  }
  write_description(all, into, shares);
  hide_records(into, hidden, "merged: values of another run were preferred");
  for (const Texts* texts : {&others, &records}) {
    for (const auto& [to, text] : *texts) {
      write_file_atomically(to, text);
      ++out.files;
    }
  }
  out.evaluations = evaluations_of(scan_run(into)).size();
  return out;
}

}  // namespace quench
