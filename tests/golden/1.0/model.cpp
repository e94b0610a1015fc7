// golden_model: the smallest model family, in plain C++: an embedding, blocks of one linear, a
// head.
//
// | parameter | type | default | range | meaning |
// |-----------|------|---------|-------|---------|
// | none      |      |         |       |         |
//
//   checkpoints:
//     model: path/of/a/folder    # config.json: {"model_type": "golden_model", "vocab_size": 256,
//                                #   "hidden_size": 32, "num_hidden_layers": 2}
//
// Tensors: embed.weight [V,D], blocks.<b>.mix.weight [D,D], head.weight [V,D]. A block adds W·x to
// the residual stream h, where x is the root-mean-square norm of the mean of h over all tokens that
// a token sees:
//   stage 0:  h    -> h, x
//   stage 1:  h, x -> h + x·Wᵀ
// All arithmetic is float64 on one thread and rounds to the model's dtype (float32 or float64)
// between stages, so results are the same on every machine.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "quench/kit/model.hpp"

namespace kit = quench::kit;

namespace {

struct Weight {
  std::string name;
  int32_t role;
  std::vector<int64_t> shape;
  std::vector<double> values;
  uint64_t generation = 0;
};

struct Shape {
  int64_t vocabulary;
  int64_t width;
  int64_t blocks;
  int64_t positions;
};

constexpr const char* kKnownKeys[] = {
    "model_type",        "vocab_size",    "hidden_size",
    "num_hidden_layers", "architectures", "max_position_embeddings",
    "torch_dtype",       "dtype",         "transformers_version"};

Shape read_config(const kit::Json& config) {
  for (const std::string& key : config.keys("")) {
    if (std::find(std::begin(kKnownKeys), std::end(kKnownKeys), key) == std::end(kKnownKeys)) {
      kit::fail(QUENCH_UNSUPPORTED, "config.json: key `%s` is not understood", key.c_str());
    }
  }
  const auto size = [&config](const char* key, int64_t otherwise) {
    const int64_t value = config.integer_or(std::string("/") + key, otherwise);
    if (value < 1 || value > (int64_t{1} << 24)) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "config.json: %s: got %lld, wanted 1 to 16777216", key,
                static_cast<long long>(value));
    }
    return value;
  };
  return {size("vocab_size", 0), size("hidden_size", 0), size("num_hidden_layers", 0),
          size("max_position_embeddings", 4096)};
}

// out[n,o] = Σ_i x[n,i]·w[o,i], summed in the order of i.
std::vector<double> times_transposed(const std::vector<double>& x, const Weight& w) {
  const auto out = static_cast<size_t>(w.shape[0]);
  const auto in = static_cast<size_t>(w.shape[1]);
  const size_t rows = x.size() / in;
  std::vector<double> y(rows * out);
  for (size_t n = 0; n < rows; ++n) {
    for (size_t o = 0; o < out; ++o) {
      double sum = 0;
      for (size_t i = 0; i < in; ++i) {
        sum += x[n * in + i] * w.values[o * in + i];
      }
      y[n * out + o] = sum;
    }
  }
  return y;
}

class GoldenModel final : public kit::Model {
 public:
  struct Params {
    static void describe(kit::Fields<Params>&) {}
  };

  static int probe(const kit::Json& config) {
    return config.string_or("/model_type", "") == "golden_model" ? 100 : 0;
  }
  static std::unique_ptr<kit::Model> open(const quench_model_open_args& args) {
    return std::make_unique<GoldenModel>(args);
  }

  explicit GoldenModel(const quench_model_open_args& args)
      : dtype_(args.dtype), shape_(read_config(kit::Json(args.config_json, args.config_bytes))) {
    if (args.device.type != QUENCH_DEVICE_CPU) {
      kit::fail(QUENCH_UNSUPPORTED, "device: this family runs in host memory");
    }
    if (!kit::same(dtype_, kit::kFloat32) && !kit::same(dtype_, kit::kFloat64)) {
      kit::fail(QUENCH_UNSUPPORTED, "dtype: got %s, wanted float32 or float64",
                kit::name_of(dtype_).c_str());
    }
    const int64_t width = shape_.width;
    weights_.push_back({"embed.weight", QUENCH_ROLE_EMBEDDING, {shape_.vocabulary, width}, {}, 0});
    for (int64_t b = 0; b < shape_.blocks; ++b) {
      weights_.push_back({"blocks." + std::to_string(b) + ".mix.weight",
                          QUENCH_ROLE_MATRIX,
                          {width, width},
                          {},
                          0});
    }
    weights_.push_back({"head.weight", QUENCH_ROLE_HEAD, {shape_.vocabulary, width}, {}, 0});
    load(kit::Source(*args.source));
    describe();
  }
  ~GoldenModel() override {
    for (size_t b = 0; b < ops_.size(); ++b) {
      drop_op(b);
    }
  }
  GoldenModel(const GoldenModel&) = delete;
  GoldenModel& operator=(const GoldenModel&) = delete;

