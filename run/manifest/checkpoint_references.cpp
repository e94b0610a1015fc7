// Resolves a manifest's names of checkpoints: branch@last, branch@step600.
#include <algorithm>
#include <set>

#include "core/base/config/amount.hpp"
#include "core/error.hpp"
#include "core/names.hpp"
#include "run/manifest/branches.hpp"
#include "run/manifest/revision_pattern.hpp"

namespace quench {

namespace {

// The branches of that name: one, or all that match if the name has captures.
std::vector<const Branch*> require_branches(const Trajectory& trajectory, const std::string& name,
                                            const std::string& reference) {
  const RevisionPattern pattern(name);
  std::vector<const Branch*> found;
  std::vector<std::string> names;
  for (const Branch& branch : trajectory.branches) {
    if (pattern.match(branch.name)) {
      found.push_back(&branch);
    }
    names.push_back(branch.name);
  }
  if (!found.empty()) {
    return found;
  }
  if (names == std::vector<std::string>{""}) {
    fail(QUENCH_INVALID_ARGUMENT, "`{}`: the only branch has no name; wanted the revision alone",
         printable(reference));
  }
  fail(QUENCH_INVALID_ARGUMENT, "`{}`: no branch is called `{}`; {}", printable(reference),
       printable(name), suggestion(name, names));
}

// The number after `word` in `text`; nothing if the text has another form.
std::optional<int64_t> number_behind(const std::string& word, const std::string& text) {
  return text.starts_with(word) ? parse_amount(std::string_view(text).substr(word.size()))
                                : std::nullopt;
}

// First and last index of a branch's checkpoints; a branch has at least one.
std::pair<size_t, size_t> extent(const Trajectory& trajectory, const std::string& branch) {
  const auto in_branch = [&](const CheckpointCell& cell) { return cell.branch == branch; };
  const auto first =
      std::find_if(trajectory.checkpoints.begin(), trajectory.checkpoints.end(), in_branch);
  const auto end = std::find_if_not(first, trajectory.checkpoints.end(), in_branch);
  return {static_cast<size_t>(first - trajectory.checkpoints.begin()),
          static_cast<size_t>(end - trajectory.checkpoints.begin()) - 1};
}

// The checkpoint of `branch` that `which` names: a revision, first, last, a step or tokens.
size_t find_in_branch(const Trajectory& trajectory, const Branch& branch, const std::string& which,
                      const std::string& reference) {
  const auto [first, last] = extent(trajectory, branch.name);
  std::vector<std::string> revisions = {"first", "last"};
  for (size_t i = first; i <= last; ++i) {
    if (trajectory.checkpoints[i].revision == which) {
      return i;
    }
    revisions.push_back(trajectory.checkpoints[i].revision);
  }
  if (which == "first" || which == "last") {
    return which == "first" ? first : last;
  }
  const std::optional<int64_t> step = number_behind("step", which);
  const std::optional<int64_t> tokens = number_behind("tokens", which);
  for (size_t i = first; i <= last && (step || tokens); ++i) {
    const CheckpointCell& cell = trajectory.checkpoints[i];
    if ((step && cell.step == step) || (tokens && cell.tokens == tokens)) {
      return i;
    }
  }
  if (revisions.back().empty()) {
    fail(QUENCH_INVALID_ARGUMENT,
         "`{}`: no such checkpoint; the model itself is the only one, `last`",
         printable(reference));
  }
  const std::string near = nearest(which, revisions);
  fail(QUENCH_INVALID_ARGUMENT, "`{}`: no such checkpoint{}; {}", printable(reference),
       branch.name.empty() ? "" : fmt::format(" in branch `{}`", printable(branch.name)),
       near.empty() ? fmt::format("there are {}: {} to {}", last - first + 1,
                                  printable(revisions[2]), printable(revisions.back()))
                    : fmt::format("did you mean `{}`?", near));
}

}  // namespace

std::vector<size_t> find_references(const Trajectory& trajectory, const std::string& reference) {
  const size_t at = reference.find('@');
  if (at == std::string::npos) {
    if (trajectory.branches.size() != 1) {
      fail(QUENCH_INVALID_ARGUMENT, "`{}`: wanted branch@revision, or branch@last",
           printable(reference));
    }
    return {find_in_branch(trajectory, trajectory.branches.front(), reference, reference)};
  }
  std::vector<size_t> out;
  for (const Branch* branch : require_branches(trajectory, reference.substr(0, at), reference)) {
    out.push_back(find_in_branch(trajectory, *branch, reference.substr(at + 1), reference));
  }
  return out;
}

std::vector<size_t> find_places(const Trajectory& trajectory, const std::vector<PlacedText>& at,
                                const std::string& where, Problems& problems) {
  std::set<size_t> found;
  for (const PlacedText& place : at) {
    if (place.value == "forks") {
      const size_t before = found.size();
      for (const Branch& branch : trajectory.branches) {
        if (branch.fork) {
          found.insert(*branch.fork);
        }
      }
      const auto has_fork = [](const Branch& branch) { return branch.fork.has_value(); };
      if (found.size() == before &&
          std::none_of(trajectory.branches.begin(), trajectory.branches.end(), has_fork)) {
        problems.add(place.place, fmt::format("{}: `forks`: no branch has a `parent` with "
                                              "checkpoints before it",
                                              where));
      }
      continue;
    }
    if (place.value == "first" || place.value == "last") {
      for (const Branch& branch : trajectory.branches) {
        const auto [first, last] = extent(trajectory, branch.name);
        found.insert(place.value == "first" ? first : last);
      }
      continue;
    }
    try {
      const std::vector<size_t> named = find_references(trajectory, place.value);
      found.insert(named.begin(), named.end());
    } catch (const Error& error) {
      problems.add(place.place, error, where + ": ");
    }
  }
  return {found.begin(), found.end()};
}

}  // namespace quench
