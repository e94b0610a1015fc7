// The forward in plain float64 loops, row by row of a batch.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "tests/plugins/models/tiny_llama.hpp"

namespace quench::test {

namespace {

using Row = std::vector<double>;
using Rows = std::vector<Row>;

double softplus(double x) {
  return std::log1p(std::exp(x));
}

// The `count` elements from x on, divided by their root mean square.
void rms(double* x, size_t count, const double* weight, double eps) {
  double square = 0.0;
  for (size_t c = 0; c < count; ++c) {
    square += x[c] * x[c] / static_cast<double>(count);
  }
  for (size_t c = 0; c < count; ++c) {
    x[c] = x[c] / std::sqrt(square + eps) * weight[c];
  }
}

void layer_norm(Row& x, double eps) {
  double mean = 0.0;
  double variance = 0.0;
  for (const double value : x) {
    mean += value / static_cast<double>(x.size());
  }
  for (const double value : x) {
    variance += (value - mean) * (value - mean) / static_cast<double>(x.size());
  }
  for (double& value : x) {
    value = (value - mean) / std::sqrt(variance + eps);
  }
}

void add(Rows& to, const Rows& more) {
  for (size_t n = 0; n < to.size(); ++n) {
    for (size_t c = 0; c < to[n].size(); ++c) {
      to[n][c] += more[n][c];
    }
  }
}

// One sequence's forward.
class Forward {
 public:
  explicit Forward(const TinyLlama& model) : m_(model) {}

  Rows run(const int32_t* ids, int64_t length) const {
    Rows h;
    const Row& embedding = weight("model.embed_tokens.weight");
    for (int64_t t = 0; t < length; ++t) {
      const auto at = embedding.begin() + ids[t] * m_.width;
      h.emplace_back(at, at + m_.width);
    }
    for (int64_t i = 0; i < m_.blocks; ++i) {
      const std::string block = "model.layers." + std::to_string(i) + ".";
      const auto branch = [&](const std::string& norm_name, const auto& compute) {
        if (m_.norm_after_branch) {
          add(h, norm(compute(h), block + norm_name));
        } else {
          add(h, compute(norm(h, block + norm_name)));
        }
      };
      branch(m_.attention_norm,
             [&](const Rows& x) { return attention(x, i, block + "self_attn."); });
      branch(m_.mlp_norm, [&](const Rows& x) {
        return m_.experts > 0 ? mixture(x, block + "mlp.") : mlp(x, block + "mlp.");
      });
    }
    const Row& head = weight(m_.tied ? "model.embed_tokens.weight" : "lm_head.weight");
    return product(norm(h, "model.norm"), head, nullptr);
  }

 private:
  const Row& weight(const std::string& name) const { return m_.weights.at(name); }

  static Rows product(const Rows& x, const Row& matrix, const Row* bias) {
    const size_t in = x[0].size();
    Rows y(x.size(), Row(matrix.size() / in));
    for (size_t n = 0; n < x.size(); ++n) {
      for (size_t o = 0; o < y[n].size(); ++o) {
        y[n][o] = bias == nullptr ? 0.0 : (*bias)[o];
        for (size_t i = 0; i < in; ++i) {
          y[n][o] += x[n][i] * matrix[o * in + i];
        }
      }
    }
    return y;
  }
  Rows linear(const Rows& x, const std::string& name) const {
    const auto bias = m_.weights.find(name + ".bias");
    return product(x, weight(name + ".weight"), bias == m_.weights.end() ? nullptr : &bias->second);
  }
  Rows norm(Rows x, const std::string& name) const {
    for (Row& row : x) {
      if (m_.layer_norm_without_weights) {
        layer_norm(row, m_.eps);
      } else {
        rms(row.data(), row.size(), weight(name + ".weight").data(), m_.eps);
      }
    }
    return x;
  }

  // Angle of pair d at position t, in float32 as models are trained with.
  float angle(size_t d, size_t t) const {
    const auto pairs = static_cast<float>(m_.head);
    float frequency =
        1.0F / std::pow(static_cast<float>(m_.theta), static_cast<float>(2 * d) / pairs);
    if (m_.llama3) {
      const double wave = 2.0 * std::numbers::pi / frequency;
      const double kept = std::clamp((16.0 / wave - 1.0) / (4.0 - 1.0), 0.0, 1.0);
      frequency = static_cast<float>(frequency * (kept + (1.0 - kept) / 8.0));
    }
    return static_cast<float>(t) * frequency;
  }
  void rotate(double* x, size_t t) const {
    const auto half = static_cast<size_t>(m_.head) / 2;
    for (size_t d = 0; d < half; ++d) {
      const double cosine = std::cos(angle(d, t));
      const double sine = std::sin(angle(d, t));
      const double low = x[d];
      const double high = x[d + half];
      x[d] = low * cosine - high * sine;
      x[d + half] = high * cosine + low * sine;
    }
  }
  void clamp(Row& row) const {
    for (double& value : row) {
      value = m_.clip > 0.0 ? std::min(std::max(value, -m_.clip), m_.clip) : value;
    }
  }
  // Norm, clamp and rotation of q or k.
  void prepare(Rows& x, const std::string& norm_name, bool rotated) const {
    for (size_t t = 0; t < x.size(); ++t) {
      const auto together = static_cast<size_t>(m_.head_norm == 0 || m_.head_norm == m_.head
                                                    ? m_.head_norm
                                                    : static_cast<int64_t>(x[t].size()));
      for (size_t c = 0; together > 0 && c < x[t].size(); c += together) {
        rms(&x[t][c], together, weight(norm_name + ".weight").data(), m_.eps);
      }
      clamp(x[t]);
      for (size_t c = 0; rotated && c < x[t].size(); c += static_cast<size_t>(m_.head)) {
        rotate(&x[t][c], t);
      }
    }
  }

