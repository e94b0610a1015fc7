#include "models/decoder/causal_attention.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "quench/kit/host.hpp"
#include "shared/matrix/buffer.hpp"
#include "shared/matrix/kernel.hpp"
#include "shared/matrix/product.hpp"

#ifdef QUENCH_HAS_MATRIX_KERNELS
#include "models/decoder/exponential.hpp"
#endif

namespace quench::decoder {

#ifdef QUENCH_HAS_MATRIX_KERNELS

namespace {

using matrix::kTileRows;

constexpr int64_t kQueries = 8 * kTileRows;  // of a task
constexpr int64_t kKeys = 256;               // whose scores exist at once, 112 KiB with the queries
constexpr int64_t kPanel = matrix::kTileColumns<float>;

int64_t rounded_up(int64_t count, int64_t size) {
  return (count + size - 1) / size * size;
}

// One row of scores in the making.
struct Row {
  float peak = -std::numeric_limits<float>::infinity();
  double sum = 0;  // of e^(score - peak)
};

// Replaces the first `count` of `size` scores by e^(score - peak) and the others by 0; brings the
// row's sum and its `output` [width] to the new peak.
QUENCH_AVX512 void exponentiate(float* scores, int64_t count, int64_t size, Row& row, float* output,
                                int64_t width) {
  using L = matrix::Lanes<float>;
  __m512 peak = _mm512_set1_ps(row.peak);
  for (int64_t i = 0; i < count; i += L::kCount) {
    const auto mask = L::first(count - i);
    peak = _mm512_mask_max_ps(peak, mask, peak, _mm512_maskz_loadu_ps(mask, scores + i));
  }
  const float before = row.peak;
  row.peak = _mm512_reduce_max_ps(peak);
  peak = _mm512_set1_ps(row.peak);
  __m512 sum = _mm512_setzero_ps();
  for (int64_t i = 0; i < size; i += L::kCount) {
    const auto mask = L::first(count - i);
    const __m512 value =
        _mm512_maskz_mov_ps(mask, exponential(_mm512_sub_ps(_mm512_loadu_ps(scores + i), peak)));
    _mm512_storeu_ps(scores + i, value);
    sum = _mm512_add_ps(sum, value);
  }
  const float shrunk = std::exp(before - row.peak);
  if (row.sum != 0 && shrunk != 1) {
    for (int64_t i = 0; i < width; i += L::kCount) {
      const auto mask = L::first(width - i);
      L::store(output + i, mask,
               _mm512_mul_ps(_mm512_maskz_loadu_ps(mask, output + i), _mm512_set1_ps(shrunk)));
    }
  }
  row.sum = row.sum * static_cast<double>(row.sum != 0 ? shrunk : 0) +
            static_cast<double>(_mm512_reduce_add_ps(sum));
}

QUENCH_AVX512 void divide(const float* from, float by, int64_t count, float* to) {
  using L = matrix::Lanes<float>;
  for (int64_t i = 0; i < count; i += L::kCount) {
    const auto mask = L::first(count - i);
    L::store(to + i, mask,
             _mm512_div_ps(_mm512_maskz_loadu_ps(mask, from + i), _mm512_set1_ps(by)));
  }
}

// Keys and values of all heads, copied into panels; queries in blocks of kQueries rows.
class Attention {
 public:
  Attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& y)
      : q_(q),
        k_(k),
        v_(v),
        y_(y.mutable_data_ptr<float>()),
        length_(q.size(1)),
        heads_(q.size(2)),
        width_(q.size(3)),
        key_heads_(k.size(2)),
        key_elements_(rounded_up(length_, kPanel) * width_),
        value_elements_(length_ * rounded_up(width_, kPanel)),
        packed_(q.size(0) * key_heads_ * (key_elements_ + value_elements_) *
                static_cast<int64_t>(sizeof(float))) {}

  void run() {
    for_each(q_.size(0) * key_heads_, [this](int64_t task) { pack_head(task); });
    const int64_t blocks = (length_ + kQueries - 1) / kQueries;
    for_each(q_.size(0) * heads_ * blocks, [this, blocks](int64_t task) {
      const int64_t head = task / blocks;
      attend(head / heads_, head % heads_, task % blocks * kQueries);
    });
  }

 private:
  template <typename Body>
  static void for_each(int64_t count, Body body) {
    kit::parallel_for(static_cast<uint64_t>(count), 1, [&](uint64_t begin, uint64_t end) {
      for (uint64_t task = begin; task < end; ++task) {
        body(static_cast<int64_t>(task));
      }
    });
  }

  static const float* rows_of(const at::Tensor& x, int64_t row, int64_t head) {
    return x.const_data_ptr<float>() + row * x.stride(0) + head * x.stride(2);
  }

  float* keys_of(int64_t row, int64_t head) const {
    return packed_.as<float>() + (row * key_heads_ + head) * (key_elements_ + value_elements_);
  }

