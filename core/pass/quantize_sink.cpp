#include "core/pass/quantize_sink.hpp"

#include "core/error.hpp"

namespace quench {

namespace {

QuantizeSink& self(void* context) {
  return *static_cast<QuantizeSink*>(context);
}

quench_status make_tensor(void* context, const char* name, quench_dtype dtype, int32_t dimensions,
                          const int64_t* shape, quench_tensor* view, quench_error* error) noexcept {
  return guarded(error, [&] {
    if (dimensions < 0 || dimensions > QUENCH_MAX_DIMENSIONS) {
      fail(QUENCH_INVALID_ARGUMENT, "tensor {}: {} dimensions", name, dimensions);
    }
    HostTensor& made = self(context).tensors[name] =
        HostTensor(dtype, std::vector<int64_t>(shape, shape + dimensions));
    *view = made.view();
  });
}

quench_status take_number(void* context, const char* name, double value,
                          quench_error* error) noexcept {
  return guarded(error, [&] { self(context).numbers[name] = value; });
}

quench_status take_text(void* context, const char* name, const char* value,
                        quench_error* error) noexcept {
  return guarded(error, [&] { self(context).texts[name] = value; });
}

}  // namespace

QuantizeSink::QuantizeSink()
    : sink_{sizeof(quench_quantize_sink),
            this,
            make_tensor,
            take_number,
            take_text,
            [](void* context, const quench_linear_op* op, quench_error*) noexcept -> quench_status {
              self(context).op_ = *op;
              return QUENCH_OK;
            }} {}

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
