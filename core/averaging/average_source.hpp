// An average of checkpoints as a set of weights: nothing is stored, every read averages anew.
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
#include "core/experiment/experiment.hpp"
#include "core/plugin/averaging_handle.hpp"

namespace quench {

struct AverageMember {
  std::string name;  // for messages and for the plugin: revision or path
  std::optional<int64_t> step;
  std::optional<int64_t> tokens;
  std::shared_ptr<const TensorSource> source;
};

// Indices of the members by step, tokens and name: the order in which schemes whose result does not
// depend on the order sum them, so that the order in which they were given leaves no trace.
std::vector<size_t> canonical_order(const std::vector<AverageMember>& members);

struct AverageOptions {
  quench_dtype dtype = kFloat32;  // of the averaged tensors
  // One per member, as a search found them; members of weight 0 are left out. Empty: the scheme
  // itself says how the members weigh.
  std::vector<double> weights = {};
  // Threads that one large read may use. More than 1 only where host tasks may run.
  uint32_t threads = 1;
};

// Names, order and ties are the first member's (ties only where all members have them). Floating
// tensors are averaged in float64 by the plugin, in chunks and in the members' order, and rounded
// once; all others (integer and boolean buffers) are the last member's. A read of a range reads
// this range of each member and keeps nothing. [thread-safe]
class AverageSource final : public TensorSource {
 public:
  // Throws Error(INVALID_ARGUMENT) naming tensor, members and shapes when the members do not have
  // the same tensors, and what the plugin throws. `catalog` must outlive the source.
  AverageSource(Catalog& catalog, const AveragingCell& averaging,
                std::vector<AverageMember> members, AverageOptions options = {});
  ~AverageSource() override;

  // The members in the order in which they are summed, those of weight 0 left out; which of the
  // constructor's members each one is; and where a tensor lies in one's source.
  const std::vector<AverageMember>& members() const { return members_; }
  const std::vector<size_t>& order() const { return order_; }
  uint64_t index_in(size_t member, uint64_t index) const { return index_[member][index]; }

  // For who reads the members anyway: the average of `elements` elements of a floating tensor, from
  // each member's elements as they are stored, members in the order of members(). [thread-safe]
  void average_stored(uint64_t index, std::span<const char* const> stored, uint64_t elements,
                      void* destination) const;

 private:
  // One thread's plugin instance, with its members fixed, and buffers.
  struct Worker;
  class Lease;

  void check_tensors();
  void add_tensors();
  void order_members();
  std::unique_ptr<Worker> make_worker() const;
  void read_elements(uint64_t index, uint64_t first, uint64_t elements,
                     void* destination) const override;
  // Averages chunk by chunk; `stored(member, from, count)` gives elements of a member.
  template <typename Stored>
  void average(Worker& worker, uint64_t index, uint64_t elements, char* destination,
               Stored stored) const;

  Catalog& catalog_;
  const AveragingCell averaging_;
  std::vector<AverageMember> members_;  // as they are averaged
  AverageOptions options_;
  std::vector<size_t> order_;
  std::shared_ptr<const TensorSource> last_;          // whose buffers are copied
  std::vector<quench_averaging_member> plugin_view_;  // of members_
  std::vector<std::vector<uint64_t>> index_;          // [member][tensor]: index in its source
  std::vector<uint64_t> last_index_;                  // [tensor]: index in last_
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Worker>> idle_;
};

// The weights of the members that a searching scheme (AveragingHandle::searches) likes best.
// `score` measures a set of weights, lower is better. Weights are in the order of `members`.
std::vector<double> search_average(
    Catalog& catalog, const AveragingCell& averaging, const std::vector<AverageMember>& members,
    const std::function<double(const std::shared_ptr<const TensorSource>&)>& score,
    const AverageOptions& options = {});

}  // namespace quench
