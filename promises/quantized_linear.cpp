#include "promises/quantized_linear.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <deque>
#include <utility>

#include "promises/tensors.hpp"

namespace quench::promises {

namespace {

constexpr uint32_t kUnwritten = 0xFFFFFFFF;  // as outputs that another process is to write

// A tensor that a quantizer asked its sink for.
struct SinkTensor {
  std::string name;
  quench_dtype dtype;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  std::vector<uint64_t> bytes;  // of words, for alignment
};

struct Sink {
  std::deque<SinkTensor> tensors;
  QuantizedLinear* result;
  int64_t out = 0;
  int64_t in = 0;
};

constexpr int64_t kOpRows = 6;  // the last one is zeros

// Twice on the same rows, which an op answers twice alike.
quench_status try_op(const quench_linear_op& op, const Sink& sink, quench_error* error) {
  std::vector<float> rows = numbers<float>(9, static_cast<size_t>(kOpRows * sink.in));
  std::fill(rows.end() - sink.in, rows.end(), 0.0F);
  auto x = tensor<float>({kOpRows, sink.in}, rows);
  const quench_tensor from = x.view();
  for (int time = 0; time < 2; ++time) {
    auto y = tensor<float>({kOpRows, sink.out},
                           std::vector<float>(static_cast<size_t>(kOpRows * sink.out), -77.0F));
    const quench_tensor to = y.view();
    if (const quench_status status = op.apply(op.context, &from, &to, nullptr, error);
        status != QUENCH_OK) {
      return status;
    }
    if (time != 0 && sink.result->op_output != y.values()) {
      sink.result->fault = "its op gives something else for the same rows";
    }
    sink.result->op_output = y.values();
  }
  if (op.struct_size >= sizeof op && op.inputs != nullptr) {
    auto rounded = tensor<float>({kOpRows, sink.in}, std::vector<float>(rows.size(), -77.0F));
    const quench_tensor to = rounded.view();
    if (const quench_status status = op.inputs(op.context, &from, &to, nullptr, error);
        status != QUENCH_OK) {
      return status;
    }
    sink.result->op_inputs = rounded.values();
  }
  if (x.values() != rows) {
    sink.result->fault = "its op writes to the rows that it is given";
  }
  return QUENCH_OK;
}

quench_status make_tensor(void* context, const char* name, quench_dtype dtype, int32_t dimensions,
                          const int64_t* shape, quench_tensor* view, quench_error* error) noexcept {
  constexpr int64_t kMost = int64_t{1} << 26;
  Sink& sink = *static_cast<Sink*>(context);
  int64_t count = 1;
  for (int32_t d = 0; d < dimensions; ++d) {
    if (shape[d] < 0 || (shape[d] > 0 && count > kMost / shape[d])) {
      sink.result->fault = fmt::format("asks for a tensor {} of a shape that cannot be", name);
      fmt::format_to_n(error->message, sizeof error->message - 1, "tensor {}: no such shape", name);
      return QUENCH_RESOURCE_EXHAUSTED;
    }
    count *= shape[d];
  }
  SinkTensor& made = sink.tensors.emplace_back();
  made.name = name;
  made.dtype = dtype;
  made.shape.assign(shape, shape + dimensions);
  made.strides = made.shape;
  count = 1;
  for (size_t d = made.shape.size(); d-- > 0;) {
    made.strides[d] = count;
    count *= made.shape[d];
  }
  made.bytes.assign(static_cast<size_t>(count * kit::bytes_of(dtype) + 7) / 8,
                    0xA5A5A5A5A5A5A5A5u);  // not cleared: code that counts on zeros shall show
  *view = {made.bytes.data(), {QUENCH_DEVICE_CPU, 0}, dimensions, dtype,
           made.shape.data(), made.strides.data(),    0};
  return QUENCH_OK;
}

quench_status take_number(void* context, const char* name, double value,
                          quench_error* error) noexcept {
  constexpr size_t kMost = 1000;  // far more than any method has to say of a linear
  QuantizedLinear& result = *static_cast<Sink*>(context)->result;
  if (result.numbers.size() >= kMost) {
    result.fault = fmt::format("gives more than {} numbers", kMost);
    fmt::format_to_n(error->message, sizeof error->message - 1, "{}", result.fault);
    return QUENCH_RESOURCE_EXHAUSTED;
  }
  if (!std::string_view(name).starts_with("seconds.")) {  // times are no part of a result
    result.numbers[name] = value;
  }
  return QUENCH_OK;
}
quench_status take_text(void*, const char*, const char*, quench_error*) noexcept {
  return QUENCH_OK;
}
quench_status take_linear_op(void* context, const quench_linear_op* op,
                             quench_error* error) noexcept {
  const auto& sink = *static_cast<Sink*>(context);
  sink.result->linear_op = true;
  const quench_status status = try_op(*op, sink, error);
  if (op->release != nullptr) {
    op->release(op->context);
  }
  return status;
}

quench_status take_cache_op(void* context, const quench_cache_op* op, quench_error*) noexcept {
  static_cast<Sink*>(context)->result->cache_op = true;
  if (op->release != nullptr) {
    op->release(op->context);
  }
  return QUENCH_OK;
}

template <typename T>
std::vector<double> widened(const SinkTensor& tensor, size_t count) {
  const auto* values = reinterpret_cast<const T*>(tensor.bytes.data());
  return {values, values + count};
}

std::vector<double> values_of(const SinkTensor& tensor) {
  size_t count = 1;
  for (const int64_t extent : tensor.shape) {
    count *= static_cast<size_t>(extent);
  }
  if (kit::same(tensor.dtype, kit::kUInt8)) {
    return widened<uint8_t>(tensor, count);
  }
  if (kit::same(tensor.dtype, kit::kInt32)) {
    return widened<int32_t>(tensor, count);
  }
  if (kit::same(tensor.dtype, kit::kFloat32)) {
    return widened<float>(tensor, count);
  }
  if (kit::same(tensor.dtype, kit::kInt64)) {
    return widened<int64_t>(tensor, count);
  }
  if (kit::same(tensor.dtype, kit::kFloat64)) {
    return widened<double>(tensor, count);
  }
  return {};
}

// Rows in two calls, so that a quantizer which keeps only the last ones shows.
quench_status observe_halves(QuantizerInstance& instance, const QuantizerInput& input,
                             QuantizedLinear& result, quench_error& error) {
  const int64_t count = static_cast<int64_t>(input.rows.size()) / input.in;
  const int64_t half = count / 2;
  for (const auto& [begin, end] : {std::pair{int64_t{0}, half}, std::pair{half, count}}) {
    const std::vector<float> rows{input.rows.begin() + begin * input.in,
                                  input.rows.begin() + end * input.in};
    auto x = tensor<float>({end - begin, input.in}, rows);
    const quench_tensor view = x.view();
    const quench_observe_args args = {sizeof args, 0, &view, &view, nullptr, nullptr, nullptr};
    const quench_status status =
        instance.table.observe(instance.quantizer, instance.state, &args, &error);
    if (status != QUENCH_OK) {
      return status;
    }
    if (!std::equal(rows.begin(), rows.end(), x.values().begin(),
                    [](float a, float b) { return same_bits(a, b); })) {
      result.fault = "observe writes to the rows that it is given";
    }
  }
  return QUENCH_OK;
}

std::string in_a_line(const char* message) {
  std::string out = message;
  std::replace(out.begin(), out.end(), '\n', ' ');
  return out;
}

}  // namespace

void QuantizedLinear::require_result() const {
  expect(fault.empty(), "{}", fault);
  expect(status == QUENCH_OK, "{}: got the error \"{}\"{}, wanted a result", where, message,
         message.find("signal 11") == std::string::npos
             ? ""
             : " (weights and rows lie in memory that it may not write to)");
}

bool is_unwritten(float value) {
  return std::bit_cast<uint32_t>(value) == kUnwritten;
}

QuantizerInput random_linear(int64_t out, int64_t in, int64_t rows) {
  return {out, in, numbers<float>(1, static_cast<size_t>(out * in)),
          numbers<float>(2, static_cast<size_t>(rows * in))};
}

QuantizerInstance::QuantizerInstance(Candidate& candidate, const nlohmann::json& parameters)
    : table(table_of<quench_quantizer_table>(candidate)) {
  const std::string json = complete(candidate, parameters);
  quench_error error{sizeof error, 0, {}};
  const quench_status status = table.create(json.data(), json.size(), &quantizer, &error);
  expect(status == QUENCH_OK, "create: got the error \"{}\", wanted an instance for {}",
         in_a_line(error.message), json);
  expect(quantizer != nullptr, "create: succeeded without an instance");
}

QuantizerInstance::~QuantizerInstance() {
  end_group();
  if (quantizer != nullptr) {
    table.destroy(quantizer);
  }
}

void QuantizerInstance::end_group() {
  if (state != nullptr) {
    table.end(quantizer, std::exchange(state, nullptr));
  }
}

bool QuantizerInstance::takes_rows() const {
  return (table.needs(quantizer) & (QUENCH_NEEDS_ROWS | QUENCH_USES_ROWS)) != 0;
}

QuantizedLinear run_group(QuantizerInstance& owner, quench_quantizer* quantizer,
                          const QuantizerInput& input) {
  QuantizedLinear result;
  quench_error error{sizeof error, 0, {}};
  const auto failed = [&](const char* where, quench_status status) {
    result.where = where;
    result.status = status;
    result.message = status == QUENCH_OK ? "" : in_a_line(error.message);
    return status != QUENCH_OK;
  };
  const quench_linear_info linear = {
      sizeof linear, 0,       "block.0.some_linear", "q", "block.0.some_linear.weight", nullptr,
      input.out,     input.in};
  const quench_group_info group = {sizeof group, 0, 1, -1, -1, 1, &linear, 0, nullptr};
  const quench_group_args group_args = {sizeof group_args,     0, 0, 0, &group, input.in,
                                        {QUENCH_DEVICE_CPU, 0}};
  if (failed("begin", owner.table.begin(owner.quantizer, &group_args, &owner.state, &error))) {
    return result;
  }
  if (owner.state == nullptr) {
    result.fault = "begin succeeds without a state";
    return result;
  }
  if (!input.rows.empty() && owner.takes_rows() &&
      failed("observe", observe_halves(owner, input, result, error))) {
    return result;
  }
  auto weight = tensor<float>({input.out, input.in}, input.weight);
  auto dequantized =
      tensor<float>({input.out, input.in},
                    std::vector<float>(input.weight.size(), std::bit_cast<float>(kUnwritten)));
  const quench_tensor weight_view = weight.view();
  const quench_tensor dequantized_view = dequantized.view();
  Sink sink{{}, &result, input.out, input.in};
  const quench_quantize_sink table = {sizeof table, &sink,          make_tensor,  take_number,
                                      take_text,    take_linear_op, take_cache_op};
  const quench_quantize_args args = {sizeof args,       0,      0,      &weight_view,
                                     &dequantized_view, &table, nullptr};
  failed("quantize", owner.table.quantize(quantizer, owner.state, &args, &error));
  for (const SinkTensor& made : sink.tensors) {
    result.tensors[made.name] = values_of(made);
    result.shapes[made.name] = made.shape;
    result.dtypes[made.name] = made.dtype;
  }
  result.dequantized = dequantized.values();
  if (!std::equal(input.weight.begin(), input.weight.end(), weight.values().begin(),
                  [](float a, float b) { return same_bits(a, b); })) {
    result.fault = "quantize writes to the weight that it is given";
  }
  return result;
}

QuantizedLinear quantize(Candidate& candidate, const nlohmann::json& parameters,
                         const QuantizerInput& input) {
  QuantizerInstance instance(candidate, parameters);
  return run_group(instance, instance.quantizer, input);
}

uint32_t quantizer_needs(Candidate& candidate) {
  const QuantizerInstance instance(candidate, {});
  return instance.table.needs(instance.quantizer);
}

}  // namespace quench::promises
