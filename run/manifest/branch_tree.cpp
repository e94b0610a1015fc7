#include "run/manifest/branch_tree.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "core/error.hpp"
#include "core/names.hpp"
#include "run/manifest/learning_rate.hpp"

namespace quench {

namespace {

// Adds the offset; returns false on overflow.
bool shift(std::optional<int64_t>& value, int64_t offset) {
  return !value || !__builtin_add_overflow(*value, offset, &*value);
}

std::string where_of(const FoundBranch& branch) {
  return branch.branch.name.empty() ? "checkpoints" : "branch " + printable(branch.branch.name);
}

}  // namespace

void place_on_axes(FoundBranch& branch, Problems& problems) {
  const ManifestBranch& spec = *branch.spec;
  const ManifestOffset offset = spec.offset.value_or(ManifestOffset());
  for (size_t i = 0; i < branch.checkpoints.size(); ++i) {
    CheckpointCell& cell = branch.checkpoints[i];
    bool fits = true;
    if (!cell.tokens && cell.step && spec.tokens_per_step > 0) {
      int64_t tokens = 0;
      fits = !__builtin_mul_overflow(*cell.step, spec.tokens_per_step, &tokens);
      cell.tokens = tokens;
    }
    if (!fits || !shift(cell.step, offset.step) || !shift(cell.tokens, offset.tokens)) {
      problems.add(branch.places[i],
                   fmt::format("{}: {}: step or tokens are beyond 64 bits with the branch's offset",
                               where_of(branch), printable(cell.revision)));
      return;
    }
  }
}

void annotate_learning_rate(FoundBranch& branch, const std::filesystem::path& relative_to,
                            Problems& problems) {
  const ManifestBranch& spec = *branch.spec;
  const bool scheduled = spec.learning_rate.kind == ManifestLearningRate::Kind::kSchedule;
  try {
    const LearningRate rate(spec.learning_rate, relative_to);
    int64_t last = -1;
    for (CheckpointCell& cell : branch.checkpoints) {
      cell.learning_rate = rate.at(cell.step, cell.tokens);
      if (!cell.step) {
        continue;
      }
      last = std::max(last, *cell.step);
      const auto phase =
          std::find_if(spec.phases.begin(), spec.phases.end(), [&](const ManifestRange& range) {
            return *cell.step >= range.first && *cell.step <= range.last;
          });
      if (phase != spec.phases.end()) {
        cell.phase = phase->name;
      } else if (spec.phases.empty() && scheduled) {
        cell.phase = scheduled_phase(spec.learning_rate.schedule, *cell.step);
      }
    }
    if (scheduled && last >= 0) {
      branch.branch.schedule = schedule_line(spec.learning_rate.schedule, last);
    }
  } catch (const Error& error) {
    problems.add(spec.learning_rate.place,
                 fmt::format("{}: lr: {}", where_of(branch), error.what()));
  }
}

namespace {

class BranchTreeBuilder {
 public:
  BranchTreeBuilder(std::vector<FoundBranch> found, const ManifestCheckpoints& spec,
                    Problems& problems)
      : found_(std::move(found)), spec_(spec), problems_(problems) {}

  Trajectory run() {
    name_branches();
    check_parents();
    check_cycles();
    for (FoundBranch& branch : found_) {
      begin_.push_back(out_.checkpoints.size());
      take_checkpoints(branch);
    }
    for (size_t i = 0; i < found_.size(); ++i) {
      found_[i].branch.fork = fork_of(i);
      out_.branches.push_back(found_[i].branch);
      out_.specs.push_back(found_[i].spec);
    }
    return std::move(out_);
  }

 private:
  void name_branches() {
    for (size_t i = 0; i < found_.size(); ++i) {
      const std::string& name = found_[i].branch.name;
      if (!index_.emplace(name, i).second) {
        problems_.add(found_[i].spec->place,
                      fmt::format("checkpoints: two branches are called `{}`", printable(name)));
      }
      names_.push_back(name);
    }
  }

