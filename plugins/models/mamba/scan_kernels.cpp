#include "models/mamba/scan_kernels.hpp"

#include <cmath>

#include "models/decoder/transcendental.hpp"
#include "quench/kit/multiversion.hpp"

namespace quench::mamba::kernel {

namespace {

using decoder::exponential;

// log(1 + e^x), and x above 20 as in the reference.
[[gnu::always_inline]] inline float softplus(float x) {
  // log(1 + z) = 2 artanh(w) with w = z / (2 + z) <= 1/3 for z = e^-|x|; the next term of the
  // series is below 2^-27.
  const float z = exponential(x < 0 ? x : -x);
  const float w = z / (2.0F + z);
  const float square = w * w;
  const float series = decoder::polynomial(square, 2.0F / 15, 2.0F / 13, 2.0F / 11, 2.0F / 9,
                                           2.0F / 7, 2.0F / 5, 2.0F / 3, 2.0F);
  const float positive = x > 0 ? x : 0.0F;
  return x > 20.0F ? x : positive + w * series;
}
[[gnu::always_inline]] inline double softplus(double x) {
  return x > 20.0 ? x : std::log1p(std::exp(x));
}

template <typename T>
[[gnu::always_inline]] inline T logistic(T x) {
  return T(1) / (T(1) + exponential(-x));
}

template <typename T>
[[gnu::always_inline]] inline void load(const T* from, size_t count, T* lanes) {
  if (count == kLanes) {
    for (size_t l = 0; l < kLanes; ++l) {
      lanes[l] = from[l];
    }
    return;
  }
  for (size_t l = 0; l < kLanes; ++l) {
    lanes[l] = l < count ? from[l] : T{};
  }
}

template <typename T>
[[gnu::always_inline]] inline void store(const T* lanes, size_t count, T* to) {
  for (size_t l = 0; l < count; ++l) {
    to[l] = lanes[l];
  }
}

template <typename T>
[[gnu::always_inline]] inline T sum_of(T* lanes) {
  for (size_t half = kLanes / 2; half > 0; half /= 2) {
    for (size_t l = 0; l < half; ++l) {
      lanes[l] += lanes[l + half];
    }
  }
  return lanes[0];
}

template <typename T>
[[gnu::always_inline]] inline void load_decay(const Scan<T>& row, size_t first, size_t count,
                                              T* decay) {
  for (size_t n = 0; n < row.states; ++n) {
    load(row.decay + n * row.channels + first, count, decay + n * kLanes);
  }
}

template <typename T>
[[gnu::always_inline]] inline void copy_state(const T* from, size_t size, T* to) {
  for (size_t i = 0; i < size; ++i) {
    to[i] = from[i];
  }
}

template <typename T>
[[gnu::always_inline]] inline void scan_loop(const Scan<T>& row, size_t first, size_t count,
                                             T* memory, T* y) {
  const size_t size = row.states * kLanes;
  T* decay = memory;
  T* state = memory + size;
  T* kept = memory + 2 * size;
  load_decay(row, first, count, decay);
  T skip[kLanes];
  load(row.skip + first, count, skip);
  for (size_t t = 0; t < row.tokens; ++t) {
    const int32_t from = row.before[t];
    if (from < 0) {
      for (size_t i = 0; i < size; ++i) {
        state[i] = T{};
      }
    } else if (static_cast<size_t>(from) + 1 != t) {
      copy_state(kept + static_cast<size_t>(row.places[from]) * size, size, state);
    }
    const size_t at = t * row.channels + first;
    const T* b = row.bc + t * 2 * row.states;
    const T* c = b + row.states;
    T u[kLanes];
    T step[kLanes];
    T gate[kLanes];
    T sum[kLanes];
    load(row.u + at, count, u);
    load(row.step + at, count, step);
    load(row.gate + at, count, gate);
    T input[kLanes];
    for (size_t l = 0; l < kLanes; ++l) {
      step[l] = softplus(step[l]);
      input[l] = step[l] * u[l];
      sum[l] = T{};
    }
    for (size_t n = 0; n < row.states; ++n) {
      T* s = state + n * kLanes;
      const T* a = decay + n * kLanes;
      const T in = b[n];
      const T seen = c[n];
      for (size_t l = 0; l < kLanes; ++l) {
        s[l] = exponential(step[l] * a[l]) * s[l] + input[l] * in;
        sum[l] += s[l] * seen;
      }
    }
    for (size_t l = 0; l < kLanes; ++l) {
      sum[l] = (sum[l] + u[l] * skip[l]) * (gate[l] * logistic(gate[l]));
    }
    store(sum, count, y + at);
    if (row.places[t] >= 0) {
      copy_state(state, size, kept + static_cast<size_t>(row.places[t]) * size);
    }
  }
}

// The states s_t and the factors exp(Δ_t A) of all tokens, [T, S, kLanes] each.
template <typename T>
[[gnu::always_inline]] inline void recompute(const Scan<T>& row, size_t first, size_t count,
                                             const T* decay, T* states, T* powers) {
  const size_t size = row.states * kLanes;
  for (size_t t = 0; t < row.tokens; ++t) {
    const size_t at = t * row.channels + first;
    const T* b = row.bc + t * 2 * row.states;
    const int32_t from = row.before[t];
    const T* earlier = from < 0 ? nullptr : states + static_cast<size_t>(from) * size;
    T u[kLanes];
    T step[kLanes];
    load(row.u + at, count, u);
    load(row.step + at, count, step);
    for (size_t l = 0; l < kLanes; ++l) {
      step[l] = softplus(step[l]);
      u[l] *= step[l];
    }
    for (size_t n = 0; n < row.states; ++n) {
      T* s = states + t * size + n * kLanes;
      T* power = powers + t * size + n * kLanes;
      const T* a = decay + n * kLanes;
      const T in = b[n];
      for (size_t l = 0; l < kLanes; ++l) {
        power[l] = exponential(step[l] * a[l]);
        s[l] = u[l] * in;
      }
      if (earlier != nullptr) {
        const T* before = earlier + n * kLanes;
        for (size_t l = 0; l < kLanes; ++l) {
          s[l] = power[l] * before[l] + s[l];
        }
      }
    }
  }
}

// With s_t = p_t s_before + Δ_t u_t B_t, p_t = exp(Δ_t A), r_t = C_t s_t + D u_t and
// y_t = r_t silu(z_t), and g_t the derivative by s_t:
//   g_t = dr_t C_t + sum over the tokens c behind t of p_c g_c
//   dA += g_t s_before p_t Δ_t,   dΔ_t = sum over states of g_t (s_before p_t A + u_t B_t)
template <typename T>
[[gnu::always_inline]] inline void scan_backward_loop(const Scan<T>& row, const T* dy, size_t first,
                                                      size_t count, T* memory,
                                                      const ScanGradients<T>& to) {
  const size_t size = row.states * kLanes;
  T* decay = memory;
  T* by_decay = memory + size;
  T* arriving = memory + 2 * size;  // at token t, from the next one
  T* later = memory + 3 * size;     // at the tokens with a place, from others than the next
  T* states = later + row.place_count * size;
  T* powers = states + row.tokens * size;
  load_decay(row, first, count, decay);
  recompute(row, first, count, decay, states, powers);
  for (size_t i = 0; i < size; ++i) {
    by_decay[i] = T{};
    arriving[i] = T{};
  }
  for (size_t i = 0; i < row.place_count * size; ++i) {
    later[i] = T{};
  }
  T skip[kLanes];
  load(row.skip + first, count, skip);
  T by_skip[kLanes] = {};
  for (size_t t = row.tokens; t-- > 0;) {
    const size_t at = t * row.channels + first;
    const T* b = row.bc + t * 2 * row.states;
    const T* c = b + row.states;
    T* by_b = to.bc + t * 2 * row.states;
    T* by_c = by_b + row.states;
    const int32_t from = row.before[t];
    const bool follows = from >= 0 && static_cast<size_t>(from) + 1 == t;
    const T* earlier = from < 0 ? nullptr : states + static_cast<size_t>(from) * size;
    T* elsewhere =
        from >= 0 && !follows ? later + static_cast<size_t>(row.places[from]) * size : nullptr;
    const T* kept =
        row.places[t] >= 0 ? later + static_cast<size_t>(row.places[t]) * size : nullptr;
    T u[kLanes];
    T raw[kLanes];
    T gate[kLanes];
    T out[kLanes];
    load(row.u + at, count, u);
    load(row.step + at, count, raw);
    load(row.gate + at, count, gate);
    load(dy + at, count, out);
    T step[kLanes];
    T by_sum[kLanes];  // dr
    T sum[kLanes];     // r
    T by_step[kLanes];
    T by_u[kLanes];
    for (size_t l = 0; l < kLanes; ++l) {
      step[l] = softplus(raw[l]);
      by_sum[l] = out[l] * (gate[l] * logistic(gate[l]));
      sum[l] = u[l] * skip[l];
      by_step[l] = T{};
      by_u[l] = by_sum[l] * skip[l];
      by_skip[l] += by_sum[l] * u[l];
    }
    for (size_t n = 0; n < row.states; ++n) {
      const T* s = states + t * size + n * kLanes;
      const T* power = powers + t * size + n * kLanes;
      const T* a = decay + n * kLanes;
      T* next = arriving + n * kLanes;
      const T in = b[n];
      const T seen = c[n];
      T g[kLanes];
      T along_b[kLanes];
      T along_c[kLanes];
      for (size_t l = 0; l < kLanes; ++l) {
        g[l] = by_sum[l] * seen + next[l];
        next[l] = T{};
      }
      if (kept != nullptr) {
        for (size_t l = 0; l < kLanes; ++l) {
          g[l] += kept[n * kLanes + l];
        }
      }
      for (size_t l = 0; l < kLanes; ++l) {
        sum[l] += s[l] * seen;
        along_c[l] = by_sum[l] * s[l];
        along_b[l] = g[l] * (step[l] * u[l]);
        by_step[l] += g[l] * (u[l] * in);
        by_u[l] += g[l] * (step[l] * in);
      }
      if (earlier != nullptr) {
        T* target = follows ? next : elsewhere + n * kLanes;
        for (size_t l = 0; l < kLanes; ++l) {
          const T through = g[l] * power[l];
          const T moved = through * earlier[n * kLanes + l];
          by_step[l] += moved * a[l];
          by_decay[n * kLanes + l] += moved * step[l];
          target[l] += through;
        }
      }
      by_b[n] += sum_of(along_b);
      by_c[n] += sum_of(along_c);
    }
    T by_gate[kLanes];
    for (size_t l = 0; l < kLanes; ++l) {
      const T open = logistic(gate[l]);
      by_gate[l] = out[l] * sum[l] * ((gate[l] * (T(1) - open) + T(1)) * open);
      by_step[l] *= raw[l] > T(20) ? T(1) : logistic(raw[l]);
    }
    store(by_u, count, to.u + at);
    store(by_step, count, to.step + at);
    store(by_gate, count, to.gate + at);
  }
  for (size_t n = 0; n < row.states; ++n) {
    store(by_decay + n * kLanes, count, to.decay + n * row.channels + first);
  }
  store(by_skip, count, to.skip + first);
}

template <typename T>
[[gnu::always_inline]] inline void taps_backward_loop(const Taps<T>& row, const T* dy, size_t first,
                                                      size_t count, const TapGradients<T>& to) {
  for (size_t t = 0; t < row.tokens; ++t) {
    if (row.silent != nullptr && row.silent[t] != 0) {
      continue;
    }
    T sum[kLanes] = {};
    T x[kLanes];
    T weight[kLanes];
    if (row.bias != nullptr) {
      load(row.bias + first, count, sum);
    }
    auto from = static_cast<int32_t>(t);
    for (size_t k = 0; k < row.taps && from >= 0; ++k, from = row.before[from]) {
      load(row.x + static_cast<size_t>(from) * row.stride + first, count, x);
      load(row.weight + k * row.channels + first, count, weight);
      for (size_t l = 0; l < kLanes; ++l) {
        sum[l] += x[l] * weight[l];
      }
    }
    T by_sum[kLanes];
    load(dy + t * row.channels + first, count, by_sum);
    for (size_t l = 0; l < kLanes; ++l) {
      const T open = logistic(sum[l]);
      by_sum[l] *= (sum[l] * (T(1) - open) + T(1)) * open;
    }
    for (size_t l = 0; l < count; ++l) {
      to.bias[first + l] += by_sum[l];
    }
    from = static_cast<int32_t>(t);
    for (size_t k = 0; k < row.taps && from >= 0; ++k, from = row.before[from]) {
      const T* in = row.x + static_cast<size_t>(from) * row.stride + first;
      const T* tap = row.weight + k * row.channels + first;
      T* by_x = to.x + static_cast<size_t>(from) * row.channels + first;
      T* by_tap = to.weight + k * row.channels + first;
      for (size_t l = 0; l < count; ++l) {
        by_x[l] += by_sum[l] * tap[l];
        by_tap[l] += by_sum[l] * in[l];
      }
    }
  }
}

template <typename T>
[[gnu::always_inline]] inline void add_products_loop(size_t count, const T* a, const T* b, T* y) {
  for (size_t i = 0; i < count; ++i) {
    y[i] += a[i] * b[i];
  }
}

template <typename T>
[[gnu::always_inline]] inline void silu_loop(size_t count, const T* x, T* y) {
  for (size_t i = 0; i < count; ++i) {
    y[i] = x[i] * logistic(x[i]);
  }
}

}  // namespace

QUENCH_MULTIVERSION void add_products(size_t count, const float* a, const float* b, float* y) {
  add_products_loop(count, a, b, y);
}
void add_products(size_t count, const double* a, const double* b, double* y) {
  add_products_loop(count, a, b, y);
}

QUENCH_MULTIVERSION void silu(size_t count, const float* x, float* y) {
  silu_loop(count, x, y);
}
void silu(size_t count, const double* x, double* y) {
  silu_loop(count, x, y);
}

QUENCH_MULTIVERSION void taps_backward(const Taps<float>& row, const float* dy, size_t first,
                                       size_t count, const TapGradients<float>& to) {
  taps_backward_loop(row, dy, first, count, to);
}
void taps_backward(const Taps<double>& row, const double* dy, size_t first, size_t count,
                   const TapGradients<double>& to) {
  taps_backward_loop(row, dy, first, count, to);
}

QUENCH_MULTIVERSION void scan(const Scan<float>& row, size_t first, size_t count, float* memory,
                              float* y) {
  scan_loop(row, first, count, memory, y);
}
void scan(const Scan<double>& row, size_t first, size_t count, double* memory, double* y) {
  scan_loop(row, first, count, memory, y);
}

QUENCH_MULTIVERSION void scan_backward(const Scan<float>& row, const float* dy, size_t first,
                                       size_t count, float* memory,
                                       const ScanGradients<float>& to) {
  scan_backward_loop(row, dy, first, count, memory, to);
}
void scan_backward(const Scan<double>& row, const double* dy, size_t first, size_t count,
                   double* memory, const ScanGradients<double>& to) {
  scan_backward_loop(row, dy, first, count, memory, to);
}

}  // namespace quench::mamba::kernel
