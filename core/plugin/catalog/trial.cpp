#include "core/plugin/catalog/trial.hpp"

#include <string_view>

#include "core/checkpoint/checkpoint_place.hpp"
#include "core/error.hpp"
#include "core/plugin/calls/table_call.hpp"
#include "core/plugin/catalog/parameters.hpp"
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

template <typename Instance>
std::string try_create(const std::string& label, const std::string& parameters,
                       quench_status (*create)(const char*, uint64_t, Instance**,
                                               quench_error*) noexcept,
                       void (*destroy)(Instance*) noexcept) {
  Instance* instance = nullptr;
  try {
    table_call(label, "create", create, parameters.c_str(), uint64_t{parameters.size()}, &instance);
  } catch (const Error& failure) {
    if (failure.code() == QUENCH_INTERNAL) {
      throw;
    }
    return std::string("not created with default parameters: ") + failure.what();
  }
  if (instance == nullptr) {
    fail(QUENCH_INTERNAL, "{}: creation succeeded without an instance", label);
  }
  destroy(instance);
  return "";
}

std::string try_model(const std::string& label, const quench_model_table& table) {
  quench_error error{sizeof(quench_error), 0, {}};
  const int32_t score = table.probe("{}", 2, &error);
  if (score < 0 || score > 100) {
    fail(QUENCH_INTERNAL, "{}: probe returned {}, wanted 0..100", label, score);
  }
  return score == 0 ? "" : fmt::format("{}: probe gives an empty config {} points", label, score);
}

// Asks about a place without files, and begins and ends a folder.
std::string try_format(const std::string& label, const quench_format_table& table,
                       const std::string& parameters) {
  if (table.probe != nullptr) {
    const CheckpointPlace nothing;
    quench_error error{sizeof(quench_error), 0, {}};
    const int32_t score = table.probe(nothing.get(), &error);
    if (score < 0 || score > 100) {
      fail(QUENCH_INTERNAL, "{}: probe returned {}, wanted 0..100", label, score);
    }
    if (score != 0) {
      return fmt::format("{}: probe gives a place without files {} points", label, score);
    }
  }
  return table.begin == nullptr ? "" : try_create(label, parameters, table.begin, table.end);
}

// There is no file to open here.
std::string try_tokenizer(const std::string& label, const quench_tokenizer_table& table) {
  const quench_file_head empty{sizeof empty, "", "", 0, 0};
  quench_error error{sizeof(quench_error), 0, {}};
  const int32_t score = table.probe(&empty, &error);
  if (score < 0) {
    fail(QUENCH_INTERNAL, "{}: probe returned {}, wanted 0 or more", label, score);
  }
  return score == 0 ? "" : fmt::format("{}: probe gives an empty file {} points", label, score);
}

}  // namespace

std::string try_item(const PluginDescription& description, const quench_item& item) {
  const std::string label = plugin_label(description);
  if (description.kind == QUENCH_KIND_MODEL) {
    return try_model(label, *static_cast<const quench_model_table*>(item.table));
  }
  if (description.kind == QUENCH_KIND_TOKENIZER) {
    return try_tokenizer(label, *static_cast<const quench_tokenizer_table*>(item.table));
  }
  std::vector<ParameterProblem> problems;
  const std::string parameters =
      complete_parameters(description, nlohmann::json::object(), problems).dump();
  if (!problems.empty()) {
    return fmt::format("{}: not created, since it has required parameters", label);
  }
  const auto create = [&](const auto* table) {
    return try_create(label, parameters, table->create, table->destroy);
  };
  if (description.kind == QUENCH_KIND_QUANTIZER) {
    return create(static_cast<const quench_quantizer_table*>(item.table));
  }
  if (description.kind == QUENCH_KIND_AVERAGING) {
    return create(static_cast<const quench_averaging_table*>(item.table));
  }
  if (description.kind == QUENCH_KIND_METRIC) {
    return create(static_cast<const quench_metric_table*>(item.table));
  }
  if (description.kind == QUENCH_KIND_OPTIMIZER) {
    return create(static_cast<const quench_optimizer_table*>(item.table));
  }
  if (description.kind == QUENCH_KIND_TRANSFORM) {
    return create(static_cast<const quench_transform_table*>(item.table));
  }
  if (description.kind == QUENCH_KIND_FORMAT) {
    return try_format(label, *static_cast<const quench_format_table*>(item.table), parameters);
  }
  const auto* table = static_cast<const quench_corpus_table*>(item.table);
  return try_create(label, parameters, table->open, table->close);
}

std::optional<DefaultInstance> default_instance(const PluginDescription& description,
                                                const quench_item& item) {
  if (description.kind == QUENCH_KIND_FORMAT) {
    const auto& format = *static_cast<const quench_format_table*>(item.table);
    return DefaultInstance{(format.probe != nullptr ? QUENCH_FORMAT_READS : 0) |
                               (format.begin != nullptr ? QUENCH_FORMAT_WRITES : 0) |
                               (format.list != nullptr ? QUENCH_FORMAT_LISTS : 0),
                           {}};
  }
  if (description.kind != QUENCH_KIND_QUANTIZER) {
    return std::nullopt;
  }
  std::vector<ParameterProblem> problems;
  const std::string parameters =
      complete_parameters(description, nlohmann::json::object(), problems).dump();
  if (!problems.empty()) {
    return std::nullopt;
  }
  const auto& table = *static_cast<const quench_quantizer_table*>(item.table);
  quench_quantizer* instance = nullptr;
  quench_error error{sizeof error, 0, {}};
  if (table.create(parameters.c_str(), parameters.size(), &instance, &error) != QUENCH_OK ||
      instance == nullptr) {
    return std::nullopt;
  }
  DefaultInstance out;
  out.needs = table.needs(instance);
  out.functions = optional_functions(description.kind, item.table);
  table.destroy(instance);
  return out;
}

}  // namespace quench
