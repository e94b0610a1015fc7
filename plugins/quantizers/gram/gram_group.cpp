#include "quantizers/gram/gram_group.hpp"

#include "quantizers/gram/selection.hpp"
#include "quench/kit/torch.hpp"

namespace quench::quantizers {

namespace {

Gram& gram_of(quench_quantizer_state* state) {
  return static_cast<GramGroup&>(*kit::detail::self(state).group).gram();
}

quench_status get(quench_quantizer*, quench_quantizer_state* state, quench_tensor* gram,
                  double* rows, quench_error* error) noexcept {
  return kit::guard(error, [&] {
    *gram = kit::view_of(gram_of(state).matrix());
    *rows = gram_of(state).rows();
  });
}

quench_status set(quench_quantizer*, quench_quantizer_state* state, const quench_tensor* gram,
                  double rows, quench_error* error) noexcept {
  return kit::guard(error, [&] { gram_of(state).set(*gram, rows); });
}

quench_status output_error(quench_quantizer*, quench_quantizer_state* state,
                           const quench_tensor* weight, const quench_tensor* dequantized,
                           double* squared_error, double* reference, quench_error* error) noexcept {
  return kit::guard(error, [&] {
    const OutputError sums = gram_of(state).output_error(*weight, *dequantized);
    *squared_error = sums.error;
    *reference = sums.reference;
  });
}

}  // namespace

void GramGroup::observe(const quench_observe_args& args) {
  gram_.observe(args);
  if (observer_ != nullptr && observer_->wants_more()) {
    const c10::InferenceMode inference;
    const at::Tensor x = kit::borrow(*args.x);
    const at::Tensor rows = selected(x, select(args, x.size(0)));
    if (rows.size(0) > 0) {
      observer_->observe(rows);
    }
  }
}

uint64_t gram_bytes(const kit::GroupShapes& shapes, bool float64) {
  return shapes.on_device
             ? Gram::bytes_on_device(shapes.in_features, float64, shapes.row_dtype.bits / 8)
             : Gram::bytes(shapes.in_features, float64 || shapes.row_dtype.bits == 64);
}

void add_gram_functions(quench_quantizer_table& table) {
  table.gram_get = get;
  table.gram_set = set;
  table.output_error = output_error;
}

}  // namespace quench::quantizers
