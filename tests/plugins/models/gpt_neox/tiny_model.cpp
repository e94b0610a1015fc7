#include "tests/plugins/models/gpt_neox/tiny_model.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

namespace quench::test {

namespace {

using Rows = std::vector<std::vector<double>>;

Rows layer_norm(const Rows& x, const std::vector<double>& weight, const std::vector<double>& bias,
                double eps) {
  Rows out = x;
  for (auto& row : out) {
    double mean = 0.0;
    for (const double value : row) {
      mean += value / static_cast<double>(row.size());
    }
    double variance = 0.0;
    for (const double value : row) {
      variance += (value - mean) * (value - mean) / static_cast<double>(row.size());
    }
    for (size_t c = 0; c < row.size(); ++c) {
      row[c] = (row[c] - mean) / std::sqrt(variance + eps) * weight[c] + bias[c];
    }
  }
  return out;
}

// An empty bias is none.
Rows linear(const Rows& x, const std::vector<double>& weight, const std::vector<double>& bias) {
  const size_t in = x[0].size();
  const size_t out = weight.size() / in;
  Rows y(x.size(), std::vector<double>(out));
  for (size_t n = 0; n < x.size(); ++n) {
    for (size_t o = 0; o < out; ++o) {
      double sum = bias.empty() ? 0.0 : bias[o];
      for (size_t i = 0; i < in; ++i) {
        sum += x[n][i] * weight[o * in + i];
      }
      y[n][o] = sum;
    }
  }
  return y;
}

Rows add(const Rows& a, const Rows& b) {
  Rows sum = a;
  for (size_t n = 0; n < a.size(); ++n) {
    for (size_t c = 0; c < a[n].size(); ++c) {
      sum[n][c] += b[n][c];
    }
  }
  return sum;
}

// Rotates pairs (i, i + dims/2) of one head by position * theta^(-2i/dims), angles in float; dims/2
// is rounded up.
void rotate(double* head, size_t dims, size_t position, double theta) {
  const size_t half = (dims + 1) / 2;
  for (size_t i = 0; i < half; ++i) {
    const float frequency = 1.0f / std::pow(static_cast<float>(theta),
                                            static_cast<float>(2 * i) / static_cast<float>(dims));
    const float angle = static_cast<float>(position) * frequency;
    const double cosine = std::cos(angle);
    const double sine = std::sin(angle);
    const double low = head[i];
    const double high = head[i + half];
    head[i] = low * cosine - high * sine;
    head[i + half] = high * cosine + low * sine;
  }
}

// Rows of one sequence, each [head][q|k|v][d] -> [head][d].
Rows attention(Rows fused, size_t heads, size_t rotary, double theta) {
  const size_t head = fused[0].size() / heads / 3;
  Rows out(fused.size(), std::vector<double>(heads * head, 0.0));
  for (size_t h = 0; h < heads; ++h) {
    const size_t q = h * 3 * head;
    const size_t k = q + head;
    const size_t v = k + head;
    for (size_t t = 0; t < fused.size(); ++t) {
      rotate(&fused[t][q], rotary, t, theta);
      rotate(&fused[t][k], rotary, t, theta);
    }
    for (size_t t = 0; t < fused.size(); ++t) {
      std::vector<double> weights;
      double total = 0.0;
      for (size_t s = 0; s <= t; ++s) {
        double score = 0.0;
        for (size_t d = 0; d < head; ++d) {
          score += fused[t][q + d] * fused[s][k + d];
        }
        weights.push_back(std::exp(score / std::sqrt(static_cast<double>(head))));
        total += weights.back();
      }
      for (size_t s = 0; s <= t; ++s) {
        for (size_t d = 0; d < head; ++d) {
          out[t][h * head + d] += weights[s] / total * fused[s][v + d];
        }
      }
    }
  }
  return out;
}

}  // namespace

TinyModel& TinyModel::draw() {
  std::mt19937 engine(17);
  const auto tensor = [&](const std::string& name, std::vector<int64_t> shape, double center,
                          double spread) {
    int64_t count = 1;
    for (const int64_t size : shape) {
      count *= size;
    }
    std::vector<double> values;
    for (int64_t i = 0; i < count; ++i) {
      const double unit = static_cast<double>(engine() % 2001) / 1000.0 - 1.0;
      values.push_back(center + std::nearbyint(unit * spread * 1024.0) / 1024.0);
    }
    weights[name] = values;
    shapes[name] = std::move(shape);
  };
  tensor("embed_in.weight", {vocabulary, width}, 0.0, embedding_spread);
  for (int64_t i = 0; i < blocks; ++i) {
    const std::string at = "layers." + std::to_string(i) + ".";
    for (const char* norm : {"input_layernorm", "post_attention_layernorm"}) {
      tensor(at + norm + ".weight", {width}, 1.0, 0.5);
      tensor(at + norm + ".bias", {width}, 0.0, 0.5);
    }
    tensor(at + "attention.query_key_value.weight", {3 * width, width}, 0.0, 0.5);
    tensor(at + "attention.dense.weight", {width, width}, 0.0, 0.3);
    if (attention_bias) {
      tensor(at + "attention.query_key_value.bias", {3 * width}, 0.0, 0.5);
      tensor(at + "attention.dense.bias", {width}, 0.0, 0.5);
    }
    tensor(at + "mlp.dense_h_to_4h.weight", {inner, width}, 0.0, 0.3);
    tensor(at + "mlp.dense_h_to_4h.bias", {inner}, 0.0, 0.5);
    tensor(at + "mlp.dense_4h_to_h.weight", {width, inner}, 0.0, 0.3);
    tensor(at + "mlp.dense_4h_to_h.bias", {width}, 0.0, 0.5);
  }
  tensor("final_layer_norm.weight", {width}, 1.0, 0.5);
  tensor("final_layer_norm.bias", {width}, 0.0, 0.5);
  if (!tied) {
    tensor("embed_out.weight", {vocabulary, width}, 0.0, 0.5);
  }
  return *this;
}

std::string TinyModel::config() const {
  nlohmann::json config = {{"model_type", "gpt_neox"},
                           {"num_hidden_layers", blocks},
                           {"hidden_size", width},
                           {"num_attention_heads", heads},
                           {"intermediate_size", inner},
                           {"vocab_size", vocabulary},
                           {"max_position_embeddings", positions},
                           {"rotary_pct", rotary_part},
                           {"use_parallel_residual", parallel},
                           {"attention_bias", attention_bias},
                           {"tie_word_embeddings", tied}};
  if (theta != 10000.0) {
    config["rotary_emb_base"] = theta;
  }
  if (eps != 1e-5) {
    config["layer_norm_eps"] = eps;
  }
  return config.dump();
}

void TinyModel::store(MemorySource& source, quench_dtype dtype) const {
  for (const auto& [name, values] : weights) {
    const bool head = name == "embed_out.weight";
    source.add(head ? name : "gpt_neox." + name, shapes.at(name), values, dtype);
  }
}

std::vector<double> TinyModel::logits(const Tokens& tokens) const {
  const auto weight = [this](const std::string& name) {
    const auto found = weights.find(name);
    return found == weights.end() ? std::vector<double>{} : found->second;
  };
  const auto dims = static_cast<size_t>(static_cast<double>(width / heads) * rotary_part);
  const std::vector<double> embedding = weight("embed_in.weight");
  const std::vector<double> head = tied ? embedding : weight("embed_out.weight");
  std::vector<double> all;
  for (int64_t row = 0; row < tokens.rows; ++row) {
    Rows h;
    for (int64_t t = 0; t < tokens.length; ++t) {
      const auto at =
          embedding.begin() + tokens.ids[static_cast<size_t>(row * tokens.length + t)] * width;
      h.emplace_back(at, at + width);
    }
    for (int64_t i = 0; i < blocks; ++i) {
      const std::string at = "layers." + std::to_string(i) + ".";
      const auto norm = [&](const Rows& x, const std::string& name) {
        return layer_norm(x, weight(at + name + ".weight"), weight(at + name + ".bias"), eps);
      };
      const auto apply = [&](const Rows& x, const std::string& name) {
        return linear(x, weight(at + name + ".weight"), weight(at + name + ".bias"));
      };
      const Rows attended =
          apply(attention(apply(norm(h, "input_layernorm"), "attention.query_key_value"),
                          static_cast<size_t>(heads), dims, theta),
                "attention.dense");
      const Rows after = add(h, attended);
      Rows inside =
          apply(norm(parallel ? h : after, "post_attention_layernorm"), "mlp.dense_h_to_4h");
      for (auto& values : inside) {
        for (double& value : values) {
          value = 0.5 * value * (1.0 + std::erf(value / std::sqrt(2.0)));
        }
      }
      h = add(after, apply(inside, "mlp.dense_4h_to_h"));
    }
    const Rows made = linear(
        layer_norm(h, weight("final_layer_norm.weight"), weight("final_layer_norm.bias"), eps),
        head, {});
    for (const auto& values : made) {
      all.insert(all.end(), values.begin(), values.end());
    }
  }
  return all;
}

Tokens some_tokens(const TinyModel& model, int64_t rows, int64_t length) {
  Tokens tokens{rows, length, {}};
  for (int64_t i = 0; i < rows * length; ++i) {
    tokens.ids.push_back(static_cast<int32_t>((i * i * 7 + i * 5 + 3) % model.vocabulary));
  }
  return tokens;
}

}  // namespace quench::test
