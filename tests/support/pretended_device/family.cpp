// pretended: the family gpt_neox on a device that is none. It says that it computes on cuda:0, and
// memory that it hands out belongs to it alone (memory.h); the computing is gpt_neox's, in host
// memory. What a caller does with a model on a device is so run where there is none.
#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "quench/abi/extension/device_memory.h"
#include "quench/abi/extension/gradients.h"
#include "quench/kit/model.hpp"
#include "tests/support/pretended_device/memory.h"

namespace quench::test {

namespace {

constexpr quench_device kPretended = {QUENCH_DEVICE_CUDA, 0};
constexpr quench_device kHost = {QUENCH_DEVICE_CPU, 0};

const quench_model_table& inner() {
  static const quench_model_table& table = [&]() -> const quench_model_table& {
    void* library = dlopen(PRETENDED_GPT_NEOX, RTLD_NOW | RTLD_LOCAL);
    kit::expects(library != nullptr, "pretended: no gpt_neox");
    const auto entry =
        reinterpret_cast<decltype(&quench_module_v1)>(dlsym(library, QUENCH_ENTRY_SYMBOL));
    const quench_module& module = *entry();
    quench_error error{sizeof error, 0, {}};
    kit::check(module.init(kit::current_host, &error), error);
    return *static_cast<const quench_model_table*>(module.items[0]->table);
  }();
  return table;
}

// Calls what is gpt_neox's, as the device.
template <typename Call>
void computed(Call call) {
  const OnPretendedDevice device;
  quench_error error{sizeof error, 0, {}};
  kit::check(call(&error), error);
}

// A view as gpt_neox may have it.
quench_tensor seen(const quench_tensor& view) {
  quench_tensor out = view;
  kit::expects(view.device.type == QUENCH_DEVICE_CPU || view.device.index == kPretended.index,
               "pretended: another device");
  out.device = kHost;
  return out;
}

// What the argument blocks want on the device must be there.
quench_tensor seen_on_device(const quench_tensor& view) {
  kit::expects(view.device.type == QUENCH_DEVICE_CUDA, "pretended: wanted it on the device");
  return seen(view);
}

class Pretended final : public kit::Model {
 public:
  static constexpr bool kHasDeviceMemory = true;
  struct Params {
    static void describe(kit::Fields<Params>&) {}
  };
  static kit::Fit probe(const kit::Json&) { return 0; }
  static std::unique_ptr<kit::Model> open(const quench_model_open_args& args) {
    return std::make_unique<Pretended>(args);
  }

  explicit Pretended(quench_model_open_args args) {
    kit::expects(args.device.type == QUENCH_DEVICE_CUDA, "pretended: wanted device cuda:0");
    args.device = kHost;
    computed([&](quench_error* error) { return inner().open(&args, &model_, error); });
  }
  ~Pretended() override { inner().close(model_); }
  Pretended(const Pretended&) = delete;
  Pretended& operator=(const Pretended&) = delete;

  quench_model_info info() const override {
    quench_model_info out{};
    out.struct_size = sizeof out;
    computed([&](quench_error* error) { return inner().info(model_, &out, error); });
    out.device = kPretended;
    return out;
  }
  std::span<const quench_parameter_info> parameters() const override {
    const quench_parameter_info* list = nullptr;
    uint64_t count = 0;
    computed([&](quench_error* error) { return inner().parameters(model_, &list, &count, error); });
    return {list, count};
  }
  const quench_block_info& block(uint32_t block) const override {
    const quench_block_info* out = nullptr;
    computed([&](quench_error* error) { return inner().block(model_, block, &out, error); });
    return *out;
  }
  std::span<const quench_carry_info> carry(uint32_t block, uint32_t stage) const override {
    const quench_carry_info* list = nullptr;
    uint32_t count = 0;
    computed([&](quench_error* error) {
      return inner().carry(model_, block, stage, &list, &count, error);
    });
    return {list, count};
  }

  void* allocate(uint64_t bytes) override {
    void* memory = pretended_allocate(bytes);
    kit::expects(memory != nullptr, "pretended: no memory");
    return memory;
  }
  void release(void* memory) override { pretended_release(memory); }
  void copy(const quench_tensor& from, const quench_tensor& to, void* stream) override {
    const quench_tensor source = seen(from);
    const quench_tensor target = seen(to);
    computed(
        [&](quench_error* error) { return inner().copy(model_, &source, &target, stream, error); });
  }

