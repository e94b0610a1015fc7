#include "quantizers/rotated/rotatable.hpp"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "quantizers/rotated/rotated_op.hpp"
#include "quantizers/rotated/rotated_rows.hpp"
#include "quench/abi/kind/transform.h"
#include "quench/kit/torch.hpp"

namespace quench::quantizers {

namespace {

using Direction = RandomHadamard::Direction;

struct Instance {
  const quench_quantizer_table* functions;
  quench_quantizer* inner;
  RotationParameters parameters;
};

struct State {
  quench_quantizer_state* inner = nullptr;
  std::shared_ptr<const RandomHadamard> rotation;  // null: the input stays as it is
  // What `inner` sees: no preceding weight absorbs a scale of rotated channels.
  quench_group_info info{};
  at::Tensor gram;  // of inputs before they are rotated, once it was asked for
};

Instance& of(quench_quantizer* quantizer) {
  return *reinterpret_cast<Instance*>(quantizer);
}
const Instance& of(const quench_quantizer* quantizer) {
  return *reinterpret_cast<const Instance*>(quantizer);
}
State& of(quench_quantizer_state* state) {
  return *reinterpret_cast<State*>(state);
}

// Calls a function of the quantizer within, and throws what it says.
template <typename Function, typename... Arguments>
void call(Function function, Arguments... arguments) {
  quench_error said{sizeof said, 0, {}};
  kit::check(function(arguments..., &said), said);
}

std::shared_ptr<const RandomHadamard> rotation_for(const RotationParameters& parameters,
                                                   const quench_group_args& args) {
  if (!parameters.rotates(args.info->linears[0])) {
    return nullptr;
  }
  const std::string name = args.info->linears[0].name;
  try {
    return std::make_shared<const RandomHadamard>(
        args.in_features,
        "rotate/" + std::to_string(parameters.rotate_draw.value_or(0)) + "/" + name);
  } catch (const kit::Error& error) {
    throw kit::Error(error.code(), name + ": rotate: " + error.what());
  }
}

// Passes on what the quantizer within puts into the sink, but for its op, which it keeps.
class KeptOp {
 public:
  explicit KeptOp(const quench_quantize_sink& to) : to_(to) {}
  ~KeptOp() {
    if (op_.release != nullptr) {
      op_.release(op_.context);
    }
  }
  KeptOp(const KeptOp&) = delete;
  KeptOp& operator=(const KeptOp&) = delete;

  quench_quantize_sink sink() {
    return {sizeof(quench_quantize_sink), this, tensor, number, text, linear_op, cache_op};
  }
  bool has_op() const { return op_.apply != nullptr; }
  quench_linear_op take_op() { return std::exchange(op_, quench_linear_op{}); }
  // Whether the linear was left in float.
  bool skipped() const { return skipped_; }

 private:
  static KeptOp& self(void* context) { return *static_cast<KeptOp*>(context); }
  static quench_status tensor(void* context, const char* name, quench_dtype dtype,
                              int32_t dimensions, const int64_t* shape, quench_tensor* view,
                              quench_error* error) noexcept {
    const quench_quantize_sink& to = self(context).to_;
    return to.tensor(to.context, name, dtype, dimensions, shape, view, error);
  }
  static quench_status number(void* context, const char* name, double value,
                              quench_error* error) noexcept {
    const quench_quantize_sink& to = self(context).to_;
    return to.number(to.context, name, value, error);
  }
  static quench_status text(void* context, const char* name, const char* value,
                            quench_error* error) noexcept {
    KeptOp& own = self(context);
    own.skipped_ = own.skipped_ || std::strcmp(name, "skipped") == 0;
    return own.to_.text(own.to_.context, name, value, error);
  }
  static quench_status linear_op(void* context, const quench_linear_op* op,
                                 quench_error*) noexcept {
    self(context).op_ = *op;
    return QUENCH_OK;
  }
  static quench_status cache_op(void* context, const quench_cache_op* op,
                                quench_error* error) noexcept {
    const quench_quantize_sink& to = self(context).to_;
    return to.cache_op(to.context, op, error);
  }

