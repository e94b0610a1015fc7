// Takes messages between processes with random changes: garbage_messages COUNT SEED.
// Prints the seed's message before each hundred thousand, so that one that ends the process is
// found.
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "tests/core/plugin/wire/garbage.hpp"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: garbage_messages COUNT SEED\n", stderr);
    return 2;
  }
  const uint64_t count = std::strtoull(argv[1], nullptr, 10);
  const uint64_t seed = std::strtoull(argv[2], nullptr, 10);
  const std::vector<std::string> sessions = quench::test::recorded_sessions();
  std::mt19937_64 random(seed);
  for (uint64_t i = 0; i < count; ++i) {
    if (i % 100'000 == 0) {
      std::printf("seed %ju: %ju of %ju messages\n", static_cast<uintmax_t>(seed),
                  static_cast<uintmax_t>(i), static_cast<uintmax_t>(count));
      std::fflush(stdout);
    }
    const std::string input =
        quench::test::with_changes(sessions[random() % sessions.size()], random);
    quench::test::take_garbage({reinterpret_cast<const uint8_t*>(input.data()), input.size()});
  }
  std::printf("seed %ju: done\n", static_cast<uintmax_t>(seed));
}
