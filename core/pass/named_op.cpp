#include "core/pass/named_op.hpp"

#include <memory>
#include <utility>

#include "core/error.hpp"
#include "core/plugin/calls/plugin_call.hpp"

namespace quench {

namespace {

struct NamedOp {
  quench_linear_op op;
  std::string label;
  std::string linear;
};

quench_status apply(void* context, const quench_tensor* x, const quench_tensor* y, void* stream,
                    quench_error* error) noexcept {
  const auto& own = *static_cast<const NamedOp*>(context);
  return guarded(error, [&] {
    quench_error said{sizeof said, 0, {}};
    const PluginCall call(own.label.c_str(), "linear op", {own.linear.c_str()});
    const quench_status status = own.op.apply(own.op.context, x, y, stream, &said);
    if (status != QUENCH_OK) {
      said.message[sizeof said.message - 1] = '\0';
      fail(status, "{}", said.message);
    }
  });
}

void release(void* context) noexcept {
  const std::unique_ptr<NamedOp> own(static_cast<NamedOp*>(context));
  if (own->op.release != nullptr) {
    const PluginCall call(own->label.c_str(), "release");
    own->op.release(own->op.context);
  }
}

}  // namespace

quench_linear_op named_op(const quench_linear_op& op, std::string label, std::string linear) {
  auto made = std::make_unique<NamedOp>(NamedOp{op, std::move(label), std::move(linear)});
  return {sizeof(quench_linear_op), made.release(), apply, release};
}

}  // namespace quench