  void embed(const quench_embed_args& args) override {
    quench_embed_args own = args;
    const quench_tensor h = seen_on_device(*args.h);
    own.h = &h;
    computed([&](quench_error* error) { return inner().embed(model_, &own, error); });
  }
  void stage(const quench_stage_args& args) override {
    quench_stage_args own = args;
    std::vector<quench_tensor> in;
    std::vector<quench_tensor> out;
    for (uint32_t i = 0; i < args.in_count; ++i) {
      in.push_back(seen_on_device(args.in[i]));
    }
    for (uint32_t i = 0; i < args.out_count; ++i) {
      out.push_back(seen_on_device(args.out[i]));
    }
    own.in = in.data();
    own.out = out.data();
    computed([&](quench_error* error) { return inner().stage(model_, &own, error); });
  }
  void token_nll(const quench_head_args& args) override {
    quench_head_args own = args;
    const quench_tensor h = seen_on_device(*args.h);
    own.h = &h;
    computed([&](quench_error* error) { return inner().token_nll(model_, &own, error); });
  }
  void logits(const quench_tensor& h, const quench_tensor& logits, void* stream) override {
    const quench_tensor from = seen_on_device(h);
    const quench_tensor to = seen_on_device(logits);
    computed(
        [&](quench_error* error) { return inner().logits(model_, &from, &to, stream, error); });
  }

  void weight_get(const std::string& name, const quench_tensor& destination) override {
    const quench_tensor to = seen(destination);
    computed(
        [&](quench_error* error) { return inner().weight_get(model_, name.c_str(), &to, error); });
  }
  void weight_set(const std::string& name, const quench_tensor& value) override {
    kit::expects(!shares_weights_, "pretended: its weights lie in the caller's vector");
    const quench_tensor from = seen(value);
    computed([&](quench_error* error) {
      return inner().weight_set(model_, name.c_str(), &from, error);
    });
  }
  uint64_t weight_generation(const std::string& name) const override {
    uint64_t out = 0;
    computed([&](quench_error* error) {
      return inner().weight_generation(model_, name.c_str(), &out, error);
    });
    return out;
  }
  void set_linear_op(uint32_t block, uint32_t group, uint32_t linear,
                     const quench_linear_op* op) override {
    computed([&](quench_error* error) {
      return inner().set_linear_op(model_, block, group, linear, op, error);
    });
  }
  void set_cache_op(uint32_t block, const quench_cache_op* op) override {
    computed([&](quench_error* error) { return inner().set_cache_op(model_, block, op, error); });
  }
  double block_gradient(const quench_block_gradient_args& args) override {
    quench_block_gradient_args own = args;
    const quench_tensor h = seen_on_device(*args.h);
    const bool is_slope = args.slope != nullptr;
    const quench_tensor goal = seen_on_device(is_slope ? *args.slope : *args.target);
    std::vector<quench_tensor> gradients;
    for (uint32_t i = 0; i < args.weight_count; ++i) {
      gradients.push_back(seen(args.gradients[i]));
    }
    own.h = &h;
    (is_slope ? own.slope : own.target) = &goal;
    own.gradients = gradients.data();
    double loss = 0;
    computed(
        [&](quench_error* error) { return inner().block_gradient(model_, &own, &loss, error); });
    return loss;
  }

  const void* extension(const char* id) const override;

  quench_model* model() const { return model_; }
  void share_weights(const quench_tensor& vector) {
    const quench_tensor place = seen_on_device(vector);
    computed([&](quench_error* error) {
      return table<quench_model_shared_weights>(QUENCH_MODEL_SHARED_WEIGHTS)
          .share(model_, &place, error);
    });
    shares_weights_ = true;
  }
  // A table of gpt_neox's.
  template <typename Table>
  const Table& table(const char* id) const {
    return *static_cast<const Table*>(inner().extension(model_, id));
  }

