#include "models/decoder/causal_attention.hpp"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>

#include "models/decoder/elementwise.hpp"
#include "models/decoder/row_exponentials.hpp"
#include "quench/kit/host.hpp"
#include "shared/matrix/buffer.hpp"
#include "shared/matrix/kernel.hpp"
#include "shared/matrix/tile.hpp"

namespace quench::decoder {

namespace {

constexpr int64_t kKeys = 256;  // keys whose scores exist at once: 112 KiB with the queries
constexpr int64_t kLanes = 16;  // rows of scores are padded to a multiple of this

int64_t rounded_up(int64_t count, int64_t size) {
  return (count + size - 1) / size * size;
}

// Keys and values of all heads, packed into panels; queries in blocks.
template <typename T>
class Attention {
 public:
  Attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& y)
      : isa_(matrix::isa()),
        rows_(matrix::tile_rows(isa_)),
        panel_(matrix::tile_columns<T>(isa_)),
        queries_(matrix::kBlockRows / rows_ * rows_),
        q_(q),
        k_(k),
        v_(v),
        y_(y.mutable_data_ptr<T>()),
        length_(q.size(1)),
        heads_(q.size(2)),
        width_(q.size(3)),
        key_heads_(k.size(2)),
        key_elements_(rounded_up(length_, panel_) * width_),
        value_elements_(length_ * rounded_up(width_, panel_)),
        packed_(q.size(0) * key_heads_ * (key_elements_ + value_elements_) *
                static_cast<int64_t>(sizeof(T))) {}

