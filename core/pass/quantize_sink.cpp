#include "core/pass/quantize_sink.hpp"

#include <cstring>
#include <utility>

#include "core/answer.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/tensor_source.hpp"
#include "core/error.hpp"

namespace quench {

namespace {

// What a quantizer says of a linear in numbers and texts takes some hundred bytes.
constexpr uint64_t kMostWords = uint64_t{1} << 20;
// Of its tensors, codes and float64 scales and zeros take 17 bytes of a weight where each column is
// a group of its own; tables do not depend on the size of a small linear.
constexpr uint64_t kTensorBytesOfWeight = 24;
constexpr uint64_t kMostTables = uint64_t{64} << 20;

}  // namespace

void QuantizeSink::take_tensor(const char* name, quench_dtype dtype, int32_t dimensions,
                               const int64_t* shape, quench_tensor* view) {
  if (dimensions < 0 || dimensions > QUENCH_MAX_DIMENSIONS) {
    fail(QUENCH_INVALID_ARGUMENT, "tensor {}: {} dimensions", name, dimensions);
  }
  std::vector<int64_t> lengths(shape, shape + dimensions);
  const uint64_t elements = element_count(lengths).value_or(0);  // none: refused below
  const uint64_t size = dtype_size(dtype);
  tensor_room_.take(name, elements > UINT64_MAX / size ? UINT64_MAX : elements * size);
  HostTensor made(dtype, std::move(lengths));
  *view = made.view();
  if (const auto found = tensors.find(name); found != tensors.end()) {
    replaced_.push_back(std::exchange(found->second, std::move(made)));
  } else {
    tensors.emplace(name, std::move(made));
  }
}

void QuantizeSink::take_number(const char* name, double value) {
  if (!numbers.contains(name)) {
    word_room_.take(name, sizeof value);
  }
  numbers[name] = value;
}

void QuantizeSink::take_text(const char* name, const char* value) {
  word_room_.take(name, std::strlen(value));
  texts[name] = value;
}

void QuantizeSink::take_linear_op(const quench_linear_op* op) {
  if (has_op()) {
    fail(QUENCH_INVALID_ARGUMENT, "the op of the linear is given twice");
  }
  op_ = whole(op);
}

void QuantizeSink::keep_cache_op(const quench_cache_op* op) {
  if (cache_op_.has_value()) {
    fail(QUENCH_INVALID_ARGUMENT, "the op on keys and values is given twice");
  }
  cache_op_ = whole(op);
}

QuantizeSink::QuantizeSink(uint64_t weights)
    : tensor_room_("tensors of one linear", kMostTables + kTensorBytesOfWeight * weights),
      word_room_("numbers and texts of one linear", kMostWords),
      sink_{sizeof(quench_quantize_sink),
            this,
            Called<&QuantizeSink::take_tensor>::call,
            Called<&QuantizeSink::take_number>::call,
            Called<&QuantizeSink::take_text>::call,
            Called<&QuantizeSink::take_linear_op>::call,
            Called<&QuantizeSink::keep_cache_op>::call} {}

void QuantizeSink::require_room(const std::string& label) const {
  tensor_room_.require_enough(label);
  word_room_.require_enough(label);
}

QuantizeSink::~QuantizeSink() {
  if (op_ && op_->release != nullptr) {
    op_->release(op_->context);
  }
  if (cache_op_ && cache_op_->release != nullptr) {
    cache_op_->release(cache_op_->context);
  }
}

std::optional<quench_linear_op> QuantizeSink::take_op() {
  std::optional<quench_linear_op> taken = op_;
  op_.reset();
  return taken;
}

std::optional<quench_cache_op> QuantizeSink::take_cache_op() {
  return std::exchange(cache_op_, std::nullopt);
}

}  // namespace quench
