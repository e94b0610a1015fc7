// A toy of each thing that planned.h.in adds: a quantizer whose result is an op on the input, with
// its backward, beside one on keys and values, as 1.1 has it; a model with a rotation within
// itself; a format with scales of two levels and parameters of the inputs. By hand, since the kit
// does not know them.
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "quench/abi/kind/format.h"
#include "quench/abi/kind/quantizer.h"
#include "quench/abi/module.h"

namespace {

const quench_host* host = nullptr;

// ---- the quantizer: y = x·|x| of the input; keys and values in steps of 1/4

const void* anything = &host;  // an address for objects that hold nothing

quench_status square(void*, const quench_tensor* x, const quench_tensor* y, void*,
                     quench_error*) noexcept {
  for (int64_t i = 0; i < x->shape[0] * x->shape[1]; ++i) {
    const double value = static_cast<const double*>(x->data)[i];
    static_cast<double*>(y->data)[i] = value * std::fabs(value);
  }
  return QUENCH_OK;
}
quench_status square_backward(void*, const quench_tensor* x, const quench_tensor* dy,
                              const quench_tensor* dx, void*, quench_error*) noexcept {
  for (int64_t i = 0; i < x->shape[0] * x->shape[1]; ++i) {
    static_cast<double*>(dx->data)[i] = 2 * std::fabs(static_cast<const double*>(x->data)[i]) *
                                        static_cast<const double*>(dy->data)[i];
  }
  return QUENCH_OK;
}
quench_status round_cache(void*, const quench_cache_args* args, quench_error*) noexcept {
  for (const quench_tensor* tensor : {args->keys, args->values}) {
    for (int64_t i = 0; i < tensor->shape[0] * tensor->shape[1] * tensor->shape[2]; ++i) {
      float& value = static_cast<float*>(tensor->data)[i];
      value = std::rint(4 * value) / 4;
    }
  }
  return QUENCH_OK;
}
void nothing(void*) noexcept {}

constexpr quench_input_op kInput = {sizeof(quench_input_op), nullptr, square, square_backward,
                                    nothing};
constexpr quench_cache_op kCache = {sizeof(quench_cache_op), nullptr, round_cache, nothing};

quench_status make_quantizer(const char*, uint64_t, quench_quantizer** out,
                             quench_error*) noexcept {
  *out = reinterpret_cast<quench_quantizer*>(&anything);
  return QUENCH_OK;
}
quench_status begin_group(quench_quantizer*, const quench_group_args*, quench_quantizer_state** out,
                          quench_error*) noexcept {
  *out = reinterpret_cast<quench_quantizer_state*>(&anything);
  return QUENCH_OK;
}
// A host of an earlier minor has no place for ops on inputs: its sink is shorter.
quench_status put_ops(quench_quantizer*, quench_quantizer_state*, const quench_quantize_args* args,
                      quench_error* error) noexcept {
  const quench_quantize_sink& sink = *args->sink;
  if (sink.struct_size < offsetof(quench_quantize_sink, input_op) + sizeof(void*)) {
    std::strcpy(error->message, "this quench sets no ops on inputs");
    return QUENCH_UNSUPPORTED;
  }
  sink.input_op(sink.context, &kInput, error);
  return sink.cache_op(sink.context, &kCache, error);
}

const quench_quantizer_table& quantizer_table() {
  static quench_quantizer_table table{};
  table.struct_size = sizeof table;
  table.create = make_quantizer;
  table.destroy = [](quench_quantizer*) noexcept {};
  table.needs = [](const quench_quantizer*) noexcept -> uint32_t { return 0; };
  table.begin = begin_group;
  table.observe = [](quench_quantizer*, quench_quantizer_state*, const quench_observe_args*,
                     quench_error*) noexcept -> quench_status { return QUENCH_OK; };
  table.quantize = put_ops;
  table.end = [](quench_quantizer*, quench_quantizer_state*) noexcept {};
  return table;
}

// ---- the model: logits are the sum of h's first two columns after two weights, v and o, between
// which a rotation can stand

struct Toy {
  double v[2][2] = {{1, 2}, {3, 4}};  // writes what o reads
  double o[2][2] = {{1, -1}, {0.5, 2}};
  const quench_input_op* op = nullptr;
};

Toy& toy(const quench_model* model) {
  return *reinterpret_cast<Toy*>(const_cast<quench_model*>(model));
}

quench_status open_toy(const quench_model_open_args*, quench_model** out, quench_error*) noexcept {
  *out = reinterpret_cast<quench_model*>(new Toy);
  return QUENCH_OK;
}
quench_status toy_logits(quench_model* model, const quench_tensor* h, const quench_tensor* logits,
                         void* stream, quench_error* error) noexcept {
  const Toy& self = toy(model);
  const int64_t rows = h->shape[0];
  float* x = new float[static_cast<size_t>(rows * 2)];
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < 2; ++c) {
      x[r * 2 + c] = static_cast<const float*>(h->data)[r * h->shape[1] + c];
    }
  }
  if (self.op != nullptr) {
    const int64_t shape[] = {rows, 2};
    const quench_tensor view = {x, h->device, 2, h->dtype, shape, nullptr, 0};
    if (const quench_status status =
            self.op->apply(self.op->context, &view, &view, stream, error)) {
      return status;
    }
  }
  for (int64_t r = 0; r < rows; ++r) {
    double y[2] = {};
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 2; ++j) {
        for (int c = 0; c < 2; ++c) {
          y[i] += self.o[i][j] * self.v[j][c] * x[r * 2 + c];
        }
      }
    }
    for (int64_t c = 0; c < logits->shape[1]; ++c) {
      static_cast<float*>(logits->data)[r * logits->shape[1] + c] = static_cast<float>(y[c % 2]);
    }
  }
  delete[] x;
  return QUENCH_OK;
}
quench_status rotation_sites(const quench_model*, const quench_rotation_site** sites,
                             uint32_t* count, quench_error*) noexcept {
  static constexpr const char* kReaders[] = {"o.weight"};
  static constexpr quench_rotation_site kSites[] = {
      {sizeof(quench_rotation_site), 0, "v_o", 2, 1, kReaders}};
  *sites = kSites;
  *count = 1;
  return QUENCH_OK;
}
// v becomes R v, o becomes o Rᵀ.
quench_status rotate_toy(quench_model* model, uint32_t, const quench_tensor* matrix,
                         quench_error*) noexcept {
  Toy& self = toy(model);
  const auto* r = static_cast<const double*>(matrix->data);
  const Toy before = self;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      self.v[i][j] = r[i * 2] * before.v[0][j] + r[i * 2 + 1] * before.v[1][j];
      self.o[i][j] = before.o[i][0] * r[j * 2] + before.o[i][1] * r[j * 2 + 1];
    }
  }
  return QUENCH_OK;
}

