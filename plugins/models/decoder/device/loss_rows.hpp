// The loss of rows of logits and its derivative on a GPU, in one reading and one writing of them
// after another reading: as operations of libtorch it is eight.
#pragma once

#include <cstdint>

#include "models/decoder/transcendental.hpp"
#include "shared/cuda/block.hpp"

namespace quench::decoder {

// A block takes a row x of logits [rows, columns]. sums[row] = Σ e^(x - max x) and gaps[row] =
// max x - x[target], so that the loss is log(sum) + gap. Where `differentiate` is set, the row
// becomes factor * (softmax(x) - 1 at the target).
struct LossRows {
  static constexpr int kThreads = 256;
  static constexpr int kParts = 16;  // in which the threads' sums are added up

  float* values;
  const int64_t* targets;
  double* sums;
  float* gaps;
  int64_t rows;
  int64_t columns;
  float factor;
  int32_t differentiate;

  int64_t blocks() const { return rows; }

  struct Shared {
    float peaks[kThreads];
    double sums[kThreads];
    float peak;
    float inverse;
    double parts[kParts];
  };

  // A sum of powers below one peak, seen from another.
  QUENCH_KERNEL static double moved(double sum, float from, float to) {
    return sum * static_cast<double>(exponential(from - to));
  }

  QUENCH_KERNEL void run(cuda::Block& block, Shared& shared) const {
    float* row = values + block.index() * columns;
    const int64_t target = targets[block.index()];
    block.each([&](int thread) {
      float peak = -3.402823466e38F;
      double sum = 0;
      for (int64_t i = thread; i < columns; i += kThreads) {
        const float value = row[i];
        if (value > peak) {
          sum = moved(sum, peak, value) + 1.0;
          peak = value;
        } else {
          sum += static_cast<double>(exponential(value - peak));
        }
      }
      shared.peaks[thread] = peak;
      shared.sums[thread] = sum;
    });
    block.each([&](int thread) {
      if (thread == 0) {
        float peak = shared.peaks[0];
        for (int i = 1; i < kThreads; ++i) {
          peak = shared.peaks[i] > peak ? shared.peaks[i] : peak;
        }
        shared.peak = peak;
        gaps[block.index()] = peak - row[target];
      }
    });
    block.each([&](int thread) {
      if (thread < kParts) {
        double sum = 0;
        for (int i = thread; i < kThreads; i += kParts) {
          sum += moved(shared.sums[i], shared.peaks[i], shared.peak);
        }
        shared.parts[thread] = sum;
      }
    });
    block.each([&](int thread) {
      if (thread == 0) {
        double sum = 0;
        for (int i = 0; i < kParts; ++i) {
          sum += shared.parts[i];
        }
        sums[block.index()] = sum;
        shared.inverse = static_cast<float>(1.0 / sum);
      }
    });
    if (differentiate == 0) {
      return;
    }
    block.each([&](int thread) {
      for (int64_t i = thread; i < columns; i += kThreads) {
        const float likely = exponential(row[i] - shared.peak) * shared.inverse;
        row[i] = factor * (i == target ? likely - 1.0F : likely);
      }
    });
  }
};

}  // namespace quench::decoder
