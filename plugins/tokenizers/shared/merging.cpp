#include "tokenizers/shared/merging.hpp"

#include <algorithm>
#include <array>
#include <functional>

namespace quench::tokenizers {

namespace {

// Up to this many ids a scan for the lowest rank beats the queue.
constexpr size_t kShort = 40;

void merge_short(const MergeTable& table, std::vector<int32_t>& ids) {
  // merges[i] is what ids[i] and ids[i + 1] make.
  std::array<Merge, kShort> merges;
  size_t count = ids.size();
  for (size_t i = 0; i + 1 < count; ++i) {
    merges[i] = table.find(ids[i], ids[i + 1]);
  }
  while (count > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i) {
      if (merges[i].rank < merges[best].rank) {
        best = i;
      }
    }
    if (merges[best].rank == Merge::kNever) {
      break;
    }
    ids[best] = merges[best].id;
    --count;
    for (size_t i = best + 1; i < count; ++i) {
      ids[i] = ids[i + 1];
      merges[i - 1] = merges[i];
    }
    if (best > 0) {
      merges[best - 1] = table.find(ids[best - 1], ids[best]);
    }
    if (best + 1 < count) {
      merges[best] = table.find(ids[best], ids[best + 1]);
    }
  }
  ids.resize(count);
}

// A doubly linked list of ids in arrays, and a queue of the pairs that merge.
class LongWord {
 public:
  LongWord(const MergeTable& table, std::vector<int32_t>& ids)
      : table_(table), ids_(ids), nodes_(ids.size()) {
    const size_t count = ids.size();
    for (size_t i = 0; i < count; ++i) {
      nodes_[i].previous = static_cast<int32_t>(i) - 1;
      nodes_[i].next = i + 1 < count ? static_cast<int32_t>(i) + 1 : -1;
      refresh(static_cast<int32_t>(i));
    }
    std::make_heap(queue_.begin(), queue_.end(), std::greater<>());
    heap_ready_ = true;
  }

  void merge() {
    while (!queue_.empty()) {
      const uint64_t lowest = queue_.front();
      std::pop_heap(queue_.begin(), queue_.end(), std::greater<>());
      queue_.pop_back();
      const auto left = static_cast<int32_t>(lowest & 0xFFFFFFFFU);
      // Entries of pairs that are gone stay in the queue and are passed over here.
      if (nodes_[index(left)].merge.rank == lowest >> 32) {
        join(left);
      }
    }
    size_t kept = 0;
    for (int32_t node = 0; node >= 0; node = nodes_[index(node)].next) {
      ids_[kept++] = ids_[index(node)];
    }
    ids_.resize(kept);
  }

 private:
  struct Node {
    int32_t previous;
    int32_t next;
    Merge merge;  // With the next one.
  };

  static size_t index(int32_t node) { return static_cast<size_t>(node); }

  void join(int32_t left) {
    Node& node = nodes_[index(left)];
    Node& gone = nodes_[index(node.next)];
    ids_[index(left)] = node.merge.id;
    gone.merge = {};
    node.next = gone.next;
    if (node.next >= 0) {
      nodes_[index(node.next)].previous = left;
    }
    refresh(left);
    if (node.previous >= 0) {
      refresh(node.previous);
    }
  }

  void refresh(int32_t left) {
    Node& node = nodes_[index(left)];
    node.merge = node.next < 0 ? Merge{} : table_.find(ids_[index(left)], ids_[index(node.next)]);
    if (node.merge.rank == Merge::kNever) {
      return;
    }
    // By rank, then by position.
    queue_.push_back(static_cast<uint64_t>(node.merge.rank) << 32 | static_cast<uint32_t>(left));
    if (heap_ready_) {
      std::push_heap(queue_.begin(), queue_.end(), std::greater<>());
    }
  }

  const MergeTable& table_;
  std::vector<int32_t>& ids_;
  std::vector<Node> nodes_;
  std::vector<uint64_t> queue_;
  bool heap_ready_ = false;
};

}  // namespace

void merge_all(const MergeTable& table, std::vector<int32_t>& ids) {
  if (ids.size() > kShort) {
    LongWord(table, ids).merge();
  } else if (ids.size() > 1) {
    merge_short(table, ids);
  }
}

}  // namespace quench::tokenizers
