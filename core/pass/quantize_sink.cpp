#include "core/pass/quantize_sink.hpp"

#include <cstring>
#include <utility>

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

struct QuantizeSinkCalls {
  static QuantizeSink& self(void* context) { return *static_cast<QuantizeSink*>(context); }

  static quench_status tensor(void* context, const char* name, quench_dtype dtype,
                              int32_t dimensions, const int64_t* shape, quench_tensor* view,
                              quench_error* error) noexcept {
    return guarded(error, [&] {
      if (dimensions < 0 || dimensions > QUENCH_MAX_DIMENSIONS) {
        fail(QUENCH_INVALID_ARGUMENT, "tensor {}: {} dimensions", name, dimensions);
      }
      std::vector<int64_t> lengths(shape, shape + dimensions);
      QuantizeSink& sink = self(context);
      const uint64_t elements = element_count(lengths).value_or(0);  // none: refused below
      const uint64_t size = dtype_size(dtype);
      sink.tensor_room_.take(name, elements > UINT64_MAX / size ? UINT64_MAX : elements * size);
      HostTensor made(dtype, std::move(lengths));
      *view = made.view();
      if (const auto found = sink.tensors.find(name); found != sink.tensors.end()) {
        sink.replaced_.push_back(std::exchange(found->second, std::move(made)));
      } else {
        sink.tensors.emplace(name, std::move(made));
      }
    });
  }

  static quench_status number(void* context, const char* name, double value,
                              quench_error* error) noexcept {
    return guarded(error, [&] {
      if (!self(context).numbers.contains(name)) {
        self(context).word_room_.take(name, sizeof value);
      }
      self(context).numbers[name] = value;
    });
  }

  static quench_status text(void* context, const char* name, const char* value,
                            quench_error* error) noexcept {
    return guarded(error, [&] {
      self(context).word_room_.take(name, std::strlen(value));
      self(context).texts[name] = value;
    });
  }

  static quench_status op(void* context, const quench_linear_op* op, quench_error* error) noexcept {
    return guarded(error, [&] {
      if (self(context).has_op()) {
        fail(QUENCH_INVALID_ARGUMENT, "the op of the linear is given twice");
      }
      self(context).op_ = *op;
    });
  }
};

QuantizeSink::QuantizeSink(uint64_t weights)
    : tensor_room_("tensors of one linear", kMostTables + kTensorBytesOfWeight * weights),
      word_room_("numbers and texts of one linear", kMostWords),
      sink_{sizeof(quench_quantize_sink), this,
            QuantizeSinkCalls::tensor,    QuantizeSinkCalls::number,
            QuantizeSinkCalls::text,      QuantizeSinkCalls::op} {}

void QuantizeSink::require_room(const std::string& label) const {
  tensor_room_.require_enough(label);
  word_room_.require_enough(label);
}

QuantizeSink::~QuantizeSink() {
  if (op_ && op_->release != nullptr) {
    op_->release(op_->context);
  }
}

std::optional<quench_linear_op> QuantizeSink::take_op() {
  std::optional<quench_linear_op> taken = op_;
  op_.reset();
  return taken;
}

}  // namespace quench
