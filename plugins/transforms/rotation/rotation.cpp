// rotation: QuaRot's offline part. Multiplies the residual stream by a random orthogonal matrix
// that mixes all channels, so that no channel stands out, and with `head_size` the values of each
// head by a randomized Hadamard matrix (heads.hpp). What QuaRot does online is the parameter
// `rotate` of quantizers. Weights that write the stream write it rotated, and weights that read it
// rotate it back:
//
//   W_reader <- W diag(w) R,   W_writer <- R' W,   norm weights w <- 1,   norm shift b <- (b / w) R
//
// A norm that subtracts the mean (LayerNorm) commutes with R only if R maps (1,...,1) to itself, so
// R is drawn that way. The transform refuses models that leave no place for R: a norm between a
// branch and the stream (OLMo 2), or an output head tied to the embedding behind a norm with
// weights. For those `rotate: all` rotates the inputs of linears instead.
//
// | parameter | type | default | range | meaning                                       |
// |-----------|------|---------|-------|-----------------------------------------------|
// | draw      | int  | 0       | >= 0  | index of the random draw under the run's seed |
// | stream    | bool | not set |       | whether the stream is rotated; true           |
// | head_size | int  | not set | >= 1  | size of heads whose values are rotated        |
//
//   quantizers:
//     - gptq: {bits: 3}
//       calibration: c4
//       transform: rotation
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>

#include "quench/kit/transform.hpp"
#include "transforms/rotation/heads.hpp"
#include "transforms/rotation/orthogonal.hpp"

namespace quench::transforms {

namespace {

constexpr uint64_t kRowGrain = 16;
constexpr const char* kInstead = "; a quantizer's rotate = all rotates its inputs instead";
constexpr double kLeastNormWeight = 1e-6;  // relative to the largest, when a shift is divided by it

// Multiplies every row of values [rows, size] by R.
void rotate_rows(const Orthogonal& rotation, std::vector<double>& values) {
  const auto size = static_cast<uint64_t>(rotation.size());
  kit::parallel_for(values.size() / size, kRowGrain, [&](uint64_t begin, uint64_t end) {
    for (uint64_t row = begin; row < end; ++row) {
      rotation.apply(values.data() + row * size);
    }
  });
}

// Multiplies every column of values [size, columns] by R'.
void rotate_columns(const Orthogonal& rotation, std::vector<double>& values) {
  const auto size = static_cast<uint64_t>(rotation.size());
  const uint64_t columns = values.size() / size;
  kit::parallel_for(columns, kRowGrain, [&](uint64_t begin, uint64_t end) {
    std::vector<double> column(size);
    for (uint64_t c = begin; c < end; ++c) {
      for (uint64_t r = 0; r < size; ++r) {
        column[r] = values[r * columns + c];
      }
      rotation.apply(column.data());
      for (uint64_t r = 0; r < size; ++r) {
        values[r * columns + c] = column[r];
      }
    }
  });
}

class Rotation final : public kit::Transform {
 public:
  struct Params {
    int64_t draw = 0;
    std::optional<bool> stream;
    std::optional<int64_t> head_size;
    static void describe(kit::Fields<Params>& fields) {
      fields.add("draw", &Params::draw, "index of the random draw under the run's seed")
          .at_least(0);
      fields.add("stream", &Params::stream,
                 "whether the residual stream is rotated; true if not set");
      fields
          .add("head_size", &Params::head_size,
               "elements of a head, or a divisor of them: the values of each are rotated between v "
               "and o; not set: none is")
          .at_least(1);
    }
  };

  explicit Rotation(const Params& params) : params_(params) {
    kit::expects(params.stream.value_or(true) || params.head_size,
                 "rotation: stream = false rotates nothing; wanted head_size beside it");
  }
  void apply(kit::ModelEditor& model) override;

 private:
  void rotate_stream(kit::ModelEditor& model) const;

  Params params_;
};

class Rotator {
 public:
  Rotator(kit::ModelEditor& model, const Orthogonal& rotation)
      : model_(model), rotation_(rotation) {}

  void norm(const quench_residual_norm& norm) {
    std::vector<double> weights(static_cast<size_t>(rotation_.size()), 1.0);
    if (norm.scale != nullptr) {
      auto scale = model_.get(norm.scale);
      weights = scale.values();
      std::fill(scale.values().begin(), scale.values().end(), 1.0);
      model_.set(norm.scale, scale);
    }
    if (norm.shift != nullptr) {
      move_shift(norm, weights);
    }
    for (uint32_t r = 0; r < norm.reader_count; ++r) {
      reader(norm.readers[r], weights);
    }
  }