  // ---- Descriptions

  quench_model_info info() const override {
    return {sizeof(quench_model_info),
            static_cast<uint32_t>(shape_.blocks),
            shape_.width,
            shape_.vocabulary,
            shape_.positions,
            dtype_,
            {QUENCH_DEVICE_CPU, 0}};
  }
  std::span<const quench_parameter_info> parameters() const override { return parameters_; }
  const quench_block_info& block(uint32_t block) const override { return blocks_[block]; }
  std::span<const quench_carry_info> carry(uint32_t, uint32_t stage) const override {
    return {carry_, stage == 1 ? size_t{2} : size_t{1}};
  }

  // ---- The forward

  void embed(const quench_embed_args& args) override {
    const auto tokens = kit::elements<int32_t>(*args.batch->tokens, "tokens");
    check_positions(*args.batch);
    const auto width = static_cast<size_t>(shape_.width);
    std::vector<double> h(tokens.size() * width);
    for (size_t n = 0; n < tokens.size(); ++n) {
      if (tokens[n] < 0 || tokens[n] >= shape_.vocabulary) {
        kit::fail(QUENCH_INVALID_ARGUMENT, "token %zu: id %d, but the vocabulary has %lld", n,
                  tokens[n], static_cast<long long>(shape_.vocabulary));
      }
      const auto row = weights_.front().values.begin() + tokens[n] * shape_.width;
      std::copy(row, row + shape_.width, h.begin() + static_cast<ptrdiff_t>(n * width));
    }
    kit::from_doubles(h, *args.h, "h");
  }

  void stage(const quench_stage_args& args) override {
    kit::expects(args.block < blocks_.size() && args.stage < 2, "stage: no such block or stage");
    const bool first = args.stage == 0;
    kit::expects(args.in_count == (first ? 1u : 2u) && args.out_count == (first ? 2u : 1u),
                 "stage: wanted as many tensors as carry() says");
    std::vector<double> h = kit::to_doubles(args.in[0], "h");
    if (first) {
      kit::from_doubles(mean_of_visible(h, *args.batch), args.out[1], "x");
    } else {
      const std::vector<double> y = linear(args.block, args.in[1], args.stream);
      kit::expects(y.size() == h.size(), "stage: h and x differ in shape");
      for (size_t i = 0; i < h.size(); ++i) {
        h[i] += y[i];
      }
    }
    kit::from_doubles(h, args.out[0], "h");  // last, because it may share storage with the input
  }

  void token_nll(const quench_head_args& args) override {
    const auto targets = kit::elements<int32_t>(*args.targets, "targets");
    const auto nll = kit::elements<double>(*args.nll, "nll");
    const auto width = static_cast<size_t>(shape_.width);
    const std::vector<double> h = kit::to_doubles(*args.h, "h");
    kit::expects(h.size() == targets.size() * width && nll.size() == targets.size(),
                 "token_nll: h, targets and nll differ in length");
    for (size_t n = 0; n < targets.size(); ++n) {
      const std::vector<double> row(h.begin() + static_cast<ptrdiff_t>(n * width),
                                    h.begin() + static_cast<ptrdiff_t>((n + 1) * width));
      const std::vector<double> logits = times_transposed(row, weights_.back());
      const auto most = std::max_element(logits.begin(), logits.end());  // the first on ties
      if (args.argmax != nullptr) {
        kit::elements<int32_t>(*args.argmax, "argmax")[n] =
            static_cast<int32_t>(most - logits.begin());
      }
      kit::expects(targets[n] < shape_.vocabulary, "token_nll: a target outside the vocabulary");
      double sum = 0;
      for (const double logit : logits) {
        sum += std::exp(logit - *most);
      }
      nll[n] =
          targets[n] < 0 ? 0.0 : *most + std::log(sum) - logits[static_cast<size_t>(targets[n])];
    }
  }