const quench_model_table& model_table() {
  static constexpr quench_block_info kBlock = {sizeof(quench_block_info), 0, 0, nullptr};
  static quench_model_table table{};
  table.struct_size = sizeof table;
  table.probe = [](const char*, uint64_t, quench_error*) noexcept -> int32_t { return 0; };
  table.open = open_toy;
  table.close = [](quench_model* model) noexcept { delete &toy(model); };
  table.info = [](const quench_model*, quench_model_info* info, quench_error*) noexcept {
    info->blocks = 1;
    info->width = 4;
    info->vocabulary = 2;
    return quench_status{QUENCH_OK};
  };
  table.parameters = [](const quench_model*, const quench_parameter_info**, uint64_t* count,
                        quench_error*) noexcept {
    *count = 0;
    return quench_status{QUENCH_OK};
  };
  table.block = [](const quench_model*, uint32_t, const quench_block_info** info,
                   quench_error*) noexcept {
    *info = &kBlock;
    return quench_status{QUENCH_OK};
  };
  table.carry = [](const quench_model*, uint32_t, uint32_t, const quench_carry_info**, uint32_t*,
                   quench_error*) noexcept { return quench_status{QUENCH_UNSUPPORTED}; };
  table.embed = [](quench_model*, const quench_embed_args*, quench_error*) noexcept {
    return quench_status{QUENCH_OK};
  };
  table.stage = [](quench_model*, const quench_stage_args*, quench_error*) noexcept {
    return quench_status{QUENCH_OK};
  };
  table.token_nll = [](quench_model*, const quench_head_args*, quench_error*) noexcept {
    return quench_status{QUENCH_UNSUPPORTED};
  };
  table.logits = toy_logits;
  table.weight_get = [](quench_model*, const char*, const quench_tensor*, quench_error*) noexcept {
    return quench_status{QUENCH_UNSUPPORTED};
  };
  table.weight_set = table.weight_get;
  table.weight_generation = [](const quench_model*, const char*, uint64_t*,
                               quench_error*) noexcept {
    return quench_status{QUENCH_UNSUPPORTED};
  };
  table.set_linear_op = [](quench_model*, uint32_t, uint32_t, uint32_t, const quench_linear_op*,
                           quench_error*) noexcept { return quench_status{QUENCH_UNSUPPORTED}; };
  table.set_input_op = [](quench_model* model, uint32_t, uint32_t, const quench_input_op* op,
                          quench_error*) noexcept {
    toy(model).op = op;
    return quench_status{QUENCH_OK};
  };
  table.rotations = rotation_sites;
  table.rotate = rotate_toy;
  return table;
}