  void writer(const quench_residual_writer& writer) {
    if (writer.bias != nullptr) {
      auto bias = model_.get(writer.bias);
      rotate_rows(rotation_, bias.values());
      model_.set(writer.bias, bias);
    }
    if (!done_.insert(writer.weight).second) {
      return;  // a tied head, already rotated as a reader
    }
    auto value = model_.get(writer.weight);
    if (writer.axis == 1) {
      rotate_rows(rotation_, value.values());
    } else {
      rotate_columns(rotation_, value.values());
    }
    model_.set(writer.weight, value);
  }

 private:
  void move_shift(const quench_residual_norm& norm, const std::vector<double>& weights) {
    double largest = 0;
    for (const double weight : weights) {
      largest = std::max(largest, std::fabs(weight));
    }
    auto shift = model_.get(norm.shift);
    for (size_t c = 0; c < weights.size(); ++c) {
      double& value = shift.values()[c];
      if (value != 0 && std::fabs(weights[c]) < kLeastNormWeight * largest) {
        kit::fail(QUENCH_UNSUPPORTED, "%s: channel %zu of %s is too small to divide a shift by",
                  norm.shift, c, norm.scale);
      }
      value = value == 0 ? 0 : value / weights[c];
    }
    rotate_rows(rotation_, shift.values());
    model_.set(norm.shift, shift);
  }

  void reader(const std::string& name, const std::vector<double>& weights) {
    auto value = model_.get(name);
    for (size_t i = 0; i < value.values().size(); ++i) {
      value.values()[i] *= weights[i % weights.size()];
    }
    rotate_rows(rotation_, value.values());
    model_.set(name, value);
    done_.insert(name);
  }

  kit::ModelEditor& model_;
  const Orthogonal& rotation_;
  std::set<std::string> done_;
};

// A weight that both reads and writes the stream can absorb R, but not also the weights of a norm.
void refuse_tied(kit::ModelEditor& model, const quench_residual_info& residual) {
  std::set<std::string> written;
  for (uint32_t w = 0; w < residual.writer_count; ++w) {
    written.insert(residual.writers[w].weight);
  }
  for (uint32_t n = 0; n < residual.norm_count; ++n) {
    const quench_residual_norm& norm = residual.norms[n];
    for (uint32_t r = 0; r < norm.reader_count && norm.scale != nullptr; ++r) {
      const auto weights = model.get(norm.scale);
      const bool ones = std::all_of(weights.values().begin(), weights.values().end(),
                                    [](double weight) { return weight == 1; });
      if (written.count(norm.readers[r]) != 0 && !ones) {
        kit::fail(QUENCH_UNSUPPORTED,
                  "the output head is tied to %s and reads the output of a norm with weights, "
                  "which cannot be folded into it%s",
                  norm.readers[r], kInstead);
      }
    }
  }
}

void Rotation::apply(kit::ModelEditor& model) {
  if (params_.stream.value_or(true)) {
    rotate_stream(model);
  }
  if (params_.head_size) {
    rotate_heads(model, *params_.head_size, "rotation/" + std::to_string(params_.draw) + "/heads");
  }
}

void Rotation::rotate_stream(kit::ModelEditor& model) const {
  if (model.residual() == nullptr) {
    throw kit::Error(QUENCH_UNSUPPORTED, std::string(model.no_residual()) + kInstead);
  }
  const quench_residual_info& residual = *model.residual();
  refuse_tied(model, residual);
  bool keeps_mean = false;
  for (uint32_t n = 0; n < residual.norm_count; ++n) {
    keeps_mean = keeps_mean || residual.norms[n].kind == QUENCH_NORM_CENTERED;
  }
  const Orthogonal rotation(model.info().width, keeps_mean,
                            "rotation/" + std::to_string(params_.draw));
  model.change("residual stream", keeps_mean ? "rotated, its mean kept" : "rotated");
  Rotator rotator(model, rotation);
  for (uint32_t n = 0; n < residual.norm_count; ++n) {
    rotator.norm(residual.norms[n]);
  }
  for (uint32_t w = 0; w < residual.writer_count; ++w) {
    rotator.writer(residual.writers[w]);
  }
}

}  // namespace

}  // namespace quench::transforms

QUENCH_MODULE(
    "quench.rotation", "0.1.0",
    quench::kit::transform<quench::transforms::Rotation>(
        {.id = "rotation",
         .version = "0.1.0",
         .summary = "Rotates the residual stream by a random Hadamard-like matrix, so that "
                    "no channel stands out, and values within heads.",
         .reference = "Ashkboos et al. 2024, QuaRot, arXiv 2404.00456, section 4",
         .example = "{draw: 0}"}))
