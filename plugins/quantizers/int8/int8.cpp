// int8: codes of the weight per row, an op that codes its inputs per row at run time, and the cost
// of both on the calibration rows.
//
// Which columns count as outliers depends on all rows that go through the op together, like in the
// published operator, so a result depends on what is evaluated together. The host's rule for
// micro-batches fixes that; `scope: row` removes the dependence.
#include "quantizers/int8/int8.hpp"

#include <algorithm>
#include <utility>

#include "quantizers/gram/gram_group.hpp"
#include "quantizers/gram/op_errors.hpp"
#include "quantizers/gram/row_sample.hpp"
#include "quantizers/grid/coded.hpp"
#include "quantizers/grid/weight.hpp"
#include "quench/kit/grid_parameters.hpp"
#include "quench/kit/torch.hpp"

namespace quench::quantizers {

namespace {

// The Gram matrix of all rows, and a copy of the first rows.
class Int8Group final : public GramGroup {
 public:
  explicit Int8Group(const quench_group_args& args)
      : GramGroup(args.in_features, false, kit::torch_device(args.device)) {
    auto sample = std::make_unique<SampleObserver>();
    sample_ = sample.get();
    add_observer(std::move(sample));
  }
  // float32 [R, in], where the rows are; undefined without rows.
  const at::Tensor& sample() const { return sample_->rows(); }

