#include "core/arithmetic/prefix_batches.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "core/arithmetic/micro_batches.hpp"
#include "core/error.hpp"

namespace quench {

namespace {

constexpr int64_t kNone = -1;

// One sequence of the planned batch: the nodes of its prefix, and those of each alternative.
struct PackedRow {
  std::vector<uint64_t> prefix;
  std::vector<std::vector<uint64_t>> alternatives;
  uint64_t length = 0;
};

class Forest {
 public:
  Forest(const quench_score_args& args, const PrefixShape& shape)
      : args_(args), shape_(shape), nodes_(args.rows) {
    for (uint64_t row = 0; row < args.rows; ++row) {
      link(row);
    }
    for (uint64_t row = args.rows; row-- > 0;) {  // children before parents
      weigh(row);
    }
  }

  std::vector<PackedRow> rows() {
    std::vector<PackedRow> out;
    std::vector<uint64_t> open;
    for (uint64_t row = 0; row < nodes_.size(); ++row) {
      if (nodes_[row].parent == kNone) {
        open.push_back(row);
      }
    }
    while (!open.empty()) {
      const uint64_t row = open.back();
      open.pop_back();
      std::vector<std::vector<uint64_t>> alternatives;
      for (const uint64_t child : nodes_[row].children) {
        if (nodes_[child].below > 0 && nodes_[row].descend) {
          open.push_back(child);
        } else {
          collect(child, alternatives);
        }
      }
      const bool seen_below = nodes_[row].descend && alternatives.empty();
      if (!seen_below) {
        pack(row, alternatives, out);
      }
    }
    return out;
  }

  uint64_t fed(uint64_t row) const { return nodes_[row].fed; }
  uint64_t first_position(uint64_t row) const { return nodes_[row].position; }
  int64_t parent(uint64_t row) const { return nodes_[row].parent; }

 private:
  struct Node {
    int64_t parent = kNone;
    std::vector<uint64_t> children;
    uint64_t position = 0;  // of its first id
    uint64_t fed = 0;       // ids that go through the model
    // Paths below the node that feed something, and their ids, without the node's own.
    uint64_t below = 0;
    uint64_t below_ids = 0;
    double cost = 0;       // of its subtree, with the path from the root as prefix
    bool descend = false;  // cheaper with prefixes further down
  };

  uint64_t length(uint64_t row) const { return args_.starts[row + 1] - args_.starts[row]; }
  // Length of the whole path from the root, with all its ids.
  uint64_t prefix(uint64_t row) const { return nodes_[row].position + nodes_[row].fed; }

  void link(uint64_t row) {
    Node& node = nodes_[row];
    node.parent = args_.parents[row];
    if (node.parent != kNone) {
      if (node.parent < 0 || static_cast<uint64_t>(node.parent) >= row) {
        fail(QUENCH_INVALID_ARGUMENT, "score: row {}: its parent is {}, wanted an earlier row", row,
             node.parent);
      }
      const auto above = static_cast<uint64_t>(node.parent);
      nodes_[above].children.push_back(row);
      node.position = nodes_[above].position + length(above);
    }
  }

  void weigh(uint64_t row) {
    Node& node = nodes_[row];
    const bool leaf = node.children.empty();
    node.fed = leaf ? std::max<uint64_t>(length(row), 1) - 1 : length(row);
    if (prefix(row) > static_cast<uint64_t>(shape_.max_positions)) {
      fail(QUENCH_INVALID_ARGUMENT,
           "score: row {}: {} tokens with those before it, more than the {} positions of the model",
           row, prefix(row), shape_.max_positions);
    }
    uint64_t direct = 0;
    uint64_t direct_ids = 0;
    double deeper = 0;
    for (const uint64_t child : node.children) {
      const Node& below = nodes_[child];
      if (below.below == 0) {
        direct += below.fed > 0 ? 1 : 0;
        direct_ids += below.fed;
      } else {
        node.below += below.below;
        node.below_ids += below.below * below.fed + below.below_ids;
        deeper += below.cost;
      }
    }
    node.below += direct;
    node.below_ids += direct_ids;
    const double here = cost(prefix(row), node.below, node.below_ids);
    const double split = deeper + (direct > 0 ? cost(prefix(row), direct, direct_ids) : 0.0);
    node.descend = deeper > 0 && split < here;
    node.cost = node.descend ? split : here;
  }

