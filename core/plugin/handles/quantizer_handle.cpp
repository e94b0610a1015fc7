#include "core/plugin/handles/quantizer_handle.hpp"

#include <utility>

#include "core/plugin/handles/instance.hpp"

namespace quench {

QuantizerHandle::QuantizerHandle(Catalog& catalog, const PluginDescription& description,
                                 const nlohmann::json& parameters)
    : id_(description.id),
      quantizer_(make_instance<&quench_quantizer_table::create, &quench_quantizer_table::destroy>(
          catalog, description, parameters)),
      in_worker_(quench::is_in_worker(catalog, description)),
      needs_(quantizer_.call<&quench_quantizer_table::needs>()),
      alive_(catalog, description) {}

QuantizerHandle::Group QuantizerHandle::begin(const quench_group_args& given) {
  const quench_group_args args = in_worker_ ? for_other_process(given) : given;
  quench_quantizer_state* state = nullptr;
  const char* first = args.info->linear_count > 0 ? args.info->linears[0].weight : nullptr;
  quantizer_.call_at<&quench_quantizer_table::begin>({first, args.block}, &args, &state);
  if (state == nullptr) {
    fail(QUENCH_INTERNAL, "{}: begin succeeded without a state", quantizer_.label());
  }
  return {quantizer_.label(), &table(), quantizer_.get(), state, args.info};
}

void QuantizerHandle::begin_pass() {
  if (quantizer_.has<&quench_quantizer_table::begin_pass>()) {
    quantizer_.call<&quench_quantizer_table::begin_pass>();
  }
}

void QuantizerHandle::apply_plan(const quench_model_editor& editor) {
  quantizer_.call<&quench_quantizer_table::apply_plan>(&editor);
}

bool QuantizerHandle::rule_fits(size_t rule, const std::string& module) const {
  return quantizer_.call<&quench_quantizer_table::rule_fits>(rule, module.c_str()) == 1;
}

quench_group_memory QuantizerHandle::memory(const quench_group_memory_args& args) const {
  quench_group_memory bytes{sizeof bytes, 0, 0, 0, 0, 0};
  if (says_memory()) {
    quantizer_.call<&quench_quantizer_table::predict_memory>(&args, &bytes);
  }
  return bytes;
}

bool QuantizerHandle::accepts_groups_of(const QuantizerHandle& other) const {
  return &table() == &other.table() &&
         quantizer_.call_or<&quench_quantizer_table::accepts>(0, other.quantizer_.get()) == 1;
}

QuantizerHandle::Group::Group(const std::string& label, const quench_quantizer_table* table,
                              quench_quantizer* quantizer, quench_quantizer_state* state,
                              const quench_group_info* info)
    : label_(label), table_(table), quantizer_(quantizer), state_(state), info_(info) {}

QuantizerHandle::Group::~Group() {
  if (state_ != nullptr) {
    call<&quench_quantizer_table::end>(0);
  }
}

QuantizerHandle::Group::Group(Group&& other) noexcept
    : label_(std::move(other.label_)),
      table_(other.table_),
      quantizer_(other.quantizer_),
      state_(std::exchange(other.state_, nullptr)),
      info_(other.info_) {}

void QuantizerHandle::Group::observe(const quench_observe_args& args) {
  call<&quench_quantizer_table::observe>(0, &args);
}

void QuantizerHandle::Group::quantize(const quench_quantize_args& args) {
  call<&quench_quantizer_table::quantize>(args.linear, &args);
}

void QuantizerHandle::Group::quantize_as(QuantizerHandle& other, const quench_quantize_args& args) {
  other.quantizer_.call_at<&quench_quantizer_table::quantize>(place(args.linear), state_, &args);
}

void QuantizerHandle::Group::prepare_for(QuantizerHandle& quantizer,
                                         std::span<const quench_tensor> weights) {
  const quench_group_weights_args args{sizeof args, 0, static_cast<uint32_t>(weights.size()),
                                       weights.data(), nullptr};
  quantizer.quantizer_.call_at<&quench_quantizer_table::prepare>(place(), state_, &args);
}

CallPlace QuantizerHandle::Group::place(uint32_t linear) const {
  return {linear < info_->linear_count ? info_->linears[linear].weight : nullptr};
}

QuantizerHandle::Group::Gram QuantizerHandle::Group::gram_get() const {
  Gram gram;
  call<&quench_quantizer_table::gram_get>(0, &gram.matrix, &gram.rows);
  return gram;
}

void QuantizerHandle::Group::gram_set(const quench_tensor& matrix, double rows) {
  call<&quench_quantizer_table::gram_set>(0, &matrix, rows);
}

QuantizerHandle::Group::OutputError QuantizerHandle::Group::output_error(
    const quench_tensor& weight, const quench_tensor& dequantized) const {
  OutputError error;
  call<&quench_quantizer_table::output_error>(0, &weight, &dequantized, &error.squared_error,
                                              &error.reference);
  return error;
}

}  // namespace quench
