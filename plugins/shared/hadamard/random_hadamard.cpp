#include "shared/hadamard/random_hadamard.hpp"

#include "quench/kit/host.hpp"

namespace quench::hadamard {

namespace {

constexpr uint64_t kRowGrain = 16;

}  // namespace

RandomHadamard::RandomHadamard(int64_t size, const std::string& stream) : hadamard_(size) {
  for (const uint64_t bits : kit::random_uniform(stream, 0, static_cast<uint64_t>(size))) {
    signs_.push_back(bits >> 63 != 0 ? -1.0 : 1.0);
  }
}

template <typename T>
void RandomHadamard::multiply(std::span<T> rows, Direction direction) const {
  const size_t n = signs_.size();
  kit::parallel_for(rows.size() / n, kRowGrain, [&](uint64_t begin, uint64_t end) {
    std::vector<double> values(n);
    std::vector<double> scratch(n);
    for (uint64_t row = begin; row < end; ++row) {
      T* own = rows.data() + row * n;
      if (direction == Direction::kApply) {
        for (size_t i = 0; i < n; ++i) {
          values[i] = signs_[i] * static_cast<double>(own[i]);
        }
        hadamard_.apply(values.data(), scratch.data());
        for (size_t i = 0; i < n; ++i) {
          own[i] = static_cast<T>(values[i]);
        }
      } else {
        values.assign(own, own + n);
        hadamard_.undo(values.data(), scratch.data());
        for (size_t i = 0; i < n; ++i) {
          own[i] = static_cast<T>(signs_[i] * values[i]);
        }
      }
    }
  });
}

template void RandomHadamard::multiply(std::span<float> rows, Direction direction) const;
template void RandomHadamard::multiply(std::span<double> rows, Direction direction) const;

}  // namespace quench::hadamard
