#include "core/plugin/quantizer_handle.hpp"

#include <utility>

#include "core/plugin/instance.hpp"

namespace quench {

QuantizerHandle::QuantizerHandle(Catalog& catalog, const PluginDescription& description,
                                 const nlohmann::json& parameters)
    : id_(description.id),
      label_(plugin_label(description)),
      table_(load_table<quench_quantizer_table>(catalog, description)),
      apart_(quench::is_apart(catalog, description)),
      quantizer_(create_instance(label_, "create", table_->create, parameters)),
      needs_(guarded_call(label_, "needs", {}, table_->needs, quantizer_)),
      alive_(catalog, description) {}

QuantizerHandle::~QuantizerHandle() {
  if (quantizer_ != nullptr) {
    const PluginCall call(label_.c_str(), "destroy");
    table_->destroy(quantizer_);
  }
}

QuantizerHandle::QuantizerHandle(QuantizerHandle&& other) noexcept
    : id_(std::move(other.id_)),
      label_(std::move(other.label_)),
      table_(other.table_),
      apart_(other.apart_),
      quantizer_(std::exchange(other.quantizer_, nullptr)),
      needs_(other.needs_),
      alive_(other.alive_) {}

QuantizerHandle::Group QuantizerHandle::begin(const quench_group_args& given) {
  const quench_group_args args = apart_ ? for_other_process(given) : given;
  quench_quantizer_state* state = nullptr;
  const char* first = args.info->linear_count > 0 ? args.info->linears[0].weight : nullptr;
  work_call(label_, "begin", {first, args.block}, table_->begin, quantizer_, &args, &state);
  if (state == nullptr) {
    fail(QUENCH_INTERNAL, "{}: begin succeeded without a state", label_);
  }
  return {label_, table_, quantizer_, state, args.info};
}

void QuantizerHandle::begin_pass() {
  if (table_->begin_pass != nullptr) {
    const PluginCall call(label_.c_str(), "begin_pass");
    table_->begin_pass(quantizer_);
  }
}

void QuantizerHandle::apply_plan(const quench_model_editor& editor) {
  work_call(label_, "plan", {}, table_->apply_plan, quantizer_, &editor);
}

bool QuantizerHandle::rule_fits(size_t rule, const std::string& module) const {
  return guarded_call(label_, "fits", {}, table_->rule_fits, quantizer_, rule, module.c_str()) == 1;
}

quench_group_memory QuantizerHandle::memory(const quench_group_memory_args& args) const {
  quench_group_memory bytes{sizeof bytes, 0, 0, 0, 0, 0};
  if (says_memory()) {
    table_call(label_, "memory", table_->predict_memory, quantizer_, &args, &bytes);
  }
  return bytes;
}

bool QuantizerHandle::accepts_groups_of(const QuantizerHandle& other) const {
  return table_ == other.table_ && table_->accepts != nullptr &&
         guarded_call(label_, "accepts", {}, table_->accepts, quantizer_, other.quantizer_) == 1;
}

QuantizerHandle::Group::Group(const std::string& label, const quench_quantizer_table* table,
                              quench_quantizer* quantizer, quench_quantizer_state* state,
                              const quench_group_info* info)
    : label_(label), table_(table), quantizer_(quantizer), state_(state), info_(info) {}

QuantizerHandle::Group::~Group() {
  if (state_ != nullptr) {
    const PluginCall call(label_.c_str(), "end");
    table_->end(quantizer_, state_);
  }
}

QuantizerHandle::Group::Group(Group&& other) noexcept
    : label_(std::move(other.label_)),
      table_(other.table_),
      quantizer_(other.quantizer_),
      state_(std::exchange(other.state_, nullptr)),
      info_(other.info_) {}

void QuantizerHandle::Group::observe(const quench_observe_args& args) {
  work_call(label_, "observe", place(), table_->observe, quantizer_, state_, &args);
}

void QuantizerHandle::Group::quantize(const quench_quantize_args& args) {
  work_call(label_, "quantize", place(args.linear), table_->quantize, quantizer_, state_, &args);
}

void QuantizerHandle::Group::quantize_as(QuantizerHandle& other, const quench_quantize_args& args) {
  work_call(other.label_, "quantize", place(args.linear), table_->quantize, other.quantizer_,
            state_, &args);
}

void QuantizerHandle::Group::prepare_for(QuantizerHandle& quantizer,
                                         std::span<const quench_tensor> weights) {
  const quench_group_weights_args args{sizeof args, 0, static_cast<uint32_t>(weights.size()),
                                       weights.data(), nullptr};
  work_call(quantizer.label_, "prepare", place(), quantizer.table_->prepare, quantizer.quantizer_,
            state_, &args);
}

CallPlace QuantizerHandle::Group::place(uint32_t linear) const {
  return {linear < info_->linear_count ? info_->linears[linear].weight : nullptr};
}

void QuantizerHandle::Group::require_gram() const {
  if (!has_gram()) {
    fail(QUENCH_UNSUPPORTED, "{}: keeps no Gram matrix", label_);
  }
}

QuantizerHandle::Group::Gram QuantizerHandle::Group::gram_get() const {
  require_gram();
  Gram gram;
  table_call(label_, "gram get", table_->gram_get, quantizer_, state_, &gram.matrix, &gram.rows);
  return gram;
}

void QuantizerHandle::Group::gram_set(const quench_tensor& matrix, double rows) {
  require_gram();
  table_call(label_, "gram set", table_->gram_set, quantizer_, state_, &matrix, rows);
}

QuantizerHandle::Group::OutputError QuantizerHandle::Group::output_error(
    const quench_tensor& weight, const quench_tensor& dequantized) const {
  require_gram();
  OutputError error;
  work_call(label_, "output_error", place(), table_->output_error, quantizer_, state_, &weight,
            &dequantized, &error.squared_error, &error.reference);
  return error;
}

}  // namespace quench
