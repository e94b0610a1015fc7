#include "metrics/tasks/prefix_tree.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace quench::tasks {

namespace {

// A radix tree over the texts; node n is row n of a score request.
class PrefixTree {
 public:
  explicit PrefixTree(const std::vector<ScoredText>& texts) : texts_(texts), end_(texts.size()) {
    order_.resize(texts.size());
    std::iota(order_.begin(), order_.end(), size_t{0});
    std::stable_sort(order_.begin(), order_.end(),
                     [&](size_t a, size_t b) { return texts[a].ids < texts[b].ids; });
    std::vector<Range> open = {{0, order_.size(), 0, -1}};
    while (!open.empty()) {
      const Range range = open.back();
      open.pop_back();
      divide(range, open);
    }
  }

  // Scores all rows, then sums along the path of each text.
  std::vector<double> score(const kit::Evaluation& evaluation) {
    std::vector<double> nll(ids_.size());
    evaluation.score({sizeof(quench_score_args), 0, parents_.size(), ids_.data(), starts_.data(),
                      scored_from_.data(), nll.data(), nullptr, parents_.data()});
    std::vector<double> out;
    for (size_t t = 0; t < texts_.size(); ++t) {
      double sum = 0;
      for (int64_t node = end_[t]; node >= 0; node = parents_[static_cast<size_t>(node)]) {
        const auto row = static_cast<size_t>(node);
        for (uint64_t i = starts_[row]; i < starts_[row + 1]; ++i) {
          if (depths_[row] + (i - starts_[row]) >= texts_[t].scored_from) {
            sum += nll[i];
          }
        }
      }
      if (!std::isfinite(sum)) {
        kit::fail(QUENCH_NUMERICAL, "text %zu: the model's log-likelihood is %g", t, -sum);
      }
      out.push_back(-sum);
    }
    return out;
  }

  uint64_t ids() const { return ids_.size(); }

 private:
  // Texts order_[first..end) agree in their first `depth` ids, which end at row `parent`.
  struct Range {
    size_t first, end, depth;
    int64_t parent;
  };

  const std::vector<int32_t>& text(size_t place) const { return texts_[order_[place]].ids; }

  void divide(const Range& range, std::vector<Range>& open) {
    if (range.first == range.end) {
      return;
    }
    // The texts are sorted: all of them share what the first and the last share.
    const std::vector<int32_t>& a = text(range.first);
    const std::vector<int32_t>& b = text(range.end - 1);
    size_t shared = range.depth;
    while (shared < a.size() && shared < b.size() && a[shared] == b[shared]) {
      ++shared;
    }
    const int64_t row = shared > range.depth ? add(range, shared) : range.parent;
    size_t first = range.first;
    for (; first < range.end && text(first).size() == shared; ++first) {
      end_[order_[first]] = row;
    }
    while (first < range.end) {
      size_t end = first + 1;
      while (end < range.end && text(end)[shared] == text(first)[shared]) {
        ++end;
      }
      open.push_back({first, end, shared, row});
      first = end;
    }
  }

  int64_t add(const Range& range, size_t end) {
    const std::vector<int32_t>& ids = text(range.first);
    size_t from = end;
    for (size_t place = range.first; place < range.end; ++place) {
      from = std::min(from, texts_[order_[place]].scored_from);
    }
    ids_.insert(ids_.end(), ids.begin() + static_cast<ptrdiff_t>(range.depth),
                ids.begin() + static_cast<ptrdiff_t>(end));
    starts_.push_back(ids_.size());
    depths_.push_back(range.depth);
    scored_from_.push_back(std::max(from, range.depth) - range.depth);
    parents_.push_back(range.parent);
    return static_cast<int64_t>(parents_.size()) - 1;
  }

  const std::vector<ScoredText>& texts_;
  std::vector<size_t> order_;
  std::vector<int64_t> end_;  // [texts]: the last row of each
  std::vector<int32_t> ids_;
  std::vector<uint64_t> starts_ = {0};
  std::vector<uint64_t> depths_;  // [rows]: ids before the row
  std::vector<uint64_t> scored_from_;
  std::vector<int64_t> parents_;
};

}  // namespace

std::vector<double> log_likelihoods(const kit::Evaluation& evaluation,
                                    const std::vector<ScoredText>& texts, uint64_t* fed) {
  if (texts.empty()) {
    return {};
  }
  PrefixTree tree(texts);
  *fed += tree.ids();
  return tree.score(evaluation);
}

}  // namespace quench::tasks
