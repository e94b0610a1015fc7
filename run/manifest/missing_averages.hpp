// The checkpoints at which a scheme of averaging defines no average, for people: a window that has
// not filled yet is nothing to tell, a gap behind it is.
#pragma once

#include <string>
#include <vector>

namespace quench {

class MissingAverages {
 public:
  explicit MissingAverages(std::string label) : label_(std::move(label)) {}

  // Checkpoints are given branch by branch, in their order.
  void begin_branch(const std::string& name);
  void found();
  void missing(const std::string& checkpoint, const std::string& reason);

  // A line for each branch with a gap, or without any average.
  std::vector<std::string> lines() const;

 private:
  struct BranchGaps {
    std::string name;
    bool any = false;                  // has an average
    std::vector<std::string> missing;  // behind the first average; all if there is none
    std::string reason;                // of the last one
  };
  std::string label_;
  std::vector<BranchGaps> branches_;
};

}  // namespace quench
