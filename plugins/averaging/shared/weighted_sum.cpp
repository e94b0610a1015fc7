#include "averaging/shared/weighted_sum.hpp"

#include "quench/kit/error.hpp"

namespace quench::averaging {

namespace {

void start(double* __restrict sum, const double* __restrict x, double weight, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    sum[i] = weight * x[i];
  }
}

void add(double* __restrict sum, const double* __restrict x, double weight, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    sum[i] += weight * x[i];
  }
}

void divide(double* __restrict out, const double* __restrict sum, double divisor, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    out[i] = sum[i] / divisor;
  }
}

}  // namespace

void WeightedSum::begin_mean(uint64_t count) {
  begin(std::vector<double>(count, 1.0), static_cast<double>(count));
}

void WeightedSum::begin(std::vector<double> weights, double divisor) {
  kit::expects(!weights.empty(), "begin: no members");
  weights_ = std::move(weights);
  divisor_ = divisor;
  added_ = 0;
}

void WeightedSum::accumulate(uint64_t member, std::span<const double> values) {
  kit::expects(member < weights_.size(), "accumulate: no such member");
  if (member == 0) {
    sum_.resize(values.size());
    start(sum_.data(), values.data(), weights_[0], values.size());
    added_ = 1;
    return;
  }
  kit::expects(member == added_, "accumulate: members are not in ascending order");
  kit::expects(values.size() == sum_.size(), "accumulate: members of different lengths");
  add(sum_.data(), values.data(), weights_[member], values.size());
  ++added_;
}

void WeightedSum::finish(std::span<double> values) {
  kit::expects(added_ == weights_.size(), "finish: members are missing");
  kit::expects(values.size() == sum_.size(), "finish: wanted the length of the chunk");
  divide(values.data(), sum_.data(), divisor_, values.size());
  added_ = 0;
}

std::span<const double> WeightedSum::sums() const {
  if (added_ == 0) {
    kit::fail(QUENCH_FAILED_PRECONDITION, "sums: wanted a chunk that is being summed");
  }
  return sum_;
}

void WeightedSum::resume(uint64_t members, uint64_t chunk, std::span<const double> sums) {
  added_ = 0;
  kit::expects(members > 0 && members <= weights_.size(),
               "resume: wanted a number of members from 1 to all");
  kit::expects(sums.size() == chunk, "resume: wanted one sum for each value of the chunk");
  sum_.assign(sums.begin(), sums.end());
  added_ = members;
}

}  // namespace quench::averaging
