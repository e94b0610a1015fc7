// A model family as a C++ class. Derive Model, end with QUENCH_MODULE.
//
// The class behind kit::model<Family>({...}) also defines
//   struct Params { static void describe(Fields<Params>&) {} };   options of the family, often none
//   static Fit probe(const Json& config);     or int; may throw the reason why not (then it is 0)
//   static std::unique_ptr<Model> open(const quench_model_open_args&);
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "quench/abi/kind/model.h"
#include "quench/kit/answer.hpp"
#include "quench/kit/module.hpp"
#include "quench/kit/source.hpp"
#include "quench/kit/tensor.hpp"

namespace quench::kit {

// How well a family fits a config, as in quench_model_table::probe: 100, 0, or -1..-99 with the
// difference.
struct Fit {
  Fit(int fit, std::string what = "") : score(fit), difference(std::move(what)) {}
  int score;
  std::string difference;
};

class Model {
 public:
  virtual ~Model() = default;

  // Descriptions. What they return or point to lives as long as the model.
  virtual quench_model_info info() const = 0;
  virtual std::span<const quench_parameter_info> parameters() const = 0;
  virtual const quench_block_info& block(uint32_t block) const = 0;
  virtual std::span<const quench_carry_info> carry(uint32_t block, uint32_t stage) const = 0;

  // Device memory. The defaults are for a family that runs in host memory.
  virtual void* allocate(uint64_t) {
    throw Error(QUENCH_UNSUPPORTED, "this family runs in host memory");
  }
  virtual void release(void*) {}
  virtual void copy(const quench_tensor&, const quench_tensor&, void*) {
    throw Error(QUENCH_UNSUPPORTED, "this family runs in host memory");
  }

  virtual void embed(const quench_embed_args& args) = 0;
  virtual void stage(const quench_stage_args& args) = 0;
  virtual void token_nll(const quench_head_args& args) = 0;
  virtual void logits(const quench_tensor& h, const quench_tensor& logits, void* stream) = 0;