  // A parent that the manifest has but that found no checkpoint has its own problem already.
  bool is_written(const std::string& name) const {
    return std::any_of(spec_.branches.begin(), spec_.branches.end(),
                       [&](const ManifestBranch& branch) { return branch.name == name; });
  }

  void check_parents() {
    for (const FoundBranch& branch : found_) {
      const std::string& parent = branch.branch.parent;
      if (parent.empty() || index_.contains(parent) || is_written(parent)) {
        continue;
      }
      problems_.add(branch.spec->parent.place,
                    fmt::format("{}: no branch is called `{}`; {}", where_of(branch),
                                printable(parent), suggestion(parent, names_)));
    }
  }

  void check_cycles() {
    for (const FoundBranch& start : found_) {
      std::string way = start.branch.name;
      const FoundBranch* at = &start;
      for (size_t steps = 0; steps <= found_.size(); ++steps) {
        const auto parent = index_.find(at->branch.parent);
        if (at->branch.parent.empty() || parent == index_.end()) {
          break;
        }
        at = &found_[parent->second];
        way += " -> " + at->branch.name;
        if (at == &start) {
          problems_.add(start.spec->parent.place,
                        fmt::format("{}: its parents lead back to it: {}", where_of(start),
                                    printable(way, 400)));
          break;
        }
      }
    }
  }

  void take_checkpoints(FoundBranch& branch) {
    bool told = false;
    for (size_t i = 0; i < branch.checkpoints.size(); ++i) {
      CheckpointCell& cell = branch.checkpoints[i];
      const auto [earlier, added] = taken_.emplace(cell.location, branch.branch.name);
      if (!added && !told) {
        told = true;
        problems_.add(
            branch.places[i],
            fmt::format("{}: {} of {} is in branch `{}` already", where_of(branch),
                        cell.revision.empty() ? "the only revision" : printable(cell.revision),
                        printable(cell.model), printable(earlier->second)));
      }
      out_.checkpoints.push_back(std::move(cell));
    }
  }

  // Uses the step if the fork has one, else tokens. Without an offset a branch begins at its first
  // checkpoint.
  std::optional<size_t> fork_of(size_t child) const {
    const FoundBranch& branch = found_[child];
    const auto parent = index_.find(branch.branch.parent);
    if (branch.branch.parent.empty() || parent == index_.end()) {
      return std::nullopt;
    }
    const ManifestBranch& spec = *branch.spec;
    const CheckpointCell& first = out_.checkpoints[begin_[child]];
    std::optional<int64_t> step = first.step;
    std::optional<int64_t> tokens = first.tokens;
    if (spec.offset) {
      step = spec.offset->step > 0 ? std::optional(spec.offset->step) : std::nullopt;
      tokens = spec.offset->tokens > 0 ? std::optional(spec.offset->tokens) : std::nullopt;
    }
    const size_t begin = begin_[parent->second];
    std::optional<size_t> fork;
    for (size_t i = begin; i < begin + found_[parent->second].checkpoints.size(); ++i) {
      const CheckpointCell& cell = out_.checkpoints[i];
      const bool comparable = (step && cell.step) || (tokens && cell.tokens);
      const bool before =
          step && cell.step ? *cell.step <= *step : comparable && *cell.tokens <= *tokens;
      if (before) {
        fork = i;
      }
    }
    return fork;
  }

  std::vector<FoundBranch> found_;
  const ManifestCheckpoints& spec_;
  Problems& problems_;
  std::map<std::string, size_t> index_;  // branch name -> index
  std::vector<std::string> names_;
  std::vector<size_t> begin_;                 // first checkpoint of each branch
  std::map<std::string, std::string> taken_;  // location -> branch
  Trajectory out_;
};

}  // namespace

Trajectory build_branch_tree(std::vector<FoundBranch> found, const ManifestCheckpoints& spec,
                             Problems& problems) {
  return BranchTreeBuilder(std::move(found), spec, problems).run();
}

}  // namespace quench