 private:
  class SampleObserver final : public RowObserver, public RowSample {
   public:
    bool wants_more() const override { return !is_full(); }
    void observe(const at::Tensor& rows) override { add(rows); }
  };
  SampleObserver* sample_;  // the base's
};

// Reports the errors on the rows relative to the squared outputs: that of coding only the weight,
// and that of coding only the inputs (on the sample, as one batch).
void report_errors(const at::Tensor& weight, const CodedLinear& made, const at::Tensor& decoded,
                   bool activations, Int8Group& group, kit::QuantizeSink& sink) {
  report_weight_error(weight, decoded, group.gram(), sink);
  if (!group.sample().defined() || !activations) {  // no row reached the group
    return;
  }
  report_activation_errors(
      weight, decoded, group.sample(),
      [&](const at::Tensor& x, const at::Tensor& y) { made.apply(x, y); }, sink);
  sink.number("outlier_columns", static_cast<double>(made.outlier_columns()));
}

quench_status apply_op(void* context, const quench_tensor* x, const quench_tensor* y, void*,
                       quench_error* error) noexcept {
  return kit::guard(error, [&] {
    const c10::InferenceMode inference;
    static_cast<const CodedLinear*>(context)->apply(kit::borrow(*x), kit::borrow(*y));
  });
}

quench_status inputs_of_op(void* context, const quench_tensor* x, const quench_tensor* rounded,
                           void*, quench_error* error) noexcept {
  return kit::guard(error, [&] {
    const c10::InferenceMode inference;
    static_cast<const CodedLinear*>(context)->inputs(kit::borrow(*x), kit::borrow(*rounded));
  });
}

void release_op(void* context) noexcept {
  delete static_cast<CodedLinear*>(context);
}

// Writes codes, scales and zeros: value = maximum / 127 * (code - 128).
void put_codes(const Int8Rows& weight, kit::QuantizeSink& sink) {
  const auto rows = static_cast<int64_t>(weight.maxima.size());
  const auto codes = sink.tensor<uint8_t>("codes", {rows, weight.columns});
  const auto scales = sink.tensor<double>("scales", {rows, 1});
  const auto zeros = sink.tensor<double>("zeros", {rows, 1});
  const auto g_idx = sink.tensor<int32_t>("g_idx", {weight.columns});
  for (size_t i = 0; i < codes.size(); ++i) {
    codes[i] = static_cast<uint8_t>(weight.codes[i] + 128);
  }
  for (size_t r = 0; r < scales.size(); ++r) {
    scales[r] = static_cast<double>(weight.maxima[r]) / 127;
  }
  std::fill(zeros.begin(), zeros.end(), 128.0);
  std::fill(g_idx.begin(), g_idx.end(), 0);
}

}  // namespace

void Int8::Params::describe(kit::Fields<Params>& fields) {
  fields
      .add("threshold", &Params::threshold,
           "inputs at least this large stay in float, together with their columns "
           "(llm_int8_threshold); 0: none")
      .at_least(0);
  fields.add("activations", &Params::activations,
             "whether to code the inputs too; if false, only weights are rounded");
  fields
      .add("scope", &Params::scope,
           "whether outlier columns come from all rows of a micro-batch (batch, as "
           "published) or from each row (row), so that no row changes another's result")
      .choices("batch|row");
  fields.add("half", &Params::half,
             "whether to round weights and inputs to float16 before coding, as published");
  kit::add_modules(fields, "llm_int8_skip_modules");
}

Int8::Int8(const Params& params) : params_(params), rules_(params.modules) {
  for (const std::string& rule : params.modules) {
    kit::expects(rule.ends_with(" skip"), "modules: int8 only allows \"PATTERN skip\"");
  }
}

uint32_t Int8::needs() const {
  return QUENCH_USES_ROWS | QUENCH_TAKES_DEVICE_WEIGHTS |
         (params_.activations ? QUENCH_MAKES_LINEAR_OP : 0u);
}

std::unique_ptr<kit::QuantizerGroup> Int8::begin(const quench_group_args& group) {
  return std::make_unique<Int8Group>(group);
}

Int8Options Int8::options() const {
  return {{params_.threshold, params_.scope == "row" ? OutlierScope::kRow : OutlierScope::kBatch},
          params_.half};
}

void Int8::quantize(kit::QuantizerGroup& group, const kit::LinearToQuantize& linear,
                    kit::QuantizeSink& sink) {
  const c10::InferenceMode inference;
  auto& own = static_cast<Int8Group&>(group);
  const at::Tensor weight = weight_on(linear, own.device());
  if (rules_.setting_of(linear.info.name, {{8, true}, -1, false}).skip) {
    keep_float(weight, linear, sink);
    return;
  }
  std::unique_ptr<CodedLinear> made = coded_linear(weight, options(), linear.info.name);
  if (!stays_on_device(linear)) {
    put_codes(made->weight(), sink);
  }
  const at::Tensor decoded = made->decoded();  // no larger than the weight's largest value
  report_errors(weight, *made, decoded, params_.activations, own, sink);
  sink.number("bits", 8);
  sink.number("bits_per_weight", 8 + 32.0 / static_cast<double>(weight.size(1)));
  kit::borrow(linear.dequantized).copy_(decoded);
  if (!params_.activations) {
    return;
  }
  sink.text("batch_scope", params_.scope == "row"
                               ? "outliers of each row"
                               : "outlier columns over all rows of a micro-batch");
  sink.linear_op({sizeof(quench_linear_op), made.get(), apply_op, release_op, inputs_of_op});
  static_cast<void>(made.release());  // the host owns it now
}

// The rows on which the activations' part is measured are kept beside the Gram matrix; with them a
// linear is applied three ways. Of its weight there are codes (in host memory also packed for
// products, and in the sink), what they stand for, and the values that are coded.
kit::GroupMemory Int8::memory(const kit::GroupShapes& shapes) const {
  const auto in = static_cast<uint64_t>(shapes.in_features);
  const uint64_t weights = shapes.largest_weight();
  kit::GroupMemory out;
  out.observing = gram_bytes(shapes, false) + RowSample::bytes(shapes.in_features);
  out.linear = weights * ((shapes.on_device ? 1 : 3) + 2 * sizeof(float)) +
               (params_.activations ? 3 * RowSample::kRows * (weights / in) * sizeof(float) : 0);
  return out;
}

void Int8::add_functions(quench_quantizer_table& table) {
  add_gram_functions(table);
}

}  // namespace quench::quantizers

QUENCH_MODULE(
    "quench.int8", "0.1.0",
    quench::kit::quantizer<quench::quantizers::Int8>(
        {.id = "int8",
         .version = "0.1.0",
         .summary = "Weights and inputs in 8 bits per row with exact integer products, except "
                    "for input columns with outliers, which stay in float.",
         .reference = "Dettmers et al. 2022, LLM.int8(), arXiv 2208.07339, section 3",
         .example = "{threshold: 6.0}"}))
