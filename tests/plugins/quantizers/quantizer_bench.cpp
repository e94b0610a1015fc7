#include "tests/plugins/quantizers/quantizer_bench.hpp"

#include <deque>
#include <stdexcept>

#include "quench/kit/error.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

// Host memory behind a sink: one block of bytes per tensor.
struct Store {
  struct Tensor {
    std::string name;
    std::vector<int64_t> shape;
    std::vector<int64_t> strides;
    std::vector<std::byte> bytes;
  };
  std::deque<Tensor> tensors;
  std::map<std::string, double> numbers;
  std::map<std::string, std::string> texts;
  std::shared_ptr<const quench_linear_op> op;
  std::shared_ptr<const quench_cache_op> cache_op;
};

quench_status store_tensor(void* context, const char* name, quench_dtype dtype, int32_t dimensions,
                           const int64_t* shape, quench_tensor* view, quench_error*) noexcept {
  auto& tensor = static_cast<Store*>(context)->tensors.emplace_back();
  tensor.name = name;
  tensor.shape.assign(shape, shape + dimensions);
  tensor.strides.resize(tensor.shape.size());
  int64_t count = 1;
  for (size_t d = tensor.shape.size(); d-- > 0;) {
    tensor.strides[d] = count;
    count *= tensor.shape[d];
  }
  tensor.bytes.resize(static_cast<size_t>(count * kit::bytes_of(dtype)), std::byte{0xA5});
  *view = {tensor.bytes.data(), {QUENCH_DEVICE_CPU, 0}, dimensions, dtype,
           tensor.shape.data(), tensor.strides.data(),  0};
  return QUENCH_OK;
}

quench_status store_number(void* context, const char* name, double value, quench_error*) noexcept {
  if (!std::string(name).starts_with("seconds.")) {
    static_cast<Store*>(context)->numbers[name] = value;
  }
  return QUENCH_OK;
}

quench_status store_text(void* context, const char* name, const char* value,
                         quench_error*) noexcept {
  static_cast<Store*>(context)->texts[name] = value;
  return QUENCH_OK;
}

template <typename Op>
std::shared_ptr<const Op> owned(const Op& op) {
  return {new Op(op), [](const Op* kept) {
            kept->release(kept->context);
            delete kept;
          }};
}

quench_status keep_op(void* context, const quench_linear_op* op, quench_error*) noexcept {
  static_cast<Store*>(context)->op = owned(*op);
  return QUENCH_OK;
}

quench_status keep_cache_op(void* context, const quench_cache_op* op, quench_error*) noexcept {
  static_cast<Store*>(context)->cache_op = owned(*op);
  return QUENCH_OK;
}

template <typename T>
std::vector<T> find(const Store& store, const std::string& name) {
  for (const Store::Tensor& tensor : store.tensors) {
    if (tensor.name == name) {
      const T* values = reinterpret_cast<const T*>(tensor.bytes.data());
      return {values, values + tensor.bytes.size() / sizeof(T)};
    }
  }
  return {};
}

template <typename T>
kit::OwnedTensor<T> handed_over(const Matrix& m) {
  kit::OwnedTensor<T> tensor({m.rows, m.columns});
  for (size_t i = 0; i < m.values.size(); ++i) {
    tensor.values()[i] = static_cast<T>(m.values[i]);
  }
  return tensor;
}

}  // namespace

Matrix Quantized::decoded() const {
  Matrix out = dequantized;
  for (int64_t r = 0; r < out.rows; ++r) {
    for (int64_t c = 0; c < out.columns; ++c) {
      const auto at = static_cast<size_t>(r * groups() + g_idx[static_cast<size_t>(c)]);
      out(r, c) = scales[at] * (codes[static_cast<size_t>(r * out.columns + c)] - zeros[at]);
    }
  }
  return out;
}

Matrix Quantized::applied(const Matrix& x, bool float64) const {
  return called(op->apply, x, dequantized.rows, float64);
}

Matrix Quantized::op_inputs(const Matrix& x, bool float64) const {
  return called(op->inputs, x, x.columns, float64);
}

Matrix Quantized::called(decltype(quench_linear_op::apply) function, const Matrix& x,
                         int64_t columns, bool float64) const {
  const Matrix room{x.rows, columns, std::vector<double>(static_cast<size_t>(x.rows * columns))};
  auto narrow = handed_over<float>(x);
  auto wide = handed_over<double>(x);
  auto narrow_out = handed_over<float>(room);
  auto wide_out = handed_over<double>(room);
  const quench_tensor from = float64 ? wide.view() : narrow.view();
  const quench_tensor to = float64 ? wide_out.view() : narrow_out.view();
  quench_error failure{sizeof failure, 0, {}};
  kit::check(function(op->context, &from, &to, nullptr, &failure), failure);
  return {x.rows, columns, kit::to_doubles(to, "y")};
}

const quench_item& linked_item() {
  return *quench_module_v1()->items[0];
}

std::string create_error(const std::string& parameters) {
  const auto* table = static_cast<const quench_quantizer_table*>(linked_item().table);
  quench_quantizer* quantizer = nullptr;
  quench_error error{sizeof error, 0, {}};
  if (table->create(parameters.data(), parameters.size(), &quantizer, &error) != QUENCH_OK) {
    return error.message;
  }
  table->destroy(quantizer);
  return "";
}

