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

// The values of one evaluation: those of this key in this file.
std::vector<const RecordLine*> lines_of(const MergedRun& run, const MergedEvaluation& evaluation) {
  std::vector<const RecordLine*> out;
  for (const size_t i : run.scan.counted) {
    const RecordLine& line = run.scan.lines[i];
    if (line.key == evaluation.key && !line.failed &&
        run.scan.files[line.file].filename().string() == evaluation.file) {
      out.push_back(&line);
    }
  }
  return out;
}

bool equal_values(const MergedRun& a, const MergedEvaluation& of_a, const MergedRun& b,
                  const MergedEvaluation& of_b) {
  if (of_a.key != of_b.key) {
    return false;
  }
  if (of_a.file == of_b.file) {
    return true;  // copied before
  }
  // Several cells may have one key; compare those of this cell.
  const auto values = [](const MergedRun& run, const MergedEvaluation& of) {
    std::vector<const RecordLine*> out;
    bool mine = false;
    for (const RecordLine* line : lines_of(run, of)) {
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

}  // namespace

std::map<std::string, MergedEvaluation> evaluations_of(const RunScan& scan) {
  std::map<std::string, MergedEvaluation> out;
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

HiddenValues compare_values(const std::vector<MergedRun>& runs,
                            const std::optional<fs::path>& prefer) {
  HiddenValues hidden;
  std::vector<std::string> lines;
  size_t conflicts = 0;
  std::map<std::string, size_t> first;  // by cell: the source that counts
  for (size_t at = 0; at < runs.size(); ++at) {
    for (const auto& [cell, evaluation] : runs[at].evaluations) {
      const auto [found, fresh] = first.emplace(cell, at);
      if (fresh) {
        continue;
      }
      const MergedRun& before = runs[found->second];
      const MergedEvaluation& other = before.evaluations.at(cell);
      if (equal_values(before, other, runs[at], evaluation)) {
        continue;
      }
      const bool this_one = prefer && runs[at].folder == *prefer;
      if (this_one || (prefer && before.folder == *prefer)) {
        const MergedEvaluation& loser = this_one ? other : evaluation;
        hidden.files[loser.key].insert(loser.file);
        hidden.names.push_back(evaluation.name);
        found->second = this_one ? at : found->second;
        continue;
      }
      if (++conflicts <= kShownConflicts) {
        lines.push_back(fmt::format(
            "{}: {} in {}, {} in {}{}", evaluation.name, other.value,
            printable(before.folder.string(), 4096), evaluation.value,
            printable(runs[at].folder.string(), 4096),
            other.key == evaluation.key ? "" : ", and they depend on different things"));
      }
    }
  }
  if (conflicts > kShownConflicts) {
    lines.push_back(fmt::format("... and {} more", conflicts - kShownConflicts));
  }
  if (conflicts > 0) {
    fail(QUENCH_INVALID_ARGUMENT,
         "{} cells have different values; --prefer RUN says whose count, `quench diff` shows "
         "why:\n  {}",
         conflicts, fmt::join(lines, "\n  "));
  }
  return hidden;
}

}  // namespace quench
