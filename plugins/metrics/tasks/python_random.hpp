// Python's random.Random(seed).sample, because published results used the shots that it draws.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace quench::tasks {

class PythonRandom {
 public:
  // Like random.Random(seed), for a 32-bit seed.
  explicit PythonRandom(uint32_t seed);
  // The indices that random.sample(population of `count`, `chosen`) returns; chosen <= count.
  std::vector<size_t> sample(size_t count, size_t chosen);

 private:
  uint32_t next();
  uint64_t below(uint64_t limit);  // 0..limit-1

  std::array<uint32_t, 624> state_{};
  size_t at_ = 624;
};

}  // namespace quench::tasks