  void logits(const quench_tensor& h, const quench_tensor& logits, void*) override {
    kit::from_doubles(times_transposed(kit::to_doubles(h, "h"), weights_.back()), logits, "logits");
  }

  // ---- Weights

  void weight_get(const std::string& name, const quench_tensor& destination) override {
    const Weight& weight = weights_[index_of(name)];
    check_shape(weight, destination);
    kit::from_doubles(weight.values, destination, name.c_str());
  }
  void weight_set(const std::string& name, const quench_tensor& value) override {
    Weight& weight = weights_[index_of(name)];
    check_shape(weight, value);
    weight.values = rounded(kit::to_doubles(value, name.c_str()));
    ++weight.generation;
  }
  uint64_t weight_generation(const std::string& name) const override {
    return weights_[index_of(name)].generation;
  }
  void set_linear_op(uint32_t block, uint32_t group, uint32_t linear,
                     const quench_linear_op* op) override {
    kit::expects(block < ops_.size() && group == 0 && linear == 0, "linear op: no such linear");
    drop_op(block);
    if (op != nullptr) {
      ops_[block] = *op;
    }
  }

  uint32_t features() const override { return QUENCH_MODEL_TAKES_ATTENDING_PADDING; }

 private:
  void load(const kit::Source& source) {
    for (Weight& weight : weights_) {
      const auto index = source.find(weight.name);
      if (!index) {
        kit::fail(QUENCH_NOT_FOUND, "tensor %s is missing", weight.name.c_str());
      }
      const quench_tensor_info found = source.info(*index);
      quench_tensor view{
          nullptr, {QUENCH_DEVICE_CPU, 0}, found.dimensions, found.dtype, found.shape, nullptr, 0};
      check_shape(weight, view);
      const int64_t count = kit::elements_of(view);
      std::vector<uint64_t> buffer(static_cast<size_t>(count * kit::bytes_of(found.dtype) + 7) / 8);
      source.read(*index, 0, static_cast<uint64_t>(count), buffer.data());
      view.data = buffer.data();
      weight.values = rounded(kit::to_doubles(view, weight.name.c_str()));
    }
    for (uint64_t i = 0; i < source.count(); ++i) {
      index_of(source.info(i).name);  // throws for names that the family does not know
    }
  }

  // Fills everything that info calls point to. None of it moves afterwards.
  void describe() {
    const auto blocks = static_cast<size_t>(shape_.blocks);
    uint64_t offset = 0;
    for (const Weight& weight : weights_) {
      parameters_.push_back({sizeof(quench_parameter_info), weight.role, weight.name.c_str(), 2,
                             weight.shape.data(), offset, 0, nullptr});
      offset += weight.values.size();
    }
    for (size_t b = 0; b < blocks; ++b) {
      const std::string& weight = weights_[b + 1].name;
      names_.push_back(weight.substr(0, weight.size() - std::string(".weight").size()));
      linears_.push_back({sizeof(quench_linear_info), 0, names_.back().c_str(), "mix",
                          weight.c_str(), nullptr, shape_.width, shape_.width});
      groups_.push_back({sizeof(quench_group_info), 0, 1, -1, -1, 1, &linears_.back(), 0, nullptr});
      blocks_.push_back({sizeof(quench_block_info), 2, 1, &groups_.back()});
    }
    ops_.resize(blocks);
    carry_[0] = {sizeof(quench_carry_info), "h", shape_.width, 1, dtype_};
    carry_[1] = {sizeof(quench_carry_info), "x", shape_.width, 1, dtype_};
  }

  size_t index_of(const std::string& name) const {
    for (size_t i = 0; i < weights_.size(); ++i) {
      if (weights_[i].name == name) {
        return i;
      }
    }
    kit::fail(QUENCH_NOT_FOUND, "this family has no tensor %s", name.c_str());
  }