// ---- the format

quench_status put(const quench_format_sink* sink, const char* name, const double* data,
                  int64_t count, quench_error* error) {
  return count == 0 ? QUENCH_OK
                    : sink->tensor(sink->context, name, {QUENCH_DTYPE_FLOAT, 64, 1}, 1, &count,
                                   data, error);
}
quench_status store_toy(quench_format_writer*, const quench_coded_linear* linear,
                        const quench_format_sink* sink, float* weight, quench_stored_linear* stored,
                        quench_error* error) noexcept {
  // A host of an earlier minor says nothing of a second level: its struct ends before.
  const bool two =
      linear->struct_size > offsetof(quench_coded_linear, outer_index) && linear->outer_groups > 0;
  for (int64_t o = 0; o < linear->out; ++o) {
    for (int64_t i = 0; i < linear->in; ++i) {
      const int32_t g = linear->g_idx[i];
      const double scale =
          linear->scales[o * linear->groups + g] *
          (two ? linear->outer_scales[o * linear->outer_groups + linear->outer_index[g]] : 1);
      weight[o * linear->in + i] = static_cast<float>(
          scale * (linear->codes[o * linear->in + i] - linear->zeros[o * linear->groups + g]));
    }
  }
  stored->scales =
      static_cast<uint64_t>(linear->out * (linear->groups + (two ? linear->outer_groups : 0)));
  if (const quench_status status =
          put(sink, "scales", linear->scales, linear->out * linear->groups, error)) {
    return status;
  }
  return put(sink, "outer_scales", two ? linear->outer_scales : nullptr,
             two ? linear->out * linear->outer_groups : 0, error);
}
quench_status store_toy_input(quench_format_writer*, const quench_coded_input* input,
                              const quench_format_sink* sink, quench_error* error) noexcept {
  const double said[] = {static_cast<double>(input->bits), input->scale, input->zero};
  return put(sink, "input", said, 3, error);
}

const quench_format_table& format_table() {
  static quench_format_table table{};
  table.struct_size = sizeof table;
  table.fits = [](const char*, uint64_t, const quench_code_scheme*, int64_t, int64_t,
                  quench_error*) noexcept { return quench_status{QUENCH_OK}; };
  table.begin = [](const char*, uint64_t, quench_format_writer** out, quench_error*) noexcept {
    *out = reinterpret_cast<quench_format_writer*>(&anything);
    return quench_status{QUENCH_OK};
  };
  table.store = store_toy;
  table.finish = [](quench_format_writer*, const quench_float_linears*, const quench_format_sink*,
                    quench_error*) noexcept { return quench_status{QUENCH_OK}; };
  table.end = [](quench_format_writer*) noexcept {};
  table.store_input = store_toy_input;
  return table;
}

quench_item item(const char* kind, const char* id, const void* table) {
  quench_item out{};
  out.struct_size = sizeof out;
  out.kind = kind;
  out.id = id;
  out.version = "1.0.0";
  out.summary = "A toy of what is planned.";
  out.table = table;
  return out;
}

quench_status keep_host(const quench_host* given, quench_error*) noexcept {
  host = given;
  return QUENCH_OK;
}

}  // namespace

extern "C" const quench_module* quench_module_v1(void) noexcept {
  static const quench_item items[] = {
      item(QUENCH_KIND_QUANTIZER, "planned_ops", &quantizer_table()),
      item(QUENCH_KIND_MODEL, "planned_rotation", &model_table()),
      item(QUENCH_KIND_FORMAT, "planned_levels", &format_table())};
  static const quench_item* const pointers[] = {&items[0], &items[1], &items[2]};
  static const quench_module module = [] {
    quench_module out{};
    out.struct_size = sizeof out;
    out.abi_major = QUENCH_ABI_MAJOR;
    out.abi_minor = QUENCH_ABI_MINOR;
    out.min_host_minor = PLANNED_NEEDS;
    out.id = "planned_toys";
    out.version = "1.0.0";
    out.init = keep_host;
    out.item_count = 3;
    out.items = pointers;
    return out;
  }();
  return &module;
}
