#include "quantizers/rotated/rotated_op.hpp"

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
    const at::Tensor rows = rotated(*rotation_, x, what_.c_str());
    const quench_tensor view = kit::view_of(rows);
    quench_error said{sizeof said, 0, {}};
    kit::check(op_.apply(op_.context, &view, &y, stream, &said), said);
  }

 private:
  quench_linear_op op_;
  std::shared_ptr<const RandomHadamard> rotation_;
  std::string what_;
};

quench_status apply_op(void* context, const quench_tensor* x, const quench_tensor* y, void* stream,
                       quench_error* error) noexcept {
  return kit::guard(error, [&] { static_cast<const RotatedOp*>(context)->apply(*x, *y, stream); });
}

void release_op(void* context) noexcept {
  delete static_cast<RotatedOp*>(context);
}

}  // namespace

quench_linear_op rotated_op(const quench_linear_op& op,
                            std::shared_ptr<const RandomHadamard> rotation,
                            const std::string& name) {
  return {sizeof(quench_linear_op), new RotatedOp(op, std::move(rotation), name), apply_op,
          release_op};
}

}  // namespace quench::quantizers
