#include "tokenizers/shared/merging.hpp"

#include <catch2/catch.hpp>
#include <map>
#include <random>

namespace quench::tokenizers {

namespace {

using Pair = std::pair<int32_t, int32_t>;
using Ids = std::vector<int32_t>;

// The definition, word by word: the lowest rank, of equals the leftmost, again and again.
Ids merge_by_definition(const std::map<Pair, Merge>& merges, Ids ids) {
  while (true) {
    Merge best;
    size_t at = 0;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      const auto found = merges.find({ids[i], ids[i + 1]});
      if (found != merges.end() && found->second.rank < best.rank) {
        best = found->second;
        at = i;
      }
    }
    if (best.rank == Merge::kNever) {
      return ids;
    }
    ids[at] = best.id;
    ids.erase(ids.begin() + static_cast<ptrdiff_t>(at) + 1);
  }
}

}  // namespace

TEST_CASE("merging: short and long words follow the definition", "[tokenizers]") {
  std::mt19937 random(7);
  const auto below = [&](int limit) {
    return static_cast<int32_t>(random() % static_cast<unsigned>(limit));
  };
  for (int round = 0; round < 60; ++round) {
    const int letters = 2 + below(3);
    std::map<Pair, Merge> merges;
    const uint32_t count = 1 + static_cast<uint32_t>(below(40));
    MergeTable table(count);
    for (uint32_t rank = 0; rank < count; ++rank) {
      const auto id = letters + static_cast<int32_t>(rank);
      const Pair pair{below(id), below(id)};
      merges[pair] = {rank, id};
      table.insert(pair.first, pair.second, {rank, id});
    }
    for (const size_t size : {0, 1, 2, 7, 39, 40, 41, 200}) {
      Ids ids(size);
      for (int32_t& id : ids) {
        id = below(letters);
      }
      Ids merged = ids;
      merge_all(table, merged);
      CHECK(merged == merge_by_definition(merges, ids));
    }
  }
}

}  // namespace quench::tokenizers
