#include "run/manifest/missing_averages.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/error.hpp"

namespace quench {

namespace {

constexpr size_t kNamed = 3;

std::string names_of(const std::vector<std::string>& missing) {
  const std::vector<std::string> first(
      missing.begin(),
      missing.begin() + static_cast<std::ptrdiff_t>(std::min(kNamed, missing.size())));
  std::string out = fmt::format("{}", fmt::join(first, ", "));
  if (missing.size() > kNamed) {
    out += fmt::format(" and {} more", missing.size() - kNamed);
  }
  return printable(out, 4096);
}

}  // namespace

void MissingAverages::begin_branch(const std::string& name) {
  branches_.push_back({name, false, {}, ""});
}

void MissingAverages::found() {
  BranchGaps& branch = branches_.back();
  if (!branch.any) {  // until now the window was filling
    branch.missing.clear();
  }
  branch.any = true;
}

void MissingAverages::missing(const std::string& checkpoint, const std::string& reason) {
  branches_.back().missing.push_back(checkpoint);
  branches_.back().reason = reason;
}

std::vector<std::string> MissingAverages::lines() const {
  std::vector<std::string> out;
  for (const BranchGaps& branch : branches_) {
    if (branch.missing.empty()) {
      continue;
    }
    out.push_back(fmt::format("averaging {}: no average at {}{}: {}", printable(label_),
                              branch.name.empty() ? "" : printable(branch.name) + " ",
                              names_of(branch.missing), printable(branch.reason, 4096)));
  }
  return out;
}

}  // namespace quench