QuantizerBench::QuantizerBench(const std::string& parameters, int64_t in_features, uint32_t linears)
    : table_(static_cast<const quench_quantizer_table*>(linked_item().table)) {
  quench_error error{sizeof error, 0, {}};
  kit::check(table_->create(parameters.data(), parameters.size(), &quantizer_, &error), error);
  for (uint32_t i = 0; i < linears; ++i) {
    names_.push_back("linear" + std::to_string(i));
  }
  for (const std::string& name : names_) {
    linears_.push_back(
        {sizeof(quench_linear_info), 0, name.c_str(), "q", name.c_str(), nullptr, 0, in_features});
  }
  info_.struct_size = sizeof info_;
  info_.rows = -1;
  info_.expert = -1;
  info_.linear_count = linears;
  info_.linears = linears_.data();
  const quench_group_args args{sizeof args, 0, 0, 0, &info_, in_features, {QUENCH_DEVICE_CPU, 0}};
  kit::check(table_->begin(quantizer_, &args, &state_, &error), error);
}

QuantizerBench::~QuantizerBench() {
  table_->end(quantizer_, state_);
  table_->destroy(quantizer_);
}

quench_status QuantizerBench::observe(const Matrix& x, bool float64) {
  auto narrow = handed_over<float>(x);
  auto wide = handed_over<double>(x);
  const quench_tensor view = float64 ? wide.view() : narrow.view();
  const quench_observe_args args{sizeof args, 0, &view, nullptr, nullptr, nullptr, nullptr};
  quench_error error{sizeof error, 0, {}};
  const quench_status status = table_->observe(quantizer_, state_, &args, &error);
  error_ = error.message;
  return status;
}

quench_status QuantizerBench::observe_both(const Matrix& x, const Matrix& float_x) {
  auto rows = handed_over<double>(x);
  auto float_rows = handed_over<double>(float_x);
  const quench_tensor view = rows.view();
  const quench_tensor float_view = float_rows.view();
  const quench_observe_args args{sizeof args, 0, &view, &float_view, nullptr, nullptr, nullptr};
  quench_error error{sizeof error, 0, {}};
  return table_->observe(quantizer_, state_, &args, &error);
}

std::string QuantizerBench::prepare(const std::vector<Matrix>& weights, bool float64) {
  if (table_->prepare == nullptr) {
    throw std::runtime_error("this quantizer does not want the weights of a group");
  }
  std::deque<kit::OwnedTensor<float>> narrow;
  std::deque<kit::OwnedTensor<double>> wide;
  std::vector<quench_tensor> views;
  for (const Matrix& weight : weights) {
    narrow.push_back(handed_over<float>(weight));
    wide.push_back(handed_over<double>(weight));
    views.push_back(float64 ? wide.back().view() : narrow.back().view());
  }
  const quench_group_weights_args args{sizeof args, 0, static_cast<uint32_t>(views.size()),
                                       views.data(), nullptr};
  quench_error error{sizeof error, 0, {}};
  return table_->prepare(quantizer_, state_, &args, &error) == QUENCH_OK ? "" : error.message;
}

Quantized QuantizerBench::quantize(const Matrix& weight, uint32_t linear, bool float64) {
  return quantize_state(state_, weight, linear, float64);
}

Quantized QuantizerBench::quantize_without_codes(const Matrix& weight, uint32_t linear,
                                                 bool float64) {
  return quantize_state(state_, weight, linear, float64, QUENCH_QUANTIZE_WITHOUT_CODES);
}

Quantized QuantizerBench::quantize_on(const QuantizerBench& other, const Matrix& weight) {
  return quantize_state(other.state_, weight, 0, false);
}

bool QuantizerBench::accepts_groups_of(const QuantizerBench& other) const {
  return table_->accepts != nullptr && table_->accepts(quantizer_, other.quantizer_) == 1;
}

Quantized QuantizerBench::quantize_state(quench_quantizer_state* state, const Matrix& weight,
                                         uint32_t linear, bool float64, uint32_t flags) {
  auto narrow = handed_over<float>(weight);
  auto wide = handed_over<double>(weight);
  auto narrow_out = handed_over<float>(weight);
  auto wide_out = handed_over<double>(weight);
  const quench_tensor in = float64 ? wide.view() : narrow.view();
  const quench_tensor out = float64 ? wide_out.view() : narrow_out.view();
  Store store;
  const quench_quantize_sink sink{sizeof sink, &store,  store_tensor, store_number,
                                  store_text,  keep_op, keep_cache_op};
  const quench_quantize_args args{sizeof args, flags, linear, &in, &out, &sink, nullptr};
  quench_error error{sizeof error, 0, {}};
  Quantized result;
  result.status = table_->quantize(quantizer_, state, &args, &error);
  result.error = error.message;
  result.codes = find<uint8_t>(store, "codes");
  result.scales = find<double>(store, "scales");
  result.zeros = find<double>(store, "zeros");
  result.g_idx = find<int32_t>(store, "g_idx");
  result.perm = find<int32_t>(store, "perm");
  result.numbers = store.numbers;
  result.texts = store.texts;
  result.op = store.op;
  result.cache_op = store.cache_op;
  for (const Store::Tensor& tensor : store.tensors) {
    result.bytes[tensor.name] = tensor.bytes;
  }
  result.dequantized = {weight.rows, weight.columns, kit::to_doubles(out, "dequantized")};
  return result;
}

const quench_quantizer_table& QuantizerBench::gram() const {
  if (table_->gram_get == nullptr) {
    throw std::runtime_error("this quantizer keeps no Gram matrix");
  }
  return *table_;
}

}  // namespace quench::test
