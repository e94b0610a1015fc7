// An average of checkpoints as a source of weights. It stores nothing: every read averages anew.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/tensor_source.hpp"
#include "core/inputs/experiment/experiment.hpp"
#include "core/plugin/handles/averaging_handle.hpp"

namespace quench {

struct AverageMember {
  std::string name;  // revision or path, for messages and for the plugin
  std::optional<int64_t> step;
  std::optional<int64_t> tokens;
  std::shared_ptr<const TensorSource> source;
};

// Indices of the members sorted by step, tokens and name. Order-independent schemes sum in this
// order, so the order of the arguments cannot change a bit of the result.
std::vector<size_t> canonical_order(const std::vector<AverageMember>& members);

struct AverageOptions {
  quench_dtype dtype = kFloat32;  // element type of the averaged tensors
  // One weight per member, found by a search; members of weight 0 are left out. Empty: the scheme
  // decides the weights.
  std::vector<double> weights = {};
  // Threads that one large read may use. More than 1 only where host tasks may run.
  uint32_t threads = 1;
};

// Names, order and tied weights come from the first member (tied only if tied in all members). The
// plugin averages floating tensors in float64, in chunks and in the members' order, and rounds
// once; all other tensors (integer and boolean buffers) are the last member's. Reading a range
// reads the same range of each member and caches nothing. [thread-safe]
class AverageSource final : public TensorSource {
 public:
  // Throws Error(INVALID_ARGUMENT) naming tensor, members and shapes if the members' tensors
  // differ, and what the plugin throws. `catalog` must outlive the source.
  AverageSource(Catalog& catalog, const AveragingCell& averaging,
                std::vector<AverageMember> members, AverageOptions options = {});
  ~AverageSource() override;

  // The members with non-zero weight in the order of summation; the index of each in the
  // constructor's list; and the index of a tensor in a member's source.
  const std::vector<AverageMember>& members() const { return members_; }
  const std::vector<size_t>& order() const { return order_; }
  uint64_t index_in(size_t member, uint64_t index) const { return index_[member][index]; }

  // For callers that have already read the members: averages `elements` elements of a floating
  // tensor from each member's stored elements, in the order of members(). [thread-safe]
  void average_stored(uint64_t index, std::span<const char* const> stored, uint64_t elements,
                      void* destination) const;

 private:
  // One thread's plugin instance, whose members are set, and its buffers.
  struct Worker;
  class Lease;

  void check_tensors();
  void add_tensors();
  void order_members();
  std::unique_ptr<Worker> make_worker() const;
  void read_elements(uint64_t index, uint64_t first, uint64_t elements,
                     void* destination) const override;
  // Averages chunk by chunk; `stored(member, from, count)` returns elements of a member.
  template <typename Stored>
  void average(Worker& worker, uint64_t index, uint64_t elements, char* destination,
               Stored stored) const;

  Catalog& catalog_;
  const AveragingCell averaging_;
  std::vector<AverageMember> members_;  // in the order of summation
  AverageOptions options_;
  std::vector<size_t> order_;
  std::shared_ptr<const TensorSource> last_;          // the source whose buffers are copied
  std::vector<quench_averaging_member> plugin_view_;  // view of members_ for the plugin
  std::vector<std::vector<uint64_t>> index_;          // [member][tensor]: index in its source
  std::vector<uint64_t> last_index_;                  // [tensor]: index in last_
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Worker>> idle_;
};

// Returns the weights that a searching scheme (AveragingHandle::searches) finds best. `score`
// evaluates a set of weights; lower is better. Weights are in the order of `members`.
std::vector<double> search_average(
    Catalog& catalog, const AveragingCell& averaging, const std::vector<AverageMember>& members,
    const std::function<double(const std::shared_ptr<const TensorSource>&)>& score,
    const AverageOptions& options = {});

}  // namespace quench
