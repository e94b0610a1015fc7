#include "core/pass/copied_model.hpp"

#include <initializer_list>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/answer.hpp"
#include "core/pass/activation_stream.hpp"
#include "quench/abi/extension/gradients.h"

namespace quench {

namespace {

ModelHandle& model_of(const quench_model* self) {
  return reinterpret_cast<CopiedModel*>(const_cast<quench_model*>(self))->model();
}

// Tensors in host memory that the model's own functions copy themselves; nullptr: none.
void pin(const ModelHandle& model, std::initializer_list<const quench_tensor*> tensors) {
  for (const quench_tensor* tensor : tensors) {
    if (tensor != nullptr) {
      model.pin(*tensor);
    }
  }
}

void pin(const ModelHandle& model, const quench_batch& batch) {
  pin(model, {batch.tokens, batch.positions, batch.segments});
}

void pin(const ModelHandle& model, const quench_loss_args& args) {
  pin(model, *args.batch);
  pin(model, {args.targets});
}

// A place on the device for a tensor in host memory.
class Placed {
 public:
  Placed(ModelHandle& model, const quench_tensor& here)
      : model_(model),
        here_(here),
        there_(model, here.dtype, {here.shape, here.shape + here.dimensions}) {}

  quench_tensor view() const { return there_.view(); }
  void bring() const { model_.copy(here_, view()); }
  void fetch() const { model_.copy(view(), here_); }