  static void check_shape(const Weight& weight, const quench_tensor& tensor) {
    const auto got = kit::shape_of(tensor);
    if (!std::equal(got.begin(), got.end(), weight.shape.begin(), weight.shape.end())) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "tensor %s: got shape %s, wanted %s", weight.name.c_str(),
                kit::shape_text(got).c_str(), kit::shape_text(weight.shape).c_str());
    }
  }

  std::vector<double> rounded(std::vector<double> values) const {
    if (kit::same(dtype_, kit::kFloat32)) {
      for (double& value : values) {
        value = static_cast<double>(static_cast<float>(value));
      }
    }
    return values;
  }

  void check_positions(const quench_batch& batch) const {
    int64_t last = batch.tokens->shape[1] - 1;
    if (batch.positions != nullptr) {
      for (const int32_t position : kit::elements<int32_t>(*batch.positions, "positions")) {
        last = std::max<int64_t>(last, position);
        kit::expects(position >= 0, "positions: got a negative one");
      }
    }
    if (last >= shape_.positions) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "position %lld, wanted at most %lld",
                static_cast<long long>(last), static_cast<long long>(shape_.positions - 1));
    }
  }

  // x[b,t] is the norm of the mean of h[b,s] over the s <= t that token t sees; 0 for padding.
  std::vector<double> mean_of_visible(const std::vector<double>& h,
                                      const quench_batch& batch) const {
    const auto width = static_cast<size_t>(shape_.width);
    const auto length = static_cast<size_t>(batch.tokens->shape[1]);
    const size_t count = h.size() / width;
    kit::expects(count == static_cast<size_t>(kit::elements_of(*batch.tokens)),
                 "stage: h: wanted one row per token");
    std::vector<int32_t> segment(count, 0);
    if (batch.segments != nullptr) {
      const auto given = kit::elements<int32_t>(*batch.segments, "segments");
      segment.assign(given.begin(), given.end());
      kit::expects(segment.size() == count, "segments: wanted one per token");
    }
    std::vector<double> x(h.size());
    for (size_t n = 0; n < count; ++n) {
      double* mean = &x[n * width];
      const bool reads = segment[n] == QUENCH_SEGMENT_ATTENDING_PADDING;
      for (size_t s = n - n % length; s <= n && (segment[n] >= 0 || reads); ++s) {
        if (segment[s] == 0 || (segment[s] == segment[n] && !reads)) {
          for (size_t i = 0; i < width; ++i) {
            mean[i] += h[s * width + i];
          }
        }
      }
      double squares = 0;  // the norm cancels the denominator of the mean
      for (size_t i = 0; i < width; ++i) {
        squares += mean[i] * mean[i];
      }
      const double norm = std::sqrt(squares / static_cast<double>(width)) + 1e-12;
      for (size_t i = 0; i < width; ++i) {
        mean[i] /= norm;
      }
    }
    return x;
  }

  // x·Wᵀ of the block's linear, or the op that replaces it.
  std::vector<double> linear(uint32_t block, const quench_tensor& x, void* stream) {
    const quench_linear_op& op = ops_[block];
    if (op.apply == nullptr) {
      return times_transposed(kit::to_doubles(x, "x"), weights_[block + 1]);
    }
    std::vector<uint64_t> buffer(static_cast<size_t>(kit::elements_of(x)));  // wide enough
    quench_tensor y = x;  // in_features and out_features are equal here
    y.data = buffer.data();
    y.byte_offset = 0;
    quench_error error{sizeof error, 0, {}};
    kit::check(op.apply(op.context, &x, &y, stream, &error), error);
    return kit::to_doubles(y, "y");
  }

  void drop_op(size_t block) {
    if (ops_[block].release != nullptr) {
      ops_[block].release(ops_[block].context);
    }
    ops_[block] = {};
  }

  quench_dtype dtype_;
  Shape shape_;
  std::vector<Weight> weights_;  // embedding, one per block, head
  std::vector<quench_linear_op> ops_;
  std::vector<quench_parameter_info> parameters_;
  std::deque<std::string> names_;
  std::deque<quench_linear_info> linears_;
  std::deque<quench_group_info> groups_;
  std::vector<quench_block_info> blocks_;
  quench_carry_info carry_[2]{};
};

}  // namespace

QUENCH_MODULE("golden_model", "0.1.0",
              kit::model<GoldenModel>({.id = "golden_model",
                                       .version = "0.1.0",
                                       .summary = "The smallest model family: an embedding, "
                                                  "blocks of one linear, a head."}))
