#include <algorithm>
#include <filesystem>

#include "core/error.hpp"
#include "core/parse_number.hpp"
#include "core/plugin/catalog/parameters.hpp"
#include "run/manifest/resolve_items.hpp"
#include "run/manifest/resolve_plugin.hpp"

namespace quench {

namespace fs = std::filesystem;

std::string cell_label(const PluginDescription& plugin, const nlohmann::json& parameters,
                       const std::vector<std::string>& shown) {
  std::string label = plugin.id;
  for (const ParameterSchema& schema : plugin.parameters) {
    const auto value = parameters.find(schema.name);
    if (value == parameters.end() || schema.type == QUENCH_PARAMETER_CORPUS) {
      continue;
    }
    const std::optional<nlohmann::json> usual = default_under(plugin, parameters, schema);
    if (!usual || *value != *usual ||
        std::find(shown.begin(), shown.end(), schema.name) != shown.end()) {
      label += fmt::format(" {}={}", schema.name,
                           value->is_string() ? value->get<std::string>() : value->dump());
    }
  }
  return label;
}

std::string with_transform(const std::string& label, const PluginUse& transform) {
  return label + " + " + cell_label(*transform.plugin, transform.parameters);
}

const ParameterSchema* find_parameter(const PluginDescription& plugin, const std::string& name) {
  const auto found = std::find_if(plugin.parameters.begin(), plugin.parameters.end(),
                                  [&](const auto& schema) { return schema.name == name; });
  return found != plugin.parameters.end() ? &*found : nullptr;
}

const ParameterSchema* first_of_type(const PluginDescription& plugin, int32_t type) {
  const auto found = std::find_if(plugin.parameters.begin(), plugin.parameters.end(),
                                  [&](const auto& schema) { return schema.type == type; });
  return found != plugin.parameters.end() ? &*found : nullptr;
}

namespace {

uint64_t parse_count(const std::string& key, const std::string& text, uint64_t minimum = 1) {
  constexpr uint64_t kMaximum = uint64_t{1} << 31;  // so that products of two fit 64 bits
  const auto value = parse_number<uint64_t>(text);
  if (!value || *value < minimum || *value > kMaximum) {
    fail(QUENCH_INVALID_ARGUMENT, "calibration: `{}`: got \"{}\", wanted a whole number of {}..{}",
         key, printable(text), minimum, kMaximum);
  }
  return *value;
}

// The corpus plugin `id` over one file, or nothing if there is no such plugin.
std::optional<CorpusUse> anonymous_corpus(const std::string& id, const std::string& file,
                                          Catalog& catalog) {
  const PluginDescription* plugin = catalog.find("corpus", id);
  if (plugin == nullptr) {
    return std::nullopt;
  }
  const ParameterSchema* path = first_of_type(*plugin, QUENCH_PARAMETER_PATH);
  if (path == nullptr) {
    fail(QUENCH_INVALID_ARGUMENT, "corpus {}: takes no file", id);
  }
  std::vector<ParameterProblem> problems;
  CorpusUse use{
      file, plugin,
      complete_parameters(*plugin, {{path->name, fs::absolute(file).string()}}, problems)};
  if (!problems.empty()) {
    fail(QUENCH_INVALID_ARGUMENT, "corpus {}: {}", id, problems[0].message);
  }
  return use;
}

struct InlineItem {
  const PluginDescription* plugin;
  nlohmann::json parameters;
  std::vector<std::pair<std::string, CorpusUse>> corpora;
  std::vector<std::string> given;  // parameters; a label shows them also where they are the default