 private:
  ModelHandle& model_;
  quench_tensor here_;
  DeviceTensor there_;
};

std::vector<Placed> place_all(ModelHandle& model, const quench_tensor* tensors, uint32_t count) {
  std::vector<Placed> placed;
  placed.reserve(count);
  for (uint32_t i = 0; i < count; ++i) {
    placed.emplace_back(model, tensors[i]);
  }
  return placed;
}

std::vector<quench_tensor> views_of(const std::vector<Placed>& placed) {
  std::vector<quench_tensor> views;
  views.reserve(placed.size());
  for (const Placed& each : placed) {
    views.push_back(each.view());
  }
  return views;
}

void embed(ModelHandle& model, quench_embed_args args) {
  const Placed h(model, *args.h);
  const quench_tensor view = h.view();
  args.h = &view;
  pin(model, *args.batch);
  model.embed(args);
  h.fetch();
}

void stage(ModelHandle& model, quench_stage_args args) {
  const std::vector<Placed> in = place_all(model, args.in, args.in_count);
  const std::vector<Placed> out = place_all(model, args.out, args.out_count);
  for (const Placed& each : in) {
    each.bring();
  }
  const std::vector<quench_tensor> inputs = views_of(in);
  const std::vector<quench_tensor> outputs = views_of(out);
  args.in = inputs.data();
  args.out = outputs.data();
  pin(model, *args.batch);
  model.stage(args);
  for (const Placed& each : out) {
    each.fetch();
  }
}

void token_nll(ModelHandle& model, quench_head_args args) {
  const Placed h(model, *args.h);
  h.bring();
  const quench_tensor view = h.view();
  args.h = &view;
  pin(model, {args.targets, args.nll, args.argmax});
  model.token_nll(args);
}

// Calls map(h, y) on the device.
template <typename Map>
void map_rows(ModelHandle& model, const quench_tensor& h, const quench_tensor& y, Map&& map) {
  const Placed from(model, h);
  const Placed to(model, y);
  from.bring();
  map(from.view(), to.view());
  to.fetch();
}

// The model's own table of an extension that it has.
template <typename Table>
const Table& own(const quench_model* self, const char* id) {
  return *static_cast<const Table*>(model_of(self).extension(id));
}

constexpr quench_model_gradient kGradient = {
    sizeof(quench_model_gradient),
    [](quench_model* self, const quench_loss_args* args, const quench_tensor* gradient,
       double* loss, quench_error* error) noexcept -> quench_status {
      pin(model_of(self), *args);
      pin(model_of(self), {gradient});
      return own<quench_model_gradient>(self, QUENCH_MODEL_GRADIENT)
          .gradient(model_of(self).get(), args, gradient, loss, error);
    }};

// What `ask` returns, or `otherwise` where it throws: for a function without a status.
template <typename T, typename Ask>
T answer_of(T otherwise, Ask&& ask) noexcept {
  try {
    return ask();
  } catch (const Error&) {
    return otherwise;
  }
}

// What the model has made of a batch. Its vectors are in host memory already.
struct Opened {
  const ModelHandle* model;
  const quench_model_curvature* table;
  quench_curvature* curvature;
};

Opened* opened(quench_curvature* curvature) {
  return reinterpret_cast<Opened*>(curvature);
}

constexpr quench_model_curvature kCurvature = {
    sizeof(quench_model_curvature),
    [](quench_model* self, const quench_loss_args* args, int32_t kind,
       const quench_tensor* gradient, double* loss, quench_curvature** curvature,
       quench_error* error) noexcept -> quench_status {
      const auto& table = own<quench_model_curvature>(self, QUENCH_MODEL_CURVATURE);
      quench_curvature* made = nullptr;
      pin(model_of(self), *args);
      pin(model_of(self), {gradient});
      const quench_status status =
          table.open(model_of(self).get(), args, kind, gradient, loss, &made, error);
      if (status != QUENCH_OK) {
        return status;
      }
      return guarded(error, [&] {
        auto held = std::make_unique<Opened>(Opened{&model_of(self), &table, made});
        *curvature = reinterpret_cast<quench_curvature*>(held.release());
      });
    },
    [](quench_curvature* curvature, const quench_tensor* v, const quench_tensor* product,
       quench_error* error) noexcept -> quench_status {
      pin(*opened(curvature)->model, {v, product});
      return opened(curvature)->table->product(opened(curvature)->curvature, v, product, error);
    },
    [](quench_curvature* curvature) noexcept {
      const std::unique_ptr<Opened> last(opened(curvature));
      last->table->close(last->curvature);
    }};

// Of the SDK's extensions of a model, those that both have.
const void* extension(const quench_model* self, std::string_view id) {
  const void* table = id == QUENCH_MODEL_GRADIENT    ? static_cast<const void*>(&kGradient)
                      : id == QUENCH_MODEL_CURVATURE ? &kCurvature
                                                     : nullptr;
  return table != nullptr && model_of(self).extension(id.data()) != nullptr ? table : nullptr;
}

}  // namespace

const quench_model_table& CopiedModel::table() {
  static constexpr quench_model_table kTable = {
      .struct_size = sizeof(quench_model_table),
      .probe = nullptr,
      .open = nullptr,
      .close = nullptr,
      .info = [](const quench_model* self, quench_model_info* info,
                 quench_error* error) noexcept -> quench_status {
        return guarded(error, [&] {
          quench_model_info own = model_of(self).info();
          own.device = {QUENCH_DEVICE_CPU, 0};
          answer_into(*info, own);
        });
      },
      .parameters = [](const quench_model* self, const quench_parameter_info** parameters,
                       uint64_t* count, quench_error* error) noexcept -> quench_status {
        return guarded(error, [&] {
          const std::span<const quench_parameter_info> all = model_of(self).parameters();
          *parameters = all.data();
          *count = all.size();
        });
      },
      .block = [](const quench_model* self, uint32_t block, const quench_block_info** info,
                  quench_error* error) noexcept -> quench_status {
        return guarded(error, [&] { *info = &model_of(self).block(block); });
      },
      .carry = [](const quench_model* self, uint32_t block, uint32_t stage,
                  const quench_carry_info** tensors, uint32_t* count,
                  quench_error* error) noexcept -> quench_status {
        return guarded(error, [&] {
          const std::span<const quench_carry_info> all = model_of(self).carry(block, stage);
          *tensors = all.data();
          *count = static_cast<uint32_t>(all.size());
        });
      },
      .embed = [](quench_model* self, const quench_embed_args* args, quench_error* error) noexcept
      -> quench_status { return guarded(error, [&] { embed(model_of(self), *args); }); },
      .stage = [](quench_model* self, const quench_stage_args* args, quench_error* error) noexcept
      -> quench_status { return guarded(error, [&] { stage(model_of(self), *args); }); },
      .token_nll = [](quench_model* self, const quench_head_args* args,
                      quench_error* error) noexcept -> quench_status {
        return guarded(error, [&] { token_nll(model_of(self), *args); });
      },
      .logits = [](quench_model* self, const quench_tensor* h, const quench_tensor* logits, void*,
                   quench_error* error) noexcept -> quench_status {
        return guarded(error, [&] {
          ModelHandle& model = model_of(self);
          map_rows(model, *h, *logits, [&](const quench_tensor& from, const quench_tensor& to) {
            model.logits(from, to);
          });
        });
      },
      .weight_get = [](quench_model* self, const char* name, const quench_tensor* destination,
                       quench_error* error) noexcept -> quench_status {
        return guarded(error, [&] { model_of(self).weight_get(name, *destination); });
      },
      .weight_set = [](quench_model* self, const char* name, const quench_tensor* value,
                       quench_error* error) noexcept -> quench_status {
        return guarded(error, [&] { model_of(self).weight_set(name, *value); });
      },
      .weight_generation = [](const quench_model* self, const char* name, uint64_t* generation,
                              quench_error* error) noexcept -> quench_status {
        return guarded(error, [&] { *generation = model_of(self).weight_generation(name); });
      },
      .set_linear_op = [](quench_model* self, uint32_t block, uint32_t group, uint32_t linear,
                          const quench_linear_op* op,
                          quench_error* error) noexcept -> quench_status {
        return guarded(error, [&] { model_of(self).set_linear_op(block, group, linear, op); });
      },
      .allocate = nullptr,
      .release = nullptr,
      .copy = nullptr,
      .features = [](const quench_model* self) noexcept -> uint32_t {
        return answer_of(uint32_t{0}, [&] { return model_of(self).features(); });
      },
      .token_wise_from = [](const quench_model* self, uint32_t block) noexcept -> uint32_t {
        return answer_of(UINT32_MAX, [&] { return model_of(self).token_wise_from(block); });
      },
      .head_rows = [](quench_model* self, const quench_tensor* h, const quench_tensor* x, void*,
                      quench_error* error) noexcept -> quench_status {
        return guarded(error, [&] {
          ModelHandle& model = model_of(self);
          map_rows(model, *h, *x, [&](const quench_tensor& from, const quench_tensor& to) {
            model.head_rows(from, to);
          });
        });
      },
      .residual = [](const quench_model* self, const quench_residual_info** info,
                     quench_error* error) noexcept -> quench_status {
        return guarded(error, [&] { *info = &model_of(self).residual(); });
      },
      .product_rate = [](quench_model* self, uint32_t flags, double* rate,
                         quench_error* error) noexcept -> quench_status {
        return guarded(error, [&] { *rate = model_of(self).product_rate(flags); });
      },
      .extension = [](const quench_model* self, const char* id) noexcept -> const void* {
        return answer_of<const void*>(nullptr, [&] { return extension(self, id); });
      },
      .set_cache_op = [](quench_model* self, uint32_t block, const quench_cache_op* op,
                         quench_error* error) noexcept -> quench_status {
        return guarded(error, [&] { model_of(self).set_cache_op(block, op); });
      },
      .block_gradient = nullptr,
  };
  return kTable;
}

}  // namespace quench
