#include "core/store/merged_values.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.hpp"
#include "core/store/counting.hpp"
#include "core/store/json_members.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

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

}  // namespace

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

}  // namespace quench