  Rows attention(const Rows& x, int64_t block, const std::string& at) const {
    Rows q = linear(x, at + "q_proj");
    Rows k = linear(x, at + "k_proj");
    Rows v = linear(x, at + "v_proj");
    const bool rotated = m_.rotated.empty() || m_.rotated[static_cast<size_t>(block)] != 0;
    prepare(q, at + "q_norm", rotated);
    prepare(k, at + "k_norm", rotated);
    for (Row& row : v) {
      clamp(row);
    }
    return linear(mix(q, k, v), at + "o_proj");
  }
  Rows mix(const Rows& q, const Rows& k, const Rows& v) const {
    const auto head = static_cast<size_t>(m_.head);
    const auto shared = static_cast<size_t>(m_.heads / m_.kv_heads);
    Rows out(q.size(), Row(q[0].size(), 0.0));
    for (size_t h = 0; h < static_cast<size_t>(m_.heads); ++h) {
      for (size_t t = 0; t < q.size(); ++t) {
        Row likely(t + 1, 0.0);
        double total = 0.0;
        for (size_t s = 0; s <= t; ++s) {
          double score = 0.0;
          for (size_t d = 0; d < head; ++d) {
            score += q[t][h * head + d] * k[s][h / shared * head + d];
          }
          likely[s] = std::exp(score / std::sqrt(static_cast<double>(head)));
          total += likely[s];
        }
        for (size_t s = 0; s <= t; ++s) {
          for (size_t d = 0; d < head; ++d) {
            out[t][h * head + d] += likely[s] / total * v[s][h / shared * head + d];
          }
        }
      }
    }
    return out;
  }

  Rows mlp(const Rows& x, const std::string& at) const {
    Rows inside = linear(x, at + "up_proj");
    const Rows gate = m_.xielu ? inside : linear(x, at + "gate_proj");
    for (size_t n = 0; n < inside.size(); ++n) {
      for (size_t c = 0; c < inside[n].size(); ++c) {
        const double g = gate[n][c];
        inside[n][c] = m_.xielu ? xielu(g, at) : inside[n][c] * g / (1.0 + std::exp(-g));
      }
    }
    return linear(inside, at + "down_proj");
  }
  Rows mixture(const Rows& x, const std::string& at) const {
    const Rows scores = product(x, weight(at + "gate.weight"), nullptr);
    Rows sum(x.size(), Row(x[0].size(), 0.0));
    for (size_t n = 0; n < x.size(); ++n) {
      Row likely;
      double total = 0.0;
      for (const double score : scores[n]) {
        likely.push_back(std::exp(score));
        total += likely.back();
      }
      std::vector<size_t> order(likely.size());
      std::iota(order.begin(), order.end(), size_t{0});
      std::sort(order.begin(), order.end(),
                [&](size_t a, size_t b) { return likely[a] > likely[b]; });
      order.resize(static_cast<size_t>(m_.picks));
      if (m_.sum_to_one) {
        total = 0.0;
        for (const size_t e : order) {
          total += likely[e];
        }
      }
      for (const size_t e : order) {
        const Rows made = mlp({x[n]}, at + "experts." + std::to_string(e) + ".");
        for (size_t c = 0; c < sum[n].size(); ++c) {
          sum[n][c] += likely[e] / total * made[0][c];
        }
      }
    }
    return sum;
  }
  double xielu(double x, const std::string& at) const {
    const double beta = m_.xielu_beta;
    if (x > 0.0) {
      return softplus(weight(at + "act_fn.alpha_p")[0]) * x * x + beta * x;
    }
    const double alpha = beta + softplus(weight(at + "act_fn.alpha_n")[0]);
    return alpha * (std::expm1(std::min(x, m_.xielu_eps)) - x) + beta * x;
  }

  const TinyLlama& m_;
};

}  // namespace

std::vector<double> TinyLlama::logits(const Tokens& tokens) const {
  std::vector<double> all;
  for (int64_t row = 0; row < tokens.rows; ++row) {
    for (const Row& values :
         Forward(*this).run(&tokens.ids[static_cast<size_t>(row * tokens.length)], tokens.length)) {
      all.insert(all.end(), values.begin(), values.end());
    }
  }
  return all;
}

}  // namespace quench::test
