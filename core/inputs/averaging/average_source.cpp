#include "core/inputs/averaging/average_source.hpp"

#include <algorithm>
#include <exception>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/arithmetic/convert_float.hpp"
#include "core/checkpoint/content_hash.hpp"
#include "core/error.hpp"
#include "core/plugin/services/service_tables.hpp"

namespace quench {

namespace {

// Float64 values and sum of a chunk, and its stored elements, stay in one core's private cache.
constexpr uint64_t kChunk = uint64_t{1} << 14;
// A call of a process of its own costs as much as a chunk of that size, so it gets more at a time.
constexpr uint64_t kChunkInWorker = kChunk * 4;
static_assert(kChunkInWorker <= QUENCH_AVERAGING_CHUNK);
static_assert(kHashBlock % kChunkInWorker == 0);

quench_averaging_member plugin_member(const AverageMember& member) {
  return {sizeof(quench_averaging_member), member.name.c_str(), member.step.value_or(-1),
          member.tokens.value_or(-1)};
}

std::vector<quench_averaging_member> plugin_members(const std::vector<AverageMember>& members) {
  std::vector<quench_averaging_member> out;
  std::transform(members.begin(), members.end(), std::back_inserter(out), plugin_member);
  return out;
}

// The first tensor of the source that shares storage with this one.
uint64_t storage_of(const TensorSource& source, uint64_t index) {
  while (source.info(index).shared_with != index) {
    index = source.info(index).shared_with;
  }
  return index;
}

std::string description_of(const AveragingCell& averaging,
                           const std::vector<AverageMember>& members) {
  return fmt::format("{} of {} ... {}", averaging.label, printable(members.front().name),
                     printable(members.back().name));
}

}  // namespace

std::vector<size_t> canonical_order(const std::vector<AverageMember>& members) {
  std::vector<size_t> order(members.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tie(members[a].step, members[a].tokens, members[a].name) <
           std::tie(members[b].step, members[b].tokens, members[b].name);
  });
  return order;
}

struct AverageSource::Worker {
  AveragingHandle handle;
  uint64_t chunk;                         // values at a time
  std::vector<std::vector<char>> stored;  // [member]: the elements of one task
  std::vector<double> values = std::vector<double>(chunk);
};

