// The loops of a Mamba block on plain memory. A channel's bits depend on that channel alone.
#pragma once

#include <cstddef>
#include <cstdint>

namespace quench::mamba::kernel {

// y += a b
void add_products(size_t count, const float* a, const float* b, float* y);
void add_products(size_t count, const double* a, const double* b, double* y);
// y = x / (1 + e^-x)
void silu(size_t count, const float* x, float* y);
void silu(size_t count, const double* x, double* y);

// Channels that are computed together.
constexpr size_t kLanes = 16;

// The convolution of one row of tokens in all channels (convolution.hpp).
template <typename T>
struct Taps {
  size_t tokens;          // T
  size_t channels;        // C
  size_t taps;            // K
  size_t stride;          // elements between the tokens of x
  const int32_t* before;  // [T], as Predecessors has them
  const uint8_t* silent;  // [T] or null
  const T* x;             // [T, C]
  const T* weight;        // [K, C], the token's own first
  const T* bias;          // [C] or null
};
// What the derivatives of a row's sum along dy are written to.
template <typename T>
struct TapGradients {
  T* x;       // [T, C], added to
  T* weight;  // [K, C], added to
  T* bias;    // [C], added to
};
// For the channels first .. first+count, where count <= kLanes.
void taps_backward(const Taps<float>& row, const float* dy, size_t first, size_t count,
                   const TapGradients<float>& to);
void taps_backward(const Taps<double>& row, const double* dy, size_t first, size_t count,
                   const TapGradients<double>& to);

// The recurrence of one row of tokens in all channels (selective_scan.hpp).
template <typename T>
struct Scan {
  size_t tokens;          // T
  size_t channels;        // C
  size_t states;          // S
  const int32_t* before;  // [T], as Predecessors has them
  const int32_t* places;  // [T]
  size_t place_count;
  const T* u;      // [T, C]
  const T* step;   // [T, C], before the softplus
  const T* bc;     // [T, 2S]: B, then C
  const T* gate;   // [T, C], before the silu
  const T* decay;  // [S, C]: A
  const T* skip;   // [C]: D
};

// Values that `scan` needs as memory of its own.
template <typename T>
size_t scan_memory(const Scan<T>& row) {
  return (2 + row.place_count) * row.states * kLanes;
}
// Writes y [T, C] of the channels first .. first+count, where count <= kLanes.
void scan(const Scan<float>& row, size_t first, size_t count, float* memory, float* y);
void scan(const Scan<double>& row, size_t first, size_t count, double* memory, double* y);

// What the derivatives of a row's sum along dy are written to.
template <typename T>
struct ScanGradients {
  T* u;      // [T, C], written
  T* step;   // [T, C], written
  T* gate;   // [T, C], written
  T* bc;     // [T, 2S], added to
  T* decay;  // [S, C], written: by A
  T* skip;   // [C], written
};

template <typename T>
size_t scan_backward_memory(const Scan<T>& row) {
  return (3 + row.place_count + 2 * row.tokens) * row.states * kLanes;
}
// Computes the states again and walks back over them.
void scan_backward(const Scan<float>& row, const float* dy, size_t first, size_t count,
                   float* memory, const ScanGradients<float>& to);
void scan_backward(const Scan<double>& row, const double* dy, size_t first, size_t count,
                   double* memory, const ScanGradients<double>& to);

}  // namespace quench::mamba::kernel
