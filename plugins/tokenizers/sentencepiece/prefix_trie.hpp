// All entries that begin where one looks, one byte at a time.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace quench::tokenizers {

class PrefixTrie {
 public:
  static constexpr uint32_t kRoot = 0;
  static constexpr uint32_t kNowhere = 0xFFFFFFFF;
  // 335 MB; a vocabulary of a million pieces has about a third of it.
  static constexpr size_t kMostNodes = size_t{1} << 23;

  PrefixTrie() : nodes_(1) {}
  // Entries are not empty and differ; values are not negative. Linear in their bytes. Throws
  // Error(RESOURCE_EXHAUSTED) past kMostNodes.
  explicit PrefixTrie(std::vector<std::pair<std::string_view, int32_t>> entries);

  bool empty() const { return nodes_.size() == 1; }

  // The node behind `byte`, or kNowhere.
  uint32_t child(uint32_t node, char byte) const {
    const Node& at = nodes_[node];
    const auto value = static_cast<unsigned char>(byte);
    const uint64_t word = at.children[value >> 6];
    const uint64_t bit = uint64_t{1} << (value & 63);
    if ((word & bit) == 0) {
      return kNowhere;
    }
    auto before = static_cast<uint32_t>(std::popcount(word & (bit - 1)));
    for (int i = 0; i < value >> 6; ++i) {
      before += static_cast<uint32_t>(std::popcount(at.children[static_cast<size_t>(i)]));
    }
    return at.first_child + before;
  }

  // The id of the entry that ends here, or -1.
  int32_t value(uint32_t node) const { return nodes_[node].value; }

  // The longest entry with which `text` begins; length 0 if there is none.
  struct Found {
    size_t length = 0;
    int32_t value = -1;
  };
  Found longest(std::string_view text) const {
    Found found;
    uint32_t node = kRoot;
    for (size_t i = 0; i < text.size(); ++i) {
      node = child(node, text[i]);
      if (node == kNowhere) {
        break;
      }
      if (value(node) >= 0) {
        found = {i + 1, value(node)};
      }
    }
    return found;
  }

 private:
  // Children follow each other in the order of their bytes.
  struct Node {
    std::array<uint64_t, 4> children{};
    uint32_t first_child = 0;
    int32_t value = -1;
  };

  std::vector<Node> nodes_;
};

}  // namespace quench::tokenizers