// Borrows a worker of the source for its own lifetime.
class AverageSource::Lease {
 public:
  explicit Lease(const AverageSource& source) : source_(source) {
    const std::lock_guard lock(source_.mutex_);
    if (source_.idle_.empty()) {
      worker_ = source_.make_worker();
    } else {
      worker_ = std::move(source_.idle_.back());
      source_.idle_.pop_back();
    }
  }
  ~Lease() {
    // A chunk that failed half-way does no harm: member 0 starts the next one.
    const std::lock_guard lock(source_.mutex_);
    source_.idle_.push_back(std::move(worker_));
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  Worker& operator*() { return *worker_; }

 private:
  const AverageSource& source_;
  std::unique_ptr<Worker> worker_;
};

AverageSource::AverageSource(Catalog& catalog, const AveragingCell& averaging,
                             std::vector<AverageMember> members, AverageOptions options)
    : TensorSource(members.empty() ? averaging.label : description_of(averaging, members)),
      catalog_(catalog),
      averaging_(averaging),
      members_(std::move(members)),
      options_(std::move(options)) {
  if (members_.empty() || !is_floating(options_.dtype) ||
      (!options_.weights.empty() && options_.weights.size() != members_.size())) {
    fail(QUENCH_INVALID_ARGUMENT,
         "averaging {}: {} members, {} weights, element type {}; wanted members, one weight for "
         "each or none, and a floating type",
         averaging_.label, members_.size(), options_.weights.size(), dtype_name(options_.dtype));
  }
  last_ = members_.back().source;
  check_tensors();
  order_members();
  add_tensors();
  idle_.push_back(make_worker());  // so that the plugin reports errors now
}

AverageSource::~AverageSource() = default;

void AverageSource::check_tensors() {
  const AverageMember& first = members_.front();
  for (const AverageMember& member : members_) {
    const auto differ = [&](const std::string& tensor, const std::string& here,
                            const std::string& there) {
      fail(QUENCH_INVALID_ARGUMENT, "averaging {}: tensor '{}' is {} in {} and {} in {}",
           averaging_.label, printable(tensor), here, printable(first.name, 400), there,
           printable(member.name, 400));
    };
    for (uint64_t i = 0; i < first.source->count(); ++i) {
      const TensorInfo& wanted = first.source->info(i);
      const auto found = member.source->find(wanted.name);
      if (!found) {
        differ(wanted.name, shape_text(wanted.shape), "missing");
      }
      const TensorInfo& got = member.source->info(*found);
      if (got.shape != wanted.shape) {
        differ(wanted.name, shape_text(wanted.shape), shape_text(got.shape));
      }
      if (is_floating(got.dtype) != is_floating(wanted.dtype)) {
        differ(wanted.name, dtype_name(wanted.dtype), dtype_name(got.dtype));
      }
    }
    for (uint64_t i = 0; i < member.source->count(); ++i) {
      const TensorInfo& got = member.source->info(i);
      if (!first.source->find(got.name)) {
        differ(got.name, "missing", shape_text(got.shape));
      }
    }
  }
}

// Sorts the members with non-zero weight into the order of summation.
void AverageSource::order_members() {
  std::vector<size_t> order(members_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const AveragingHandle handle(catalog_, *averaging_.plugin, averaging_.parameters);
  if ((handle.needs() & QUENCH_AVERAGING_ANY_ORDER) != 0) {
    order = canonical_order(members_);
  }
  std::vector<AverageMember> members;
  std::vector<double> weights;
  for (const size_t i : order) {
    if (!options_.weights.empty()) {
      if (options_.weights[i] == 0) {
        continue;
      }
      weights.push_back(options_.weights[i]);
    }
    members.push_back(members_[i]);
    order_.push_back(i);
  }
  members_ = std::move(members);
  options_.weights = std::move(weights);
  plugin_view_ = plugin_members(members_);
}

void AverageSource::add_tensors() {
  const TensorSource& first = *members_.front().source;
  index_.resize(members_.size());
  for (uint64_t i = 0; i < first.count(); ++i) {
    TensorInfo tensor = first.info(i);
    const uint64_t storage = storage_of(first, i);
    bool tied = storage != i;
    for (size_t m = 0; m < members_.size(); ++m) {
      const TensorSource& source = *members_[m].source;
      index_[m].push_back(source.index_of(tensor.name));
      tied = tied && storage_of(source, index_[m][i]) == storage_of(source, index_[m][storage]);
    }
    last_index_.push_back(last_->index_of(tensor.name));
    tensor.shared_with = tied ? storage : i;
    tensor.dtype =
        is_floating(tensor.dtype) ? options_.dtype : last_->info(last_index_.back()).dtype;
    add(std::move(tensor));
  }
}

std::unique_ptr<AverageSource::Worker> AverageSource::make_worker() const {
  const bool in_worker = catalog_.placed(*averaging_.plugin).placement == Placement::kOwn;
  auto worker = std::make_unique<Worker>(
      Worker{AveragingHandle(catalog_, *averaging_.plugin, averaging_.parameters),
             in_worker ? kChunkInWorker : kChunk,
             {}});
  if (options_.weights.empty()) {
    worker->handle.begin(plugin_view_);
  } else {
    worker->handle.begin(plugin_view_, options_.weights);
  }
  return worker;
}

template <typename Stored>
void AverageSource::average(Worker& worker, uint64_t index, uint64_t elements, char* destination,
                            Stored stored) const {
  const uint64_t size = dtype_size(options_.dtype);
  for (uint64_t done = 0; done < elements; done += worker.chunk) {
    const uint64_t count = std::min(worker.chunk, elements - done);
    const std::span<double> values(worker.values.data(), count);
    for (size_t m = 0; m < members_.size(); ++m) {
      const quench_dtype dtype = members_[m].source->info(index_[m][index]).dtype;
      to_float64(dtype, stored(m, done, count), count, values.data());
      worker.handle.accumulate(m, values);
    }
    worker.handle.finish(values);
    from_float64(values.data(), count, options_.dtype, destination + done * size);
  }
}

void AverageSource::average_stored(uint64_t index, std::span<const char* const> stored,
                                   uint64_t elements, void* destination) const {
  Lease lease(*this);
  average(*lease, index, elements, static_cast<char*>(destination),
          [&](size_t member, uint64_t from, uint64_t) {
            const TensorSource& source = *members_[member].source;
            return stored[member] + from * dtype_size(source.info(index_[member][index]).dtype);
          });
}

namespace {

// A read whose tasks may throw; keeps the exception of the first task in order.
struct ParallelRead {
  std::function<void(uint64_t task)> read;
  std::mutex mutex{};
  std::exception_ptr thrown{};
  uint64_t failed = UINT64_MAX;

  static quench_status run(void* user, uint64_t begin, uint64_t) noexcept {
    auto& self = *static_cast<ParallelRead*>(user);
    try {
      self.read(begin);
      return QUENCH_OK;
    } catch (...) {
      const std::lock_guard lock(self.mutex);
      if (begin < self.failed) {
        self.failed = begin;
        self.thrown = std::current_exception();
      }
      return QUENCH_INTERNAL;
    }
  }
};

}  // namespace

void AverageSource::read_elements(uint64_t index, uint64_t first, uint64_t elements,
                                  void* destination) const {
  if (!is_floating(info(index).dtype)) {
    last_->read(last_index_[index], first, elements, destination);
    return;
  }
  auto* bytes = static_cast<char*>(destination);
  const uint64_t size = dtype_size(options_.dtype);
  const uint64_t first_block = first / kHashBlock;
  // One task averages what is wanted of one block, since members are held to hashes of blocks.
  ParallelRead work{[&](uint64_t task) {
    Lease lease(*this);
    Worker& worker = *lease;
    const uint64_t block = (first_block + task) * kHashBlock;
    const uint64_t begin = std::max(first, block);
    const uint64_t count = std::min(first + elements, block + kHashBlock) - begin;
    worker.stored.resize(members_.size());
    average(worker, index, count, bytes + (begin - first) * size,
            [&](size_t member, uint64_t from, uint64_t) {
              const TensorSource& source = *members_[member].source;
              const uint64_t at = index_[member][index];
              const uint64_t stored_size = dtype_size(source.info(at).dtype);
              std::vector<char>& stored = worker.stored[member];
              if (from == 0) {
                stored.resize(count * stored_size);
                source.read(at, begin, count, stored.data());
              }
              return stored.data() + from * stored_size;
            });
  }};
  const uint64_t tasks = (first + elements + kHashBlock - 1) / kHashBlock - first_block;
  const quench_status status = parallel_for(options_.threads, tasks, 1, ParallelRead::run, &work);
  if (work.thrown) {
    std::rethrow_exception(work.thrown);
  }
  if (status != QUENCH_OK) {
    fail(status, "{}: averaging failed", description());
  }
}

std::vector<double> search_average(
    Catalog& catalog, const AveragingCell& averaging, const std::vector<AverageMember>& members,
    const std::function<double(const std::shared_ptr<const TensorSource>&)>& score,
    const AverageOptions& options) {
  AveragingHandle handle(catalog, *averaging.plugin, averaging.parameters);
  std::vector<size_t> order(members.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if ((handle.needs() & QUENCH_AVERAGING_ANY_ORDER) != 0) {
    order = canonical_order(members);
  }
  std::vector<AverageMember> ordered;
  ordered.reserve(order.size());
  for (const size_t i : order) {
    ordered.push_back(members[i]);
  }
  const std::vector<double> found =
      handle.search(plugin_members(ordered), [&](std::span<const double> weights) {
        AverageOptions tried = options;
        tried.weights.assign(weights.begin(), weights.end());
        return score(std::make_shared<AverageSource>(catalog, averaging, ordered, tried));
      });
  std::vector<double> weights(members.size());
  for (size_t i = 0; i < order.size(); ++i) {
    weights[order[i]] = found[i];
  }
  return weights;
}

}  // namespace quench