  double cost_of_row(double tokens) const {
    return tokens * (1 + tokens / (6.0 * static_cast<double>(shape_.width)));
  }

  // Length at which a sequence with this prefix costs least per id of its alternatives: the minimum
  // of T·(1 + T/w) / (T − prefix) over T.
  double best_length(uint64_t prefix_ids) const {
    const auto ids = static_cast<double>(prefix_ids);
    return ids + std::sqrt(ids * ids + ids * 6.0 * static_cast<double>(shape_.width));
  }

  // Cost of a prefix with alternatives of this many ids in total, as if all were equally long.
  double cost(uint64_t prefix_ids, uint64_t alternatives, uint64_t ids) const {
    const auto start = static_cast<double>(prefix_ids);
    if (alternatives == 0) {
      return cost_of_row(start);
    }
    const double each = static_cast<double>(ids) / static_cast<double>(alternatives);
    const double fit = std::max(1.0, std::floor((best_length(prefix_ids) - start) / each));
    const double rows = std::ceil(static_cast<double>(alternatives) / fit);
    return rows * cost_of_row(start + static_cast<double>(ids) / rows);
  }

  // Collects the paths that begin with `row` and end at a node without children; leaves out paths
  // that feed nothing.
  void collect(uint64_t row, std::vector<std::vector<uint64_t>>& out) const {
    std::vector<std::vector<uint64_t>> open = {{row}};
    while (!open.empty()) {
      const std::vector<uint64_t> path = std::move(open.back());
      open.pop_back();
      const Node& last = nodes_[path.back()];
      if (last.below == 0) {
        if (path.size() > 1 || last.fed > 0) {
          out.push_back(path);
        }
        continue;
      }
      for (size_t c = last.children.size(); c-- > 0;) {
        if (nodes_[last.children[c]].below > 0 || nodes_[last.children[c]].fed > 0) {
          open.push_back(path);
          open.back().push_back(last.children[c]);
        }
      }
    }
  }

  uint64_t ids_of(const std::vector<uint64_t>& path) const {
    uint64_t ids = 0;
    for (const uint64_t row : path) {
      ids += fed(row);
    }
    return ids;
  }

  // Packs sequences with the path to `row` as prefix and alternatives up to the best length.
  void pack(uint64_t row, std::vector<std::vector<uint64_t>>& alternatives,
            std::vector<PackedRow>& out) const {
    std::vector<uint64_t> path;
    for (int64_t at = static_cast<int64_t>(row); at != kNone;
         at = parent(static_cast<uint64_t>(at))) {
      path.insert(path.begin(), static_cast<uint64_t>(at));
    }
    const auto longest = static_cast<uint64_t>(best_length(prefix(row)));
    PackedRow packed{path, {}, prefix(row)};
    for (std::vector<uint64_t>& alternative : alternatives) {
      const uint64_t ids = ids_of(alternative);
      if (!packed.alternatives.empty() && packed.length + ids > longest) {
        out.push_back(std::move(packed));
        packed = {path, {}, prefix(row)};
      }
      packed.alternatives.push_back(std::move(alternative));
      packed.length += ids;
    }
    if (packed.length > 0) {
      out.push_back(std::move(packed));
    }
  }

  const quench_score_args& args_;
  const PrefixShape& shape_;
  std::vector<Node> nodes_;
};

// Builds batches: places sequences and remembers where each id went.
class Writer {
 public:
  Writer(const quench_score_args& args, const Forest& forest)
      : args_(args), forest_(forest), fed_at_(args.starts[args.rows], kNowhere) {}

  void open(uint64_t rows, uint64_t length, bool plain) {
    PrefixBatch& batch = batches_.emplace_back();
    batch.rows = static_cast<int64_t>(rows);
    batch.length = static_cast<int64_t>(length);
    plain_ = plain;
  }

