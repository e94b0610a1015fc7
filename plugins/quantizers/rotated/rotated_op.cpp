#include "quantizers/rotated/rotated_op.hpp"

#include <ATen/ops/empty_like.h>

#include <utility>

#include "quantizers/rotated/rotated_rows.hpp"
#include "quench/kit/host.hpp"
#include "quench/kit/torch.hpp"

namespace quench::quantizers {

namespace {

class RotatedOp {
 public:
  RotatedOp(const quench_linear_op& op, std::shared_ptr<const RandomHadamard> rotation,
            const std::string& name)
      : op_(op), rotation_(std::move(rotation)), what_(name + ": input") {}
  ~RotatedOp() {
    if (op_.release != nullptr) {
      op_.release(op_.context);
    }
  }
  RotatedOp(const RotatedOp&) = delete;
  RotatedOp& operator=(const RotatedOp&) = delete;

  void apply(const quench_tensor& x, const quench_tensor& y, void* stream) const {
    const c10::InferenceMode inference;
    call(op_.apply, rotated(*rotation_, x, what_.c_str()), y, stream);
  }

  void inputs(const quench_tensor& x, const quench_tensor& rounded, void* stream) const {
    const c10::InferenceMode inference;
    const at::Tensor rows = rotated(*rotation_, x, what_.c_str());
    const at::Tensor made = at::empty_like(rows);
    call(op_.inputs, rows, kit::view_of(made), stream);
    kit::borrow(rounded).copy_(
        rotated(*rotation_, kit::view_of(made), what_.c_str(), RandomHadamard::Direction::kUndo));
  }

 private:
  void call(decltype(quench_linear_op::apply) function, const at::Tensor& rows,
            const quench_tensor& to, void* stream) const {
    const quench_tensor view = kit::view_of(rows);
    quench_error said{sizeof said, 0, {}};
    kit::check(function(op_.context, &view, &to, stream, &said), said);
  }

  quench_linear_op op_;
  std::shared_ptr<const RandomHadamard> rotation_;
  std::string what_;
};

quench_status apply_op(void* context, const quench_tensor* x, const quench_tensor* y, void* stream,
                       quench_error* error) noexcept {
  return kit::guard(error, [&] { static_cast<const RotatedOp*>(context)->apply(*x, *y, stream); });
}

quench_status inputs_of_op(void* context, const quench_tensor* x, const quench_tensor* rounded,
                           void* stream, quench_error* error) noexcept {
  return kit::guard(error,
                    [&] { static_cast<const RotatedOp*>(context)->inputs(*x, *rounded, stream); });
}

void release_op(void* context) noexcept {
  delete static_cast<RotatedOp*>(context);
}

}  // namespace

quench_linear_op rotated_op(const quench_linear_op& op,
                            std::shared_ptr<const RandomHadamard> rotation,
                            const std::string& name) {
  return {sizeof(quench_linear_op), new RotatedOp(op, std::move(rotation), name), apply_op,
          release_op, op.inputs != nullptr ? inputs_of_op : nullptr};
}

}  // namespace quench::quantizers
