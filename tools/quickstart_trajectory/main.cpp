// quickstart_trajectory FOLDER: trains a small Pythia-like model with a warmup-stable-decay
// schedule and leaves FOLDER/step<n>/ as Hugging Face folders, FOLDER/validation.txt,
// calibration.txt and lr.csv. The same machine gives the same bytes every time: the seed is fixed,
// and so is the number of threads (1). FOLDER appears when all is written.
#include <cstdio>
#include <exception>

#include "tools/quickstart_trajectory/trajectory.hpp"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: quickstart_trajectory FOLDER\n");
    return 2;
  }
  try {
    quickstart::train(argv[1]);
    return 0;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "quickstart_trajectory: %s\n", failure.what());
    return 1;
  }
}