  const quench_quantize_sink& to_;
  quench_linear_op op_{};
  bool skipped_ = false;
};

void quantize_rotated(Instance& own, State& state, const quench_quantize_args& args) {
  const c10::InferenceMode inference;
  const quench_linear_info& linear = state.info.linears[args.linear];
  const at::Tensor there = kit::borrow(*args.dequantized);
  const at::Tensor weight = rotated(*state.rotation, *args.weight, linear.name).to(there.device());
  const at::Tensor made = at::empty_like(weight);
  const quench_tensor weight_view = kit::view_of(weight);
  const quench_tensor made_view = kit::view_of(made);
  KeptOp kept(*args.sink);
  const quench_quantize_sink inner_sink = kept.sink();
  quench_quantize_args inner_args = args;
  inner_args.weight = &weight_view;
  inner_args.dequantized = &made_view;
  inner_args.sink = &inner_sink;
  call(own.functions->quantize, own.inner, state.inner, &inner_args);
  if (kept.skipped()) {
    there.copy_(kit::borrow(*args.weight));
    return;
  }
  there.copy_(rotated(*state.rotation, made_view, linear.name, Direction::kUndo));
  kit::QuantizeSink sink(args.sink);
  sink.text("rotation", "Hadamard " + state.rotation->matrix().text());
  if (kept.has_op()) {
    const quench_linear_op op = rotated_op(kept.take_op(), state.rotation, linear.name);
    try {
      sink.linear_op(op);  // the host owns it afterwards
    } catch (...) {
      op.release(op.context);
      throw;
    }
  }
}

// ---- The functions of the table ----------------------------------------------------------------

void destroy(quench_quantizer* quantizer) noexcept {
  const std::unique_ptr<Instance> own(&of(quantizer));
  own->functions->destroy(own->inner);
}

uint32_t needs(const quench_quantizer* quantizer) noexcept {
  return of(quantizer).functions->needs(of(quantizer).inner);
}

quench_status begin(quench_quantizer* quantizer, const quench_group_args* args,
                    quench_quantizer_state** out, quench_error* error) noexcept {
  return kit::guard(error, [&] {
    Instance& own = of(quantizer);
    auto state = std::make_unique<State>();
    state->rotation = rotation_for(own.parameters, *args);
    state->info = *args->info;
    if (state->rotation != nullptr) {
      state->info.site_count = 0;
      state->info.sites = nullptr;
    }
    quench_group_args inner_args = *args;
    inner_args.info = &state->info;
    call(own.functions->begin, own.inner, &inner_args, &state->inner);
    *out = reinterpret_cast<quench_quantizer_state*>(state.release());
  });
}

quench_status observe(quench_quantizer* quantizer, quench_quantizer_state* state,
                      const quench_observe_args* args, quench_error* error) noexcept {
  const Instance& own = of(quantizer);
  const State& group = of(state);
  if (group.rotation == nullptr) {
    return own.functions->observe(own.inner, group.inner, args, error);
  }
  return kit::guard(error, [&] {
    const c10::InferenceMode inference;
    quench_observe_args inner_args = *args;
    const at::Tensor x = rotated(*group.rotation, *args->x, "x");
    const quench_tensor view = kit::view_of(x);
    inner_args.x = &view;
    at::Tensor float_x;
    quench_tensor float_view{};
    if (args->float_x != nullptr) {
      float_x = rotated(*group.rotation, *args->float_x, "float_x");
      float_view = kit::view_of(float_x);
      inner_args.float_x = &float_view;
    }
    call(own.functions->observe, own.inner, group.inner, &inner_args);
  });
}

quench_status quantize(quench_quantizer* quantizer, quench_quantizer_state* state,
                       const quench_quantize_args* args, quench_error* error) noexcept {
  Instance& own = of(quantizer);
  State& group = of(state);
  if (group.rotation == nullptr) {
    return own.functions->quantize(own.inner, group.inner, args, error);
  }
  return kit::guard(error, [&] {
    kit::expects(args->linear < group.info.linear_count, "linear: no such index in this group");
    quantize_rotated(own, group, *args);
  });
}

void end(quench_quantizer* quantizer, quench_quantizer_state* state) noexcept {
  const std::unique_ptr<State> group(&of(state));
  of(quantizer).functions->end(of(quantizer).inner, group->inner);
}

quench_status gram_get(quench_quantizer* quantizer, quench_quantizer_state* state,
                       quench_tensor* gram, double* rows, quench_error* error) noexcept {
  const Instance& own = of(quantizer);
  State& group = of(state);
  if (group.rotation == nullptr) {
    return own.functions->gram_get(own.inner, group.inner, gram, rows, error);
  }
  return kit::guard(error, [&] {
    const c10::InferenceMode inference;
    quench_tensor view{};
    call(own.functions->gram_get, own.inner, group.inner, &view, rows);
    group.gram = rotated_gram(*group.rotation, view, Direction::kUndo);
    *gram = kit::view_of(group.gram);
  });
}

quench_status gram_set(quench_quantizer* quantizer, quench_quantizer_state* state,
                       const quench_tensor* gram, double rows, quench_error* error) noexcept {
  const Instance& own = of(quantizer);
  const State& group = of(state);
  if (group.rotation == nullptr) {
    return own.functions->gram_set(own.inner, group.inner, gram, rows, error);
  }
  return kit::guard(error, [&] {
    const c10::InferenceMode inference;
    const at::Tensor turned = rotated_gram(*group.rotation, *gram, Direction::kApply);
    const quench_tensor view = kit::view_of(turned);
    call(own.functions->gram_set, own.inner, group.inner, &view, rows);
  });
}

// Of rotated weights on rotated rows: the same sums.
quench_status output_error(quench_quantizer* quantizer, quench_quantizer_state* state,
                           const quench_tensor* weight, const quench_tensor* dequantized,
                           double* squared_error, double* reference, quench_error* error) noexcept {
  const Instance& own = of(quantizer);
  const State& group = of(state);
  if (group.rotation == nullptr) {
    return own.functions->output_error(own.inner, group.inner, weight, dequantized, squared_error,
                                       reference, error);
  }
  return kit::guard(error, [&] {
    const c10::InferenceMode inference;
    const at::Tensor before = rotated(*group.rotation, *weight, "weight");
    const at::Tensor after = rotated(*group.rotation, *dequantized, "dequantized");
    const quench_tensor views[2] = {kit::view_of(before), kit::view_of(after)};
    call(own.functions->output_error, own.inner, group.inner, &views[0], &views[1], squared_error,
         reference);
  });
}

int32_t accepts(const quench_quantizer* quantizer, const quench_quantizer* other) noexcept {
  const Instance& own = of(quantizer);
  const Instance& theirs = of(other);
  return own.parameters == theirs.parameters ? own.functions->accepts(own.inner, theirs.inner) : 0;
}

quench_status prepare(quench_quantizer* quantizer, quench_quantizer_state* state,
                      const quench_group_weights_args* args, quench_error* error) noexcept {
  const Instance& own = of(quantizer);
  const State& group = of(state);
  if (group.rotation == nullptr) {
    return own.functions->prepare(own.inner, group.inner, args, error);
  }
  return kit::guard(error, [&] {
    const c10::InferenceMode inference;
    std::vector<at::Tensor> weights;
    for (uint32_t i = 0; i < args->count; ++i) {
      weights.push_back(rotated(*group.rotation, args->weights[i], "weight"));
    }
    std::vector<quench_tensor> views;
    for (const at::Tensor& weight : weights) {
      views.push_back(kit::view_of(weight));
    }
    quench_group_weights_args inner_args = *args;
    inner_args.weights = views.data();
    call(own.functions->prepare, own.inner, group.inner, &inner_args);
  });
}

int32_t rule_fits(const quench_quantizer* quantizer, uint64_t rule, const char* module) noexcept {
  return of(quantizer).functions->rule_fits(of(quantizer).inner, rule, module);
}

// Beside what is within: the rotated weight, what becomes of it, and that rotated back.
quench_status predict_memory(const quench_quantizer* quantizer,
                             const quench_group_memory_args* args, quench_group_memory* memory,
                             quench_error* error) noexcept {
  const Instance& own = of(quantizer);
  const quench_status status = own.functions->predict_memory(own.inner, args, memory, error);
  if (status != QUENCH_OK || !own.parameters.rotates(args->info->linears[0])) {
    return status;
  }
  int64_t out = 0;
  for (uint32_t l = 0; l < args->info->linear_count; ++l) {
    out = std::max(out, args->info->linears[l].out_features);
  }
  memory->linear += 3 * static_cast<uint64_t>(out * args->in_features) *
                    static_cast<uint64_t>(args->weight_dtype.bits / 8);
  return QUENCH_OK;
}

// The groups as the quantizer within saw them: where inputs are rotated nothing folds.
quench_status apply_plan(quench_quantizer* quantizer, const quench_model_editor* editor,
                         quench_error* error) noexcept {
  return kit::guard(error, [&] {
    const Instance& own = of(quantizer);
    const uint32_t count = editor->info->blocks;
    std::vector<std::vector<quench_group_info>> groups(count);
    std::vector<quench_block_info> blocks;
    for (uint32_t b = 0; b < count; ++b) {
      blocks.push_back(*editor->blocks[b]);
      groups[b].assign(blocks[b].groups, blocks[b].groups + blocks[b].group_count);
      for (quench_group_info& group : groups[b]) {
        if (own.parameters.rotates(group.linears[0])) {
          group.site_count = 0;
          group.sites = nullptr;
        }
      }
      blocks[b].groups = groups[b].data();
    }
    std::vector<const quench_block_info*> pointers;
    for (const quench_block_info& block : blocks) {
      pointers.push_back(&block);
    }
    quench_model_editor seen = *editor;
    seen.blocks = pointers.data();
    call(own.functions->apply_plan, own.inner, &seen);
  });
}

void begin_pass(quench_quantizer* quantizer) noexcept {
  of(quantizer).functions->begin_pass(of(quantizer).inner);
}

// `function` where the quantizer within has one, too.
template <typename Function>
void replace(Function& place, Function function) {
  if (place != nullptr) {
    place = function;
  }
}

}  // namespace

quench_quantizer* make_rotatable(const quench_quantizer_table& functions, quench_quantizer* inner,
                                 const char* id, const RotationParameters& parameters) {
  std::unique_ptr<Instance> own;
  try {
    own = std::make_unique<Instance>(Instance{&functions, inner, parameters});
    if (!parameters.rotates() && parameters.rotate_draw) {
      kit::fail(QUENCH_INVALID_ARGUMENT,
                "%s: rotate_draw has no effect without rotate; wanted rotate = inner or all", id);
    }
    if (parameters.rotates() && (functions.needs(inner) & QUENCH_NEEDS_BLOCK_REPLAY) != 0) {
      kit::fail(QUENCH_INVALID_ARGUMENT,
                "%s: objective = block runs blocks whose inputs are not rotated; wanted objective "
                "= gram with rotate",
                id);
    }
  } catch (...) {
    functions.destroy(inner);
    throw;
  }
  return reinterpret_cast<quench_quantizer*>(own.release());
}

quench_quantizer_table rotatable_table(const quench_quantizer_table& inner,
                                       decltype(quench_quantizer_table::create) create) {
  quench_quantizer_table table = inner;
  table.create = create;
  table.destroy = destroy;
  table.needs = needs;
  table.begin = begin;
  table.observe = observe;
  table.quantize = quantize;
  table.end = end;
  replace(table.gram_get, gram_get);
  replace(table.gram_set, gram_set);
  replace(table.output_error, output_error);
  replace(table.accepts, accepts);
  replace(table.prepare, prepare);
  replace(table.rule_fits, rule_fits);
  replace(table.predict_memory, predict_memory);
  replace(table.apply_plan, apply_plan);
  replace(table.begin_pass, begin_pass);
  return table;
}

}  // namespace quench::quantizers
