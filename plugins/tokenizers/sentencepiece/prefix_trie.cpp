#include "tokenizers/sentencepiece/prefix_trie.hpp"

#include <algorithm>
#include <deque>

#include "tokenizers/shared/message.hpp"

namespace quench::tokenizers {

PrefixTrie::PrefixTrie(std::vector<std::pair<std::string_view, int32_t>> entries) : nodes_(1) {
  std::sort(entries.begin(), entries.end());
  // The entries below a node are neighbours that agree in their first `depth` bytes.
  struct Range {
    size_t begin;
    size_t end;
    size_t depth;
    uint32_t node;
  };
  std::deque<Range> waiting{{0, entries.size(), 0, kRoot}};
  for (; !waiting.empty(); waiting.pop_front()) {
    Range range = waiting.front();
    if (range.begin < range.end && entries[range.begin].first.size() == range.depth) {
      nodes_[range.node].value = entries[range.begin++].second;
    }
    nodes_[range.node].first_child = static_cast<uint32_t>(nodes_.size());
    while (range.begin < range.end) {
      const char byte = entries[range.begin].first[range.depth];
      size_t end = range.begin;
      while (end < range.end && entries[end].first[range.depth] == byte) {
        ++end;
      }
      const auto value = static_cast<unsigned char>(byte);
      nodes_[range.node].children[value >> 6] |= uint64_t{1} << (value & 63);
      if (nodes_.size() >= kMostNodes) {
        fail(QUENCH_RESOURCE_EXHAUSTED, "the pieces need more than {} trie nodes", kMostNodes);
      }
      waiting.push_back({range.begin, end, range.depth + 1, static_cast<uint32_t>(nodes_.size())});
      nodes_.emplace_back();
      range.begin = end;
    }
  }
}

}  // namespace quench::tokenizers