 private:
  quench_model* model_ = nullptr;
  bool shares_weights_ = false;
};

const Pretended& self(quench_model* model) {
  return static_cast<const Pretended&>(kit::detail::self(model));
}

constexpr quench_model_gradient kGradient = {
    sizeof(quench_model_gradient),
    [](quench_model* model, const quench_loss_args* args, const quench_tensor* gradient,
       double* loss, quench_error* error) noexcept -> quench_status {
      return kit::guard(error, [&] {
        const quench_tensor to = gradient != nullptr ? seen(*gradient) : quench_tensor{};
        computed([&](quench_error* inside) {
          return self(model)
              .table<quench_model_gradient>(QUENCH_MODEL_GRADIENT)
              .gradient(self(model).model(), args, gradient != nullptr ? &to : nullptr, loss,
                        inside);
        });
      });
    }};

// An expansion of gpt_neox's, and its table.
struct Opened {
  const quench_model_curvature* table;
  quench_curvature* curvature;
};

constexpr quench_model_curvature kCurvature = {
    sizeof(quench_model_curvature),
    [](quench_model* model, const quench_loss_args* args, int32_t kind,
       const quench_tensor* gradient, double* loss, quench_curvature** curvature,
       quench_error* error) noexcept -> quench_status {
      return kit::guard(error, [&] {
        const quench_tensor to = gradient != nullptr ? seen(*gradient) : quench_tensor{};
        auto opened = std::make_unique<Opened>();
        opened->table = &self(model).table<quench_model_curvature>(QUENCH_MODEL_CURVATURE);
        computed([&](quench_error* inside) {
          return opened->table->open(self(model).model(), args, kind,
                                     gradient != nullptr ? &to : nullptr, loss, &opened->curvature,
                                     inside);
        });
        *curvature = reinterpret_cast<quench_curvature*>(opened.release());
      });
    },
    [](quench_curvature* curvature, const quench_tensor* v, const quench_tensor* product,
       quench_error* error) noexcept -> quench_status {
      return kit::guard(error, [&] {
        const auto& opened = *reinterpret_cast<Opened*>(curvature);
        const quench_tensor from = seen(*v);
        const quench_tensor to = seen(*product);
        computed([&](quench_error* inside) {
          return opened.table->product(opened.curvature, &from, &to, inside);
        });
      });
    },
    [](quench_curvature* curvature) noexcept {
      const std::unique_ptr<Opened> opened(reinterpret_cast<Opened*>(curvature));
      const OnPretendedDevice device;
      opened->table->close(opened->curvature);
    }};

constexpr quench_model_vectors kVectors = {
    sizeof(quench_model_vectors),
    [](quench_model* model, double value, const quench_tensor* to,
       quench_error* error) noexcept -> quench_status {
      return kit::guard(error, [&] {
        const quench_tensor place = seen_on_device(*to);
        computed([&](quench_error* inside) {
          return self(model)
              .table<quench_model_vectors>(QUENCH_MODEL_VECTORS)
              .fill(self(model).model(), value, &place, inside);
        });
      });
    },
    [](quench_model* model, uint32_t count, const quench_tensor* vectors,
       const double* coefficients, const quench_tensor* to,
       quench_error* error) noexcept -> quench_status {
      return kit::guard(error, [&] {
        std::vector<quench_tensor> terms;
        for (uint32_t i = 0; i < count; ++i) {
          terms.push_back(seen_on_device(vectors[i]));
        }
        const quench_tensor place = seen_on_device(*to);
        computed([&](quench_error* inside) {
          return self(model)
              .table<quench_model_vectors>(QUENCH_MODEL_VECTORS)
              .combine(self(model).model(), count, terms.data(), coefficients, &place, inside);
        });
      });
    },
    [](quench_model* model, const quench_tensor* a, const quench_tensor* b, double* value,
       quench_error* error) noexcept -> quench_status {
      return kit::guard(error, [&] {
        const quench_tensor left = seen_on_device(*a);
        const quench_tensor right = seen_on_device(*b);
        computed([&](quench_error* inside) {
          return self(model)
              .table<quench_model_vectors>(QUENCH_MODEL_VECTORS)
              .dot(self(model).model(), &left, &right, value, inside);
        });
      });
    }};

constexpr quench_model_shared_weights kSharedWeights = {
    sizeof(quench_model_shared_weights),
    [](quench_model* model, const quench_tensor* vector,
       quench_error* error) noexcept -> quench_status {
      return kit::guard(
          error, [&] { static_cast<Pretended&>(kit::detail::self(model)).share_weights(*vector); });
    }};

constexpr quench_model_device_memory kMemory = {
    sizeof(quench_model_device_memory),
    [](quench_model*, uint64_t* free_bytes, uint64_t* total_bytes,
       quench_error*) noexcept -> quench_status {
      *free_bytes = pretended_free();
      *total_bytes = pretended_free() + pretended_bytes();
      return QUENCH_OK;
    },
    [](quench_model*, uint64_t bytes, void** memory, quench_error*) noexcept -> quench_status {
      *memory = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
      return *memory != nullptr ? QUENCH_OK : QUENCH_RESOURCE_EXHAUSTED;
    },
    [](quench_model*, void* memory) noexcept { std::free(memory); },
    nullptr,
    nullptr};

const void* Pretended::extension(const char* id) const {
  if (std::strcmp(id, QUENCH_MODEL_GRADIENT) == 0) {
    return &kGradient;
  }
  if (std::strcmp(id, QUENCH_MODEL_CURVATURE) == 0) {
    return &kCurvature;
  }
  if (std::strcmp(id, QUENCH_MODEL_DEVICE_MEMORY) == 0) {
    return &kMemory;
  }
  if (std::strcmp(id, QUENCH_MODEL_SHARED_WEIGHTS) == 0) {
    return &kSharedWeights;
  }
  return std::strcmp(id, QUENCH_MODEL_VECTORS) == 0 ? &kVectors : nullptr;
}

}  // namespace

}  // namespace quench::test

QUENCH_MODULE(
    "test.pretended", "0.1.0",
    quench::kit::model<quench::test::Pretended>({.id = "pretended",
                                                 .version = "0.1.0",
                                                 .summary = "gpt_neox on a device that is none.",
                                                 .reference = nullptr,
                                                 .example = nullptr}))
