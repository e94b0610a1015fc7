#include "core/plugin/table_call.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

#include "quench/abi/kind/averaging.h"
#include "quench/abi/kind/corpus.h"
#include "quench/abi/kind/format.h"
#include "quench/abi/kind/metric.h"
#include "quench/abi/kind/model.h"
#include "quench/abi/kind/optimizer.h"
#include "quench/abi/kind/quantizer.h"
#include "quench/abi/kind/tokenizer.h"
#include "quench/abi/kind/transform.h"

namespace quench {

namespace {

// A slot that must not be NULL.
struct Slot {
  const char* name;
  size_t offset;
};

#define QUENCH_SLOT(table, name) \
  { #name, offsetof(table, name) }
constexpr Slot kModel[] = {QUENCH_SLOT(quench_model_table, probe),
                           QUENCH_SLOT(quench_model_table, open),
                           QUENCH_SLOT(quench_model_table, close),
                           QUENCH_SLOT(quench_model_table, info),
                           QUENCH_SLOT(quench_model_table, parameters),
                           QUENCH_SLOT(quench_model_table, block),
                           QUENCH_SLOT(quench_model_table, carry),
                           QUENCH_SLOT(quench_model_table, embed),
                           QUENCH_SLOT(quench_model_table, stage),
                           QUENCH_SLOT(quench_model_table, token_nll),
                           QUENCH_SLOT(quench_model_table, logits),
                           QUENCH_SLOT(quench_model_table, weight_get),
                           QUENCH_SLOT(quench_model_table, weight_set),
                           QUENCH_SLOT(quench_model_table, weight_generation),
                           QUENCH_SLOT(quench_model_table, set_linear_op)};
constexpr Slot kQuantizer[] = {
    QUENCH_SLOT(quench_quantizer_table, create),  QUENCH_SLOT(quench_quantizer_table, destroy),
    QUENCH_SLOT(quench_quantizer_table, needs),   QUENCH_SLOT(quench_quantizer_table, begin),
    QUENCH_SLOT(quench_quantizer_table, observe), QUENCH_SLOT(quench_quantizer_table, quantize),
    QUENCH_SLOT(quench_quantizer_table, end)};
constexpr Slot kAveraging[] = {
    QUENCH_SLOT(quench_averaging_table, create), QUENCH_SLOT(quench_averaging_table, destroy),
    QUENCH_SLOT(quench_averaging_table, needs),  QUENCH_SLOT(quench_averaging_table, select),
    QUENCH_SLOT(quench_averaging_table, begin),  QUENCH_SLOT(quench_averaging_table, accumulate),
    QUENCH_SLOT(quench_averaging_table, finish)};
constexpr Slot kMetric[] = {QUENCH_SLOT(quench_metric_table, create),
                            QUENCH_SLOT(quench_metric_table, destroy),
                            QUENCH_SLOT(quench_metric_table, evaluate)};
constexpr Slot kCorpus[] = {
    QUENCH_SLOT(quench_corpus_table, open), QUENCH_SLOT(quench_corpus_table, close),
    QUENCH_SLOT(quench_corpus_table, next), QUENCH_SLOT(quench_corpus_table, fingerprint)};
constexpr Slot kTokenizer[] = {QUENCH_SLOT(quench_tokenizer_table, probe),
                               QUENCH_SLOT(quench_tokenizer_table, open),
                               QUENCH_SLOT(quench_tokenizer_table, close),
                               QUENCH_SLOT(quench_tokenizer_table, vocabulary_size),
                               QUENCH_SLOT(quench_tokenizer_table, encode)};
constexpr Slot kOptimizer[] = {
    QUENCH_SLOT(quench_optimizer_table, create),     QUENCH_SLOT(quench_optimizer_table, destroy),
    QUENCH_SLOT(quench_optimizer_table, begin),      QUENCH_SLOT(quench_optimizer_table, step),
    QUENCH_SLOT(quench_optimizer_table, state_info), QUENCH_SLOT(quench_optimizer_table, state_get),
    QUENCH_SLOT(quench_optimizer_table, state_set)};
constexpr Slot kReadFormat[] = {
    QUENCH_SLOT(quench_format_table, probe), QUENCH_SLOT(quench_format_table, open),
    QUENCH_SLOT(quench_format_table, close), QUENCH_SLOT(quench_format_table, contents)};
constexpr Slot kWriteFormat[] = {
    QUENCH_SLOT(quench_format_table, fits), QUENCH_SLOT(quench_format_table, begin),
    QUENCH_SLOT(quench_format_table, store), QUENCH_SLOT(quench_format_table, finish),
    QUENCH_SLOT(quench_format_table, end)};
constexpr Slot kTransform[] = {
    QUENCH_SLOT(quench_transform_table, create), QUENCH_SLOT(quench_transform_table, destroy),
    QUENCH_SLOT(quench_transform_table, needs), QUENCH_SLOT(quench_transform_table, observe),
    QUENCH_SLOT(quench_transform_table, apply)};
#undef QUENCH_SLOT

struct TableLayout {
  const char* kind;
  size_t size;
  std::span<const Slot> slots;
};
constexpr TableLayout kLayouts[] = {
    {QUENCH_KIND_MODEL, sizeof(quench_model_table), kModel},
    {QUENCH_KIND_QUANTIZER, sizeof(quench_quantizer_table), kQuantizer},
    {QUENCH_KIND_AVERAGING, sizeof(quench_averaging_table), kAveraging},
    {QUENCH_KIND_METRIC, offsetof(quench_metric_table, needs), kMetric},
    {QUENCH_KIND_CORPUS, sizeof(quench_corpus_table), kCorpus},
    {QUENCH_KIND_TOKENIZER, sizeof(quench_tokenizer_table), kTokenizer},
    {QUENCH_KIND_OPTIMIZER, sizeof(quench_optimizer_table), kOptimizer},
    {QUENCH_KIND_TRANSFORM, sizeof(quench_transform_table), kTransform},
    {QUENCH_KIND_FORMAT, sizeof(quench_format_table), {}}};

bool is_null(const void* table, const Slot& slot) {
  void* function = nullptr;
  std::memcpy(&function, static_cast<const char*>(table) + slot.offset, sizeof function);
  return function == nullptr;
}

std::string null_fault(const void* table, std::span<const Slot> slots) {
  const auto null = std::find_if(slots.begin(), slots.end(),
                                 [&](const Slot& slot) { return is_null(table, slot); });
  return null == slots.end() ? "" : fmt::format("function {} of its table is NULL", null->name);
}

// A format has the functions for reading, those for writing, or both; never some of them.
std::string format_fault(const void* table) {
  bool any = false;
  for (const std::span<const Slot> slots :
       {std::span<const Slot>(kReadFormat), std::span<const Slot>(kWriteFormat)}) {
    if (!std::all_of(slots.begin(), slots.end(),
                     [&](const Slot& slot) { return is_null(table, slot); })) {
      any = true;
      if (std::string fault = null_fault(table, slots); !fault.empty()) {
        return fault;
      }
    }
  }
  return any ? "" : "its table neither reads nor writes: probe and begin are NULL";
}

}  // namespace

std::string plugin_label(const PluginDescription& description) {
  return description.kind + " " + description.id;
}

void throw_status(const std::string& label, const char* function, quench_status status,
                  const quench_error& error) {
  if (status < QUENCH_OK || status > QUENCH_UNAVAILABLE) {
    fail(QUENCH_INTERNAL, "{}: {} returned {}, which is no status", label, function, status);
  }
  const std::string_view message(error.message, strnlen(error.message, sizeof error.message));
  if (message.empty()) {
    fail(status, "{}: {} failed without a message ({})", label, function, status_name(status));
  }
  fail(status, "{}: {}", label, printable(message, sizeof error.message));
}

std::string table_fault(const std::string& kind, const void* table) {
  if (table == nullptr) {
    return "its table is NULL";
  }
  for (const TableLayout& layout : kLayouts) {
    if (kind != layout.kind) {
      continue;
    }
    uint32_t struct_size = 0;
    std::memcpy(&struct_size, table, sizeof struct_size);
    if (struct_size < layout.size) {
      return fmt::format("its table has struct_size {}, expected at least {}", struct_size,
                         layout.size);
    }
    return kind == QUENCH_KIND_FORMAT ? format_fault(table) : null_fault(table, layout.slots);
  }
  return "";
}

}  // namespace quench