  // Keys in panels [D, 32 keys]; values, kKeys rows at a time, in panels [keys, 32 of D].
  void pack_head(int64_t task) const {
    const int64_t row = task / key_heads_;
    const int64_t head = task % key_heads_;
    float* to = keys_of(row, head);
    matrix::pack<float>({rows_of(k_, row, head), k_.stride(1), 1}, length_, width_, kPanel, to);
    to += key_elements_;
    for (int64_t first = 0; first < length_; first += kKeys) {
      const int64_t depth = std::min(kKeys, length_ - first);
      matrix::pack<float>({rows_of(v_, row, head) + first * v_.stride(1), 1, v_.stride(1)}, width_,
                          depth, kPanel, to);
      to += depth * rounded_up(width_, kPanel);
    }
  }

  void attend(int64_t row, int64_t head, int64_t first) const {
    const int64_t count = std::min(kQueries, length_ - first);
    const int64_t padded = rounded_up(count, kTileRows);
    const matrix::Buffer memory(padded * (width_ + kKeys + rounded_up(width_, kPanel)) *
                                static_cast<int64_t>(sizeof(float)));
    float* queries = memory.as<float>();
    float* scores = queries + padded * width_;
    float* output = scores + padded * kKeys;
    matrix::pack<float>({rows_of(q_, row, head) + first * q_.stride(1), q_.stride(1), 1}, count,
                        width_, kTileRows, queries);
    Row rows[kQueries];
    const int64_t key_head = head / (heads_ / key_heads_);
    const float* keys = keys_of(row, key_head);
    const float* values = keys + key_elements_;
    const int64_t end = first + count;
    for (int64_t key = 0; key < end; key += kKeys) {
      const int64_t seen = std::min(kKeys, end - key);
      score(queries, count, first - key, keys + key * width_, seen, scores);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t visible = std::clamp<int64_t>(first + i + 1 - key, 0, seen);
        if (visible > 0) {
          exponentiate(scores + i * kKeys, visible, rounded_up(seen, 16), rows[i],
                       output + i * rounded_up(width_, kPanel), width_);
        } else {  // its tile has rows that see some
          std::fill_n(scores + i * kKeys, seen, 0.0F);
        }
      }
      add_values(scores, count, first - key, values, std::min(kKeys, length_ - key), seen, output,
                 key > 0);
      values += kKeys * rounded_up(width_, kPanel);
    }
    for (int64_t i = 0; i < count; ++i) {
      divide(output + i * rounded_up(width_, kPanel), static_cast<float>(rows[i].sum), width_,
             y_ + ((row * length_ + first + i) * heads_ + head) * width_);
    }
  }

  // Scores of `count` queries with the first `seen` keys of a block; query i sees the first
  // offset + i + 1. Tiles that no query sees are left as they are.
  void score(const float* queries, int64_t count, int64_t offset, const float* keys, int64_t seen,
             float* scores) const {
    const double scale = 1.0 / std::sqrt(static_cast<double>(width_));
    for (int64_t j = 0; j < seen; j += kPanel) {
      for (int64_t i = 0; i < count; i += kTileRows) {
        if (j <= offset + i + kTileRows - 1) {
          matrix::run_tile<float, float>(
              {queries + i * width_, kTileRows, false}, keys + j * width_, width_,
              {scores + i * kKeys + j, kKeys, kTileRows, kPanel, scale, false, nullptr});
        }
      }
    }
  }

  // Adds the weighted sums of a block's values, `held` rows a panel.
  void add_values(const float* scores, int64_t count, int64_t offset, const float* values,
                  int64_t held, int64_t seen, float* output, bool adds) const {
    const int64_t stride = rounded_up(width_, kPanel);
    for (int64_t j = 0; j < stride; j += kPanel) {
      for (int64_t i = 0; i < count; i += kTileRows) {
        const int64_t depth = std::min(seen, offset + i + kTileRows);
        if (depth > 0) {
          matrix::run_tile<float, float>(
              {scores + i * kKeys, kKeys, true}, values + j * held, depth,
              {output + i * stride + j, stride, kTileRows, kPanel, 1, adds, nullptr});
        }
      }
    }
  }

  const at::Tensor& q_;
  const at::Tensor& k_;
  const at::Tensor& v_;
  float* y_;
  int64_t length_;
  int64_t heads_;
  int64_t width_;
  int64_t key_heads_;
  int64_t key_elements_;
  int64_t value_elements_;
  matrix::Buffer packed_;
};

bool is_plain(const at::Tensor& x) {
  return x.is_cpu() && x.scalar_type() == at::kFloat && x.stride(3) == 1 && x.numel() > 0;
}

}  // namespace

bool has_causal_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  return matrix::has_processor() && is_plain(q) && is_plain(k) && is_plain(v);
}

at::Tensor causal_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  const at::Tensor y = at::empty({q.size(0), q.size(1), q.size(2), q.size(3)}, q.options());
  Attention(q, k, v, y).run();
  return y;
}

#else

bool has_causal_attention(const at::Tensor&, const at::Tensor&, const at::Tensor&) {
  return false;
}

at::Tensor causal_attention(const at::Tensor& q, const at::Tensor&, const at::Tensor&) {
  return q;
}

#endif

}  // namespace quench::decoder