  virtual void weight_get(const std::string& name, const quench_tensor& destination) = 0;
  virtual void weight_set(const std::string& name, const quench_tensor& value) = 0;
  virtual uint64_t weight_generation(const std::string& name) const = 0;
  virtual void set_linear_op(uint32_t block, uint32_t group, uint32_t linear,
                             const quench_linear_op* op) = 0;
  // Optional: what quench_model_table says of a family that has none of it.
  virtual uint32_t features() const { return 0; }  // QUENCH_MODEL_*
  virtual uint32_t token_wise_from(uint32_t block) const { return this->block(block).stage_count; }
  virtual void head_rows(const quench_tensor&, const quench_tensor&, void*) {
    throw Error(QUENCH_UNSUPPORTED, "does not show the rows that its output head reads");
  }
  virtual const quench_residual_info& residual() const {
    throw Error(QUENCH_UNSUPPORTED, "does not say where its residual stream is written and read");
  }
  virtual double product_rate(uint32_t /*QUENCH_LOSS_* */) {
    throw Error(QUENCH_UNSUPPORTED, "does not measure products");
  }
  virtual const void* extension(const char*) const { return nullptr; }
  // Takes ownership of the op; nullptr takes out the one before.
  virtual void set_cache_op(uint32_t /*block*/, const quench_cache_op* /*op*/) {
    throw Error(QUENCH_UNSUPPORTED, "does not let an op change its keys and values");
  }
  virtual double block_gradient(const quench_block_gradient_args&) {
    throw Error(QUENCH_UNSUPPORTED, "does not differentiate a block by itself");
  }
};

namespace detail {

inline Model& self(quench_model* model) {
  return *reinterpret_cast<Model*>(model);
}
inline const Model& self(const quench_model* model) {
  return *reinterpret_cast<const Model*>(model);
}

template <typename Family>
int32_t probe_model(const char* json, uint64_t bytes, quench_error* error) noexcept {
  int32_t score = 0;
  std::string difference;
  guard(error, [&] {
    Fit fit = Family::probe(Json(json, bytes));
    score = fit.score;
    difference = std::move(fit.difference);
  });
  if (!difference.empty()) {
    report(error, QUENCH_UNSUPPORTED, difference.c_str());
  }
  return score;
}
template <typename Family>
quench_status open_model(const quench_model_open_args* args, quench_model** out,
                         quench_error* error) noexcept {
  return guard(error, [&] {
    *out = reinterpret_cast<quench_model*>(static_cast<Model*>(Family::open(*args).release()));
  });
}
inline void close_model(quench_model* model) noexcept {
  delete &self(model);
}
inline quench_status model_info(const quench_model* model, quench_model_info* info,
                                quench_error* error) noexcept {
  return guard(error, [&] { answer(info, self(model).info()); });
}
inline quench_status model_parameters(const quench_model* model,
                                      const quench_parameter_info** parameters, uint64_t* count,
                                      quench_error* error) noexcept {
  return guard(error, [&] {
    const auto list = self(model).parameters();
    *parameters = list.data();
    *count = list.size();
  });
}
inline quench_status model_block(const quench_model* model, uint32_t block,
                                 const quench_block_info** info, quench_error* error) noexcept {
  return guard(error, [&] {
    expects(block < self(model).info().blocks, "block: no such block");
    *info = &self(model).block(block);
  });
}
inline quench_status model_carry(const quench_model* model, uint32_t block, uint32_t stage,
                                 const quench_carry_info** tensors, uint32_t* count,
                                 quench_error* error) noexcept {
  return guard(error, [&] {
    expects(block < self(model).info().blocks, "block: no such block");
    expects(stage <= self(model).block(block).stage_count, "stage: no such stage");
    const auto list = self(model).carry(block, stage);
    *tensors = list.data();
    *count = static_cast<uint32_t>(list.size());
  });
}
inline quench_status model_allocate(quench_model* model, uint64_t bytes, void** memory,
                                    quench_error* error) noexcept {
  return guard(error, [&] { *memory = self(model).allocate(bytes); });
}
inline void model_release(quench_model* model, void* memory) noexcept {
  self(model).release(memory);
}
inline quench_status model_copy(quench_model* model, const quench_tensor* from,
                                const quench_tensor* to, void* stream,
                                quench_error* error) noexcept {
  return guard(error, [&] { self(model).copy(*from, *to, stream); });
}
inline quench_status model_embed(quench_model* model, const quench_embed_args* args,
                                 quench_error* error) noexcept {
  return guard(error, [&] { self(model).embed(*args); });
}
inline quench_status model_stage(quench_model* model, const quench_stage_args* args,
                                 quench_error* error) noexcept {
  return guard(error, [&] { self(model).stage(*args); });
}
inline quench_status model_token_nll(quench_model* model, const quench_head_args* args,
                                     quench_error* error) noexcept {
  return guard(error, [&] { self(model).token_nll(*args); });
}
inline quench_status model_logits(quench_model* model, const quench_tensor* h,
                                  const quench_tensor* logits, void* stream,
                                  quench_error* error) noexcept {
  return guard(error, [&] { self(model).logits(*h, *logits, stream); });
}
inline quench_status model_weight_get(quench_model* model, const char* name,
                                      const quench_tensor* destination,
                                      quench_error* error) noexcept {
  return guard(error, [&] { self(model).weight_get(name, *destination); });
}
inline quench_status model_weight_set(quench_model* model, const char* name,
                                      const quench_tensor* value, quench_error* error) noexcept {
  return guard(error, [&] { self(model).weight_set(name, *value); });
}
inline quench_status model_weight_generation(const quench_model* model, const char* name,
                                             uint64_t* generation, quench_error* error) noexcept {
  return guard(error, [&] { *generation = self(model).weight_generation(name); });
}
inline quench_status model_set_linear_op(quench_model* model, uint32_t block, uint32_t group,
                                         uint32_t linear, const quench_linear_op* op,
                                         quench_error* error) noexcept {
  return guard(error, [&] { self(model).set_linear_op(block, group, linear, op); });
}
inline uint32_t model_features(const quench_model* model) noexcept {
  return self(model).features();
}
inline uint32_t model_token_wise_from(const quench_model* model, uint32_t block) noexcept {
  return self(model).token_wise_from(block);
}
inline quench_status model_head_rows(quench_model* model, const quench_tensor* h,
                                     const quench_tensor* x, void* stream,
                                     quench_error* error) noexcept {
  return guard(error, [&] { self(model).head_rows(*h, *x, stream); });
}
inline quench_status model_residual(const quench_model* model, const quench_residual_info** info,
                                    quench_error* error) noexcept {
  return guard(error, [&] { *info = &self(model).residual(); });
}
inline quench_status model_product_rate(quench_model* model, uint32_t flags, double* rate,
                                        quench_error* error) noexcept {
  return guard(error, [&] { *rate = self(model).product_rate(flags); });
}
inline const void* model_extension(const quench_model* model, const char* id) noexcept {
  return self(model).extension(id);
}
inline quench_status model_set_cache_op(quench_model* model, uint32_t block,
                                        const quench_cache_op* op, quench_error* error) noexcept {
  return guard(error, [&] {
    expects(block < self(model).info().blocks, "set_cache_op: no such block");
    self(model).set_cache_op(block, op);
  });
}
inline quench_status model_block_gradient(quench_model* model,
                                          const quench_block_gradient_args* args, double* loss,
                                          quench_error* error) noexcept {
  return guard(error, [&] {
    expects(args->block < self(model).info().blocks, "block_gradient: no such block");
    expects((args->target == nullptr) != (args->slope == nullptr),
            "block_gradient: wanted a target or a slope");
    *loss = self(model).block_gradient(*args);
  });
}

// A family sets `static constexpr bool kHasDeviceMemory = true` if it implements allocate, release
// and copy.
template <typename Family>
constexpr bool has_device_memory() {
  if constexpr (requires { Family::kHasDeviceMemory; }) {
    return Family::kHasDeviceMemory;
  } else {
    return false;
  }
}

}  // namespace detail

// Makes the item of a model family.
template <typename Family>
quench_item model(const About& about) {
  static const quench_model_table kTable = [] {
    quench_model_table table{};
    table.struct_size = sizeof table;
    table.probe = detail::probe_model<Family>;
    table.open = detail::open_model<Family>;
    table.close = detail::close_model;
    table.info = detail::model_info;
    table.parameters = detail::model_parameters;
    table.block = detail::model_block;
    table.carry = detail::model_carry;
    table.embed = detail::model_embed;
    table.stage = detail::model_stage;
    table.token_nll = detail::model_token_nll;
    table.logits = detail::model_logits;
    table.weight_get = detail::model_weight_get;
    table.weight_set = detail::model_weight_set;
    table.weight_generation = detail::model_weight_generation;
    table.set_linear_op = detail::model_set_linear_op;
    if (detail::has_device_memory<Family>()) {
      table.allocate = detail::model_allocate;
      table.release = detail::model_release;
      table.copy = detail::model_copy;
    }
    table.features = detail::model_features;
    table.token_wise_from = detail::model_token_wise_from;
    table.head_rows = detail::model_head_rows;
    table.residual = detail::model_residual;
    table.product_rate = detail::model_product_rate;
    table.extension = detail::model_extension;
    table.set_cache_op = detail::model_set_cache_op;
    table.block_gradient = detail::model_block_gradient;
    return table;
  }();
  return make_item<typename Family::Params>(QUENCH_KIND_MODEL, about, &kTable);
}

}  // namespace quench::kit
