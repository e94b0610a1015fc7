// A SmallTraining as a process of its own, which tests kill: training_driver HOME STATE_SECONDS.
// Exits with 0 when it came to its end, 75 when it was stopped.
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "tests/train/small_training.hpp"

int main(int argc, char** argv) {
  if (argc != 3) {
    return 2;
  }
  try {
    quench::test::SmallSettings settings;
    settings.state_seconds = std::atof(argv[2]);
    return quench::test::SmallTraining(argv[1], settings).run() ? 0 : 75;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
