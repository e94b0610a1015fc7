// What bench/models/model_parts_main.cpp measures, apart: libtorch brings headers of another fmt
// than the host's.
#pragma once

#include <string>

#include "quench/abi/host.h"

namespace quench::bench {

struct PartsRequest {
  std::string work;   // "loss" or "training"
  std::string shape;  // "pythia-160m" or "quickstart"
  int threads;
  int rounds;
};

// Prints where the time of one micro-batch goes: each part alone, at the shapes and with the
// kernels of the whole, beside its floor. Throws std::invalid_argument for another work or shape.
void print_model_parts(const quench_host* host, const char* form, const PartsRequest& request);

}  // namespace quench::bench