  std::string label() const { return cell_label(*plugin, parameters, given); }
};

// A name of the section `corpora` says nothing on a command line.
[[noreturn]] void refuse_named_corpus(const std::string& where, const std::string& key,
                                      const std::string& value, const Catalog& catalog) {
  std::vector<std::string> ids;
  for (const PluginDescription* plugin : catalog.of_kind("corpus")) {
    if (first_of_type(*plugin, QUENCH_PARAMETER_PATH) != nullptr) {
      ids.push_back(plugin->id);
    }
  }
  fail(QUENCH_INVALID_ARGUMENT,
       "{}: {} = {}: a command line names the plugin that reads the file, as in text={}; there "
       "are {}",
       where, key, printable(value), printable(value), fmt::join(ids, ", "));
}

InlineItem resolve_inline(const std::string& kind, const InlineSpec& spec, Catalog& catalog) {
  InlineItem item{&catalog.require(kind, spec.id), nlohmann::json::object(), {}, {}};
  const std::string where = kind + " " + spec.id;
  nlohmann::json given = nlohmann::json::object();
  for (const auto& [key, value] : spec.options) {
    if (const ParameterSchema* schema = find_parameter(*item.plugin, key)) {
      if (schema->type == QUENCH_PARAMETER_CORPUS) {
        refuse_named_corpus(where, key, value, catalog);
      }
      try {
        given[key] = parse_option(*schema, value);
        item.given.push_back(key);
      } catch (const Error& error) {
        fail(QUENCH_INVALID_ARGUMENT, "{}: {}", where, error.what());
      }
      continue;
    }
    const ParameterSchema* target = nullptr;
    for (const ParameterSchema& schema : item.plugin->parameters) {
      if (schema.type == QUENCH_PARAMETER_CORPUS && !given.contains(schema.name)) {
        target = &schema;
        break;
      }
    }
    std::optional<CorpusUse> use =
        target != nullptr ? anonymous_corpus(key, value, catalog) : std::nullopt;
    if (use) {
      given[target->name] = value;
      item.corpora.emplace_back(target->name, std::move(*use));
    } else {
      given[key] = value;  // unknown: complete_parameters reports it with the nearest name
    }
  }
  std::vector<ParameterProblem> problems;
  item.parameters = complete_parameters(*item.plugin, given, problems);
  if (!problems.empty()) {
    std::vector<std::string> messages;
    messages.reserve(problems.size());
    for (const ParameterProblem& problem : problems) {
      messages.push_back(fmt::format("{}: {}", where, problem.message));
    }
    fail(QUENCH_INVALID_ARGUMENT, "{}", fmt::join(messages, "\n"));
  }
  return item;
}

}  // namespace

QuantizerCell resolve_quantizer(const std::string& inline_form, Catalog& catalog) {
  InlineSpec spec = parse_inline(inline_form);
  std::optional<PluginUse> transform;
  const auto named = std::find_if(spec.options.begin(), spec.options.end(),
                                  [](const auto& option) { return option.first == "transform"; });
  if (named != spec.options.end() &&
      find_parameter(catalog.require("quantizer", spec.id), "transform") == nullptr) {
    const InlineItem item = resolve_inline("transform", {named->second, {}}, catalog);
    transform = PluginUse{item.plugin, item.parameters};
    spec.options.erase(named);
  }
  InlineItem item = resolve_inline("quantizer", spec, catalog);
  const std::string label = item.label();
  QuantizerCell cell;
  cell.plugin = item.plugin;
  cell.parameters = item.parameters;
  cell.label = transform ? with_transform(label, *transform) : label;
  cell.transform = transform;
  return cell;
}

MetricCell resolve_metric(const std::string& inline_form, Catalog& catalog) {
  InlineItem item = resolve_inline("metric", parse_inline(inline_form), catalog);
  return {item.plugin,
          item.parameters,
          item.label(),
          item.corpora,
          "",
          metric_needs(catalog, *item.plugin, item.parameters),
          metric_dtype(*item.plugin, item.parameters)};
}

AveragingCell resolve_averaging(const std::string& inline_form, Catalog& catalog) {
  InlineItem item = resolve_inline("averaging", parse_inline(inline_form), catalog);
  return {item.plugin, item.parameters, item.label(), ""};
}

Calibration resolve_calibration(const std::string& options, Catalog& catalog) {
  Calibration out;
  out.name = "command line";
  const InlineSpec spec = parse_inline("calibration:" + options);
  std::optional<CorpusUse> corpus;
  std::optional<int32_t> pad_id;
  for (const auto& [key, value] : spec.options) {
    if (key == "sequences") {
      out.sequences = parse_count(key, value);
    } else if (key == "length") {
      out.length = parse_count(key, value);
    } else if (key == "documents") {
      out.documents = parse_count(key, value);
    } else if (key == "pad_id") {
      pad_id = static_cast<int32_t>(std::min<uint64_t>(parse_count(key, value, 0), INT32_MAX));
    } else if (key == "pad_batch") {
      out.pad_batch = parse_count(key, value);
    } else if (std::optional<CorpusUse> use = anonymous_corpus(key, value, catalog)) {
      if (corpus) {
        fail(QUENCH_INVALID_ARGUMENT, "calibration: two corpora, {} and {}", corpus->name, value);
      }
      corpus = std::move(use);
    } else {
      std::vector<std::string> known = {"sequences", "length", "documents", "pad_batch", "pad_id"};
      for (const PluginDescription* plugin : catalog.of_kind("corpus")) {
        known.push_back(plugin->id);
      }
      fail(QUENCH_INVALID_ARGUMENT, "calibration: unknown option `{}`; known are {}",
           printable(key), fmt::join(known, ", "));
    }
  }
  if (!corpus) {
    fail(QUENCH_INVALID_ARGUMENT, "calibration: no corpus; wanted text=FILE or tokens=FILE");
  }
  out.corpus = std::move(*corpus);
  if ((out.sequences > 0) != (out.length > 0)) {
    fail(QUENCH_INVALID_ARGUMENT, "calibration: `sequences` and `length` go together");
  }
  out.packing = out.sequences > 0 ? Packing::kConcat : Packing::kNone;
  if ((out.pad_batch > 0) != pad_id.has_value() || (pad_id && out.sequences > 0)) {
    fail(QUENCH_INVALID_ARGUMENT,
         "calibration: `pad_batch` and `pad_id` go together, and not with `sequences`");
  }
  out.pad_id = pad_id.value_or(0);
  return out;
}

}  // namespace quench