  void add(const PackedRow& row) {
    PrefixBatch& batch = batches_.back();
    const size_t first = batch.ids.size();
    const bool single = row.alternatives.size() <= 1;
    const auto put = [&](const std::vector<uint64_t>& path, int32_t segment) {
      for (const uint64_t node : path) {
        put_row(node, segment);
      }
    };
    put(row.prefix, 0);
    for (size_t a = 0; a < row.alternatives.size(); ++a) {
      put(row.alternatives[a], single ? 0 : static_cast<int32_t>(a + 1));
    }
    while (batch.ids.size() < first + static_cast<size_t>(batch.length)) {
      batch.ids.push_back(batch.ids[first]);
      batch.positions.push_back(0);
      batch.segments.push_back(-1);
    }
  }

  void close() {
    if (plain_) {
      batches_.back().segments.clear();
    }
  }

  // Notes for every scored id the place from which it is predicted.
  std::vector<PrefixBatch> finish() {
    for (uint64_t row = 0; row < args_.rows; ++row) {
      const uint64_t start = args_.starts[row];
      const uint64_t length = args_.starts[row + 1] - start;
      const uint64_t from = args_.scored_from != nullptr ? args_.scored_from[row] : 1;
      for (uint64_t t = from; t < length; ++t) {
        const uint64_t before = t > 0 ? start + t - 1 : last_before(row);
        if (before != kNowhere) {
          const auto [batch, place] = places_.at(fed_at_[before]);
          batches_[batch].scored.push_back({place, start + t});
        }
      }
    }
    return std::move(batches_);
  }

 private:
  static constexpr uint64_t kNowhere = UINT64_MAX;

  // Index of the last id before the first one of `row`, in the nearest ancestor that has any.
  uint64_t last_before(uint64_t row) const {
    for (int64_t at = forest_.parent(row); at != kNone;
         at = forest_.parent(static_cast<uint64_t>(at))) {
      const auto above = static_cast<uint64_t>(at);
      if (args_.starts[above + 1] > args_.starts[above]) {
        return args_.starts[above + 1] - 1;
      }
    }
    return kNowhere;
  }

  void put_row(uint64_t row, int32_t segment) {
    PrefixBatch& batch = batches_.back();
    for (uint64_t t = 0; t < forest_.fed(row); ++t) {
      const uint64_t id = args_.starts[row] + t;
      if (fed_at_[id] == kNowhere) {  // only the first copy is scored
        fed_at_[id] = places_.size();
        places_.emplace_back(batches_.size() - 1, batch.ids.size());
      }
      batch.ids.push_back(args_.ids[id]);
      batch.positions.push_back(static_cast<int32_t>(forest_.first_position(row) + t));
      batch.segments.push_back(segment);
    }
  }

  const quench_score_args& args_;
  const Forest& forest_;
  std::vector<PrefixBatch> batches_;
  bool plain_ = false;
  std::vector<uint64_t> fed_at_;                     // [ids]: index into places_
  std::vector<std::pair<size_t, uint64_t>> places_;  // batch, place
};

}  // namespace

std::vector<PrefixBatch> plan_prefix_batches(const quench_score_args& args,
                                             const PrefixShape& shape) {
  Forest forest(args, shape);
  const std::vector<PackedRow> rows = forest.rows();
  const auto plain = [&](size_t r) { return rows[r].alternatives.size() <= 1; };
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return rows[a].length < rows[b].length; });
  Writer writer(args, forest);
  for (size_t first = 0; first < order.size();) {
    // Sorted by length: the last sequence of a batch is its longest.
    size_t end = first + 1;
    while (end < order.size() && rows[order[end]].length * (end + 1 - first) <=
                                     static_cast<uint64_t>(kMicroBatchTokens)) {
      ++end;
    }
    const uint64_t length = rows[order[end - 1]].length;
    bool all_plain = true;
    for (size_t r = first; r < end; ++r) {
      all_plain = all_plain && plain(order[r]) && rows[order[r]].length == length;
    }
    writer.open(end - first, length, all_plain);
    for (size_t r = first; r < end; ++r) {
      writer.add(rows[order[r]]);
    }
    writer.close();
    first = end;
  }
  return writer.finish();
}

}  // namespace quench
