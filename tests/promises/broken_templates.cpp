// The template of a kind, right in every respect but the one that QUENCH_BROKEN names: its
// functions with a wrong turn before or after. BROKEN_SOURCE is its source, BROKEN_KIND its kind.
#define quench_module_v1 sound_module
#include BROKEN_SOURCE
#undef quench_module_v1

#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "quench/abi/kind/averaging.h"
#include "quench/abi/kind/corpus.h"
#include "quench/abi/kind/format.h"
#include "quench/abi/kind/metric.h"
#include "quench/abi/kind/model.h"
#include "quench/abi/kind/optimizer.h"
#include "quench/abi/kind/tokenizer.h"
#include "quench/abi/kind/transform.h"

namespace {

bool is(const char* fault) {
  const char* chosen = std::getenv("QUENCH_BROKEN");
  return chosen != nullptr && std::strcmp(chosen, fault) == 0;
}

int calls = 0;
const quench_host* the_host = nullptr;

uint32_t threads() {
  return static_cast<const quench_tasks*>(the_host->service(the_host, QUENCH_SERVICE_TASKS))
      ->threads(the_host);
}

// Threads that are left from loading.
[[maybe_unused]] const bool kAtLoading = [] {
  if (is("thread_at_load")) {
    std::thread([] { pause(); }).detach();
  }
  return true;
}();

// The sound table and the broken one, of each kind.
template <typename Table>
Table sound;
template <typename Table>
Table broken;

[[maybe_unused]] void spoil(quench_format_table& table) {
  using Table = quench_format_table;
  table.store = [](auto* writer, auto* linear, auto* sink, float* weight, auto* stored,
                   auto* error) noexcept {
    const quench_status status = sound<Table>.store(writer, linear, sink, weight, stored, error);
    weight[3] += is("promised") ? 1e-3F : 0.0F;
    return status;
  };
  table.probe = [](auto* place, auto* error) noexcept {
    return is("greedy") ? 50 : is("shy") ? 0 : sound<Table>.probe(place, error);
  };
  table.fits = [](auto* json, uint64_t bytes, auto* scheme, int64_t out, int64_t in,
                  auto* error) noexcept -> quench_status {
    return is("no_reason") ? QUENCH_UNSUPPORTED
                           : sound<Table>.fits(json, bytes, scheme, out, in, error);
  };
}

[[maybe_unused]] void spoil(quench_averaging_table& table) {
  using Table = quench_averaging_table;
  table.finish = [](auto* averaging, double* values, uint64_t count, auto* error) noexcept {
    const quench_status status = sound<Table>.finish(averaging, values, count, error);
    values[0] += is("drift") ? 1e-9 : is("chunks") ? 1e-9 * static_cast<double>(count % 7) : 0.0;
    return status;
  };
  table.select = [](auto* averaging, auto* members, uint64_t count, uint64_t last,
                    uint64_t* selected, uint64_t* chosen, auto* error) noexcept {
    const quench_status status =
        sound<Table>.select(averaging, members, count, last, selected, chosen, error);
    if (status == QUENCH_OK && is("future")) {
      selected[*chosen - 1] = last + 1;
    }
    return status;
  };
}

[[maybe_unused]] void spoil(quench_optimizer_table& table) {
  using Table = quench_optimizer_table;
  table.step = [](auto* optimizer, auto* args, auto* error) noexcept -> quench_status {
    if (is("still")) {
      return QUENCH_OK;
    }
    const quench_status status = sound<Table>.step(optimizer, args, error);
    auto* weight = static_cast<float*>(args->weight->data);
    weight[0] += is("calls")     ? static_cast<float>(args->lr) * static_cast<float>(++calls)
                 : is("threads") ? static_cast<float>(args->lr) * static_cast<float>(threads())
                 : is("always")  ? 1e-3F
                                 : 0.0F;
    return status;
  };
  table.state_get = [](auto* optimizer, uint64_t index, auto* to, auto* error) noexcept {
    return is("forgets") ? quench_status{QUENCH_OK}
                         : sound<Table>.state_get(optimizer, index, to, error);
  };
}

[[maybe_unused]] void spoil(quench_metric_table& table) {
  using Table = quench_metric_table;
  table.evaluate = [](auto* metric, auto* args, auto* error) noexcept {
    if (is("empty")) {
      return quench_status{QUENCH_OK};
    }
    const quench_status status = sound<Table>.evaluate(metric, args, error);
    const double extra = is("nan") ? NAN : is("calls") ? ++calls : is("threads") ? threads() : 0.5;
    return status != QUENCH_OK || is("nothing")
               ? status
               : args->sink->value(args->sink->context, "extra", extra, is("unit") ? "" : "1", 0,
                                   NAN, error);
  };
}

[[maybe_unused]] void spoil(quench_corpus_table& table) {
  using Table = quench_corpus_table;
  table.next = [](auto* corpus, auto* document, auto* error) noexcept {
    const quench_status status = sound<Table>.next(corpus, document, error);
    if (status == QUENCH_OK) {
      document->index = is("index") ? 7 : document->index;
      document->id_count -= is("calls") && ++calls % 5 == 0 ? 1 : 0;
      document->text = is("forms") ? "a" : document->text;
      document->text_bytes = is("forms") ? 1 : document->text_bytes;
    }
    return status;
  };
  table.fingerprint = [](auto* corpus, char* hex, auto* error) noexcept {
    const quench_status status = sound<Table>.fingerprint(corpus, hex, error);
    hex[0] = is("fingerprint") ? 'X' : hex[0];
    return status;
  };
}

[[maybe_unused]] void spoil(quench_tokenizer_table& table) {
  using Table = quench_tokenizer_table;
  table.probe = [](auto* file, auto* error) noexcept {
    return is("greedy") ? 50 : is("shy") ? 0 : sound<Table>.probe(file, error);
  };
  table.vocabulary_size = [](auto* encoder) noexcept -> uint64_t {
    return is("vocabulary") ? 1 : sound<Table>.vocabulary_size(encoder);
  };
}

// Multiplies the first element of the model's second parameter.
[[maybe_unused]] quench_status nudge(const quench_model_editor& editor, double factor,
                                     quench_error* error) {
  const quench_parameter_info& one = editor.parameters[1];
  int64_t count = 1;
  int64_t strides[4] = {};
  for (int32_t axis = one.dimensions - 1; axis >= 0; --axis) {
    strides[axis] = count;
    count *= one.shape[axis];
  }
  double values[64] = {};
  const quench_tensor view = {values,
                              {QUENCH_DEVICE_CPU, 0},
                              one.dimensions,
                              {QUENCH_DTYPE_FLOAT, 64, 1},
                              one.shape,
                              strides,
                              0};
  const quench_status status = editor.get(editor.context, one.name, &view, error);
  values[0] *= factor;
  return status != QUENCH_OK ? status : editor.set(editor.context, one.name, &view, error);
}

[[maybe_unused]] void spoil(quench_model_table& table) {
  using Table = quench_model_table;
  table.open = [](const auto* args, auto** model, auto* error) noexcept -> quench_status {
    return is("shapes") && (args->flags & QUENCH_OPEN_SHAPES) != 0
               ? QUENCH_INTERNAL
               : sound<Table>.open(args, model, error);
  };
  table.probe = [](auto* json, uint64_t bytes, auto* error) noexcept -> int32_t {
    return is("points")   ? 101
           : is("greedy") ? 50
           : is("shy")    ? 0
                          : sound<Table>.probe(json, bytes, error);
  };
  table.embed = [](auto* model, const auto* args, auto* error) noexcept -> quench_status {
    const quench_status status = sound<Table>.embed(model, args, error);
    return is("ids") ? QUENCH_OK : status;
  };
  table.token_nll = [](auto* model, const auto* args, auto* error) noexcept -> quench_status {
    const quench_status status = sound<Table>.token_nll(model, args, error);
    static_cast<double*>(args->nll->data)[0] += is("nll")       ? 0.1
                                                : is("threads") ? 1e-12 * threads()
                                                : is("process") ? 1e-12 * (getpid() % 1000)
                                                : is("calls")   ? 1e-12 * ++calls
                                                                : 0.0;
    return status;
  };
  table.weight_get = [](auto* model, auto* name, const auto* to, auto* error) noexcept {
    const quench_status status = sound<Table>.weight_get(model, name, to, error);
    if (is("weights") && to->dtype.bits == 32) {
      static_cast<float*>(to->data)[0] += 1;
    } else if (is("weights")) {
      static_cast<double*>(to->data)[0] += 1;
    }
    return status;
  };
  table.weight_set = [](auto* model, auto* name, const auto* from, auto* error) noexcept {
    return is("set") ? quench_status{QUENCH_OK} : sound<Table>.weight_set(model, name, from, error);
  };
}

[[maybe_unused]] void spoil(quench_transform_table& table) {
  using Table = quench_transform_table;
  table.needs = [](const auto* transform) noexcept -> uint32_t {
    return sound<Table>.needs(transform) | (is("needs") ? 1U << 20 : 0);
  };
  table.apply = [](auto* transform, auto* editor, auto* error) noexcept -> quench_status {
    if (is("early")) {
      nudge(*editor, 1, error);
    }
    const quench_status status = sound<Table>.apply(transform, editor, error);
    if (status == QUENCH_OK && is("unnamed")) {
      return editor->change(editor->context, "something", "folded", error);
    }
    const double factor = is("shifts")     ? 1.25
                          : is("infinite") ? HUGE_VAL
                          : is("calls")    ? 1 + 1e-12 * ++calls
                          : is("threads")  ? 1 + 1e-12 * threads()
                                           : 1;
    return status != QUENCH_OK || is("nothing") ? status : nudge(*editor, factor, error);
  };
}

// What makes an instance: with an error, or without one and without an instance.
template <typename Instance>
using Create = quench_status (*)(const char*, uint64_t, Instance**, quench_error*) noexcept;
template <typename Instance>
Create<Instance> made = nullptr;
template <typename Instance>
void spoil_creation(Create<Instance>& create) {
  made<Instance> = create;
  create = [](const char* json, uint64_t bytes, Instance** out, quench_error* error) noexcept {
    return is("uncreated") ? quench_status{QUENCH_UNSUPPORTED}
           : is("unmade")  ? quench_status{QUENCH_OK}
                           : made<Instance>(json, bytes, out, error);
  };
}

template <typename Table>
quench_item spoiled(quench_item item) {
  sound<Table> = *static_cast<const Table*>(item.table);
  broken<Table> = sound<Table>;
  spoil(broken<Table>);
  if constexpr (requires { broken<Table>.create; }) {
    spoil_creation(broken<Table>.create);
  } else if constexpr (requires { broken<Table>.begin; }) {
    spoil_creation(broken<Table>.begin);  // a format's
  }
  item.table = &broken<Table>;
  return item;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const quench_module* quench_module_v1(
    void) noexcept {
  static const quench_item item = spoiled<BROKEN_TABLE>(*sound_module()->items[0]);
  static const quench_item* const items[] = {&item};
  static const quench_module module = [] {
    quench_module out = *sound_module();
    out.items = items;
    out.init = [](const quench_host* host, quench_error* error) noexcept {
      the_host = host;
      return sound_module()->init(host, error);
    };
    return out;
  }();
  return &module;
}
