// A model of one block in float64 that transforms change, and whose logits say whether they changed
// more than they may.
#pragma once

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "quench/abi/kind/transform.h"

namespace quench::promises {

// h1 = h0 + down (up x ⊙ σ(gate x)), x a norm of h0;  h2 = h1 + o tanh(q y), y a norm of h1; the
// head reads a norm of h2. A norm absorbs the scales of what reads it, `up` those of `down`, and
// nothing those of `o`. The residual stream can be rotated.
class EditedModel {
 public:
  static constexpr size_t kIds = 16;   // each of which is a token once
  static constexpr size_t kWidth = 8;  // of the stream
  static constexpr size_t kHidden = 12;
  static constexpr uint32_t kGroups = 4;

  EditedModel();
  EditedModel(const EditedModel&) = delete;
  EditedModel& operator=(const EditedModel&) = delete;

  const quench_model_editor& editor() const { return editor_; }
  const quench_group_info& group(uint32_t g) const { return groups_.at(g); }

  // [ids, ids].
  std::vector<double> logits() const;
  // The rows that reach a group: [ids, in_features].
  std::vector<float> rows_of(uint32_t group) const;

  const std::map<std::string, std::vector<double>>& weights() const { return weights_; }
  // (name, how), in order.
  const std::vector<std::pair<std::string, std::string>>& changes() const { return changes_; }
  // What it did that no transform may do, or "".
  const std::string& fault() const { return fault_; }

 private:
  struct Inputs {  // of each group, by token, and the logits
    std::array<std::vector<double>, kGroups> groups;
    std::vector<double> logits;
  };

  Inputs forward() const;
  void set(const std::string& name, std::vector<double> values);
  void divide(uint32_t block, uint32_t group, const std::vector<double>& scale);
  void blame(const std::string& fault);

  std::map<std::string, std::vector<double>> weights_;
  std::map<std::string, std::vector<int64_t>> shapes_;
  std::vector<std::pair<std::string, std::string>> changes_;
  std::string fault_;
  std::vector<quench_parameter_info> parameters_;
  std::array<quench_group_info, kGroups> groups_{};
  quench_model_info info_{};
  quench_block_info block_{};
  const quench_block_info* blocks_[1] = {&block_};
  quench_model_editor editor_{};
};

}  // namespace quench::promises