  void run() {
    for_each(q_.size(0) * key_heads_, [this](int64_t task) { pack_head(task); });
    const int64_t blocks = (length_ + queries_ - 1) / queries_;
    for_each(q_.size(0) * heads_ * blocks, [this, blocks](int64_t task) {
      const int64_t head = task / blocks;
      attend(head / heads_, head % heads_, task % blocks * queries_);
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

  static const T* rows_of(const at::Tensor& x, int64_t row, int64_t head) {
    return x.const_data_ptr<T>() + row * x.stride(0) + head * x.stride(2);
  }

  T* keys_of(int64_t row, int64_t head) const {
    return packed_.as<T>() + (row * key_heads_ + head) * (key_elements_ + value_elements_);
  }

  // Keys in panels [D, keys per tile]; values, kKeys rows at a time, in panels [keys, slice of D].
  void pack_head(int64_t task) const {
    const int64_t row = task / key_heads_;
    const int64_t head = task % key_heads_;
    T* to = keys_of(row, head);
    matrix::pack<T>(isa_, {rows_of(k_, row, head), k_.stride(1), 1}, length_, width_, panel_, to);
    to += key_elements_;
    for (int64_t first = 0; first < length_; first += kKeys) {
      const int64_t depth = std::min(kKeys, length_ - first);
      matrix::pack<T>(isa_, {rows_of(v_, row, head) + first * v_.stride(1), 1, v_.stride(1)},
                      width_, depth, panel_, to);
      to += depth * rounded_up(width_, panel_);
    }
  }

  void attend(int64_t row, int64_t head, int64_t first) const {
    const int64_t count = std::min(queries_, length_ - first);
    const int64_t padded = rounded_up(count, rows_);
    const matrix::Buffer memory(padded * (width_ + kKeys + rounded_up(width_, panel_)) *
                                static_cast<int64_t>(sizeof(T)));
    T* queries = memory.as<T>();
    T* scores = queries + padded * width_;
    T* output = scores + padded * kKeys;
    matrix::pack<T>(isa_, {rows_of(q_, row, head) + first * q_.stride(1), q_.stride(1), 1}, count,
                    width_, rows_, queries);
    RunningRow<T> rows[matrix::kBlockRows];
    const int64_t key_head = head / (heads_ / key_heads_);
    const T* keys = keys_of(row, key_head);
    const T* values = keys + key_elements_;
    const int64_t end = first + count;
    for (int64_t key = 0; key < end; key += kKeys) {
      const int64_t seen = std::min(kKeys, end - key);
      score(queries, count, first - key, keys + key * width_, seen, scores);
      for (int64_t i = 0; i < count; ++i) {
        const int64_t visible = std::clamp<int64_t>(first + i + 1 - key, 0, seen);
        if (visible > 0) {
          exponentiate(isa_, scores + i * kKeys, visible, rounded_up(seen, kLanes), rows[i],
                       output + i * rounded_up(width_, panel_), width_);
        } else {  // the tile has rows that see some of the keys
          std::fill_n(scores + i * kKeys, seen, T{0});
        }
      }
      add_values(scores, count, first - key, values, std::min(kKeys, length_ - key), seen, output,
                 key > 0);
      values += kKeys * rounded_up(width_, panel_);
    }
    for (int64_t i = 0; i < count; ++i) {
      divide(isa_, output + i * rounded_up(width_, panel_), static_cast<T>(rows[i].sum), width_,
             y_ + ((row * length_ + first + i) * heads_ + head) * width_);
    }
  }

  // Scores of `count` queries against the first `seen` keys of a block. Query i sees the first
  // offset + i + 1 of them. Tiles that no query sees are not written.
  void score(const T* queries, int64_t count, int64_t offset, const T* keys, int64_t seen,
             T* scores) const {
    const double scale = 1.0 / std::sqrt(static_cast<double>(width_));
    for (int64_t j = 0; j < seen; j += panel_) {
      for (int64_t i = 0; i < count; i += rows_) {
        if (j <= offset + i + rows_ - 1) {
          matrix::run_tile<T, T>(
              isa_, {queries + i * width_, rows_, false}, keys + j * width_, width_,
              {scores + i * kKeys + j, kKeys, rows_, panel_, scale, false, nullptr});
        }
      }
    }
  }

  // Adds the weighted sums of a block's values, `held` rows per panel.
  void add_values(const T* scores, int64_t count, int64_t offset, const T* values, int64_t held,
                  int64_t seen, T* output, bool adds) const {
    const int64_t stride = rounded_up(width_, panel_);
    for (int64_t j = 0; j < stride; j += panel_) {
      for (int64_t i = 0; i < count; i += rows_) {
        const int64_t depth = std::min(seen, offset + i + rows_);
        if (depth > 0) {
          matrix::run_tile<T, T>(
              isa_, {scores + i * kKeys, kKeys, true}, values + j * held, depth,
              {output + i * stride + j, stride, rows_, panel_, 1, adds, nullptr});
        }
      }
    }
  }

  matrix::Isa isa_;
  int64_t rows_;     // per tile
  int64_t panel_;    // per tile
  int64_t queries_;  // per task
  const at::Tensor& q_;
  const at::Tensor& k_;
  const at::Tensor& v_;
  T* y_;
  int64_t length_;
  int64_t heads_;
  int64_t width_;
  int64_t key_heads_;
  int64_t key_elements_;
  int64_t value_elements_;
  matrix::Buffer packed_;
};

}  // namespace

at::Tensor causal_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  const at::ScalarType type = q.scalar_type();
  if (type != at::kFloat && type != at::kDouble) {
    return causal_attention(q.to(at::kFloat), k.to(at::kFloat), v.to(at::kFloat)).to(type);
  }
  at::Tensor y = at::empty({q.size(0), q.size(1), q.size(2), q.size(3)}, q.options());
  if (q.numel() == 0) {
    return y;
  }
  const at::Tensor queries = with_unit_stride(q);
  const at::Tensor keys = with_unit_stride(k);
  const at::Tensor values = with_unit_stride(v);
  if (type == at::kDouble) {
    Attention<double>(queries, keys, values, y).run();
  } else {
    Attention<float>(queries, keys, values, y).run();
  }
  return y;
}

}  // namespace quench::decoder
