#include "quantizers/autoround/draws.hpp"

#include <numeric>
#include <utility>

#include "quench/kit/host.hpp"

namespace quench::quantizers {

Draws::Draws(std::vector<int64_t> tokens, int64_t wanted, std::string stream)
    : tokens_(std::move(tokens)),
      wanted_(wanted),
      stream_(std::move(stream)),
      all_(std::accumulate(tokens_.begin(), tokens_.end(), int64_t{0}) <= wanted),
      order_(tokens_.size()) {
  std::iota(order_.begin(), order_.end(), uint64_t{0});
  if (!all_) {
    shuffle();
  }
}

// Fisher and Yates; a number of 64 bits times a count of batches has no bias that shows.
void Draws::shuffle() {
  const uint64_t count = order_.size();
  const std::vector<uint64_t> numbers = kit::random_uniform(stream_, drawn_, count);
  drawn_ += count;
  for (uint64_t i = count; i > 1; --i) {
    __extension__ using Wide = unsigned __int128;
    const auto other = static_cast<uint64_t>((static_cast<Wide>(numbers[i - 1]) * i) >> 64);
    std::swap(order_[i - 1], order_[other]);
  }
  at_ = 0;
}

size_t Draws::count_from_here() const {
  int64_t tokens = 0;
  for (size_t i = at_; i < order_.size(); ++i) {
    tokens += tokens_[order_[i]];
    if (tokens >= wanted_) {
      return i + 1 - at_;
    }
  }
  return 0;
}

std::vector<uint64_t> Draws::next() {
  if (all_) {
    return order_;
  }
  size_t count = count_from_here();
  if (count == 0) {
    shuffle();
    count = count_from_here();
  }
  const auto first = order_.begin() + static_cast<ptrdiff_t>(at_);
  at_ += count;
  return {first, first + static_cast<ptrdiff_t>(count)};
}

}  // namespace quench::quantizers
