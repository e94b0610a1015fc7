#include "core/plugin/catalog/show.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/plugin/calls/table_call.hpp"
#include "core/plugin/catalog/parameters.hpp"
#include "quench/abi/kind/format.h"

namespace quench {

namespace {

using nlohmann::json;
using Row = std::vector<std::string>;

// Formats rows as columns without padding the last one; begins each line with `indent`.
std::string columns(const std::vector<Row>& rows, const std::string& indent = "") {
  std::vector<size_t> widths;
  for (const Row& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].size());
    }
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line = indent;
    for (size_t i = 0; i < row.size(); ++i) {
      line += i + 1 == row.size() ? row[i] : fmt::format("{:<{}}", row[i], widths[i] + 2);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string default_text(const ParameterSchema& parameter) {
  if (!parameter.default_value) {
    return "required";
  }
  if (parameter.default_value->is_null()) {
    return "not set";
  }
  return parameter.default_value->dump();
}

std::vector<Row> parameter_rows(const PluginDescription& item) {
  std::vector<Row> rows;
  for (const ParameterSchema& parameter : item.parameters) {
    rows.push_back({parameter.name, parameter_type_name(parameter.type), default_text(parameter),
                    range_text(parameter), parameter.meaning});
  }
  return rows;
}

// All items with this id, or the one named kind/id.
std::vector<const PluginDescription*> items_called(const Catalog& catalog, const std::string& id) {
  std::vector<const PluginDescription*> found;
  for (const PluginDescription& item : catalog.items()) {
    if (item.id == id || item.kind + "/" + item.id == id) {
      found.push_back(&item);
    }
  }
  return found;
}

std::vector<const PluginDescription*> require_items(const Catalog& catalog, const std::string& id) {
  std::vector<const PluginDescription*> found = items_called(catalog, id);
  if (!found.empty()) {
    return found;
  }
  std::vector<std::string> ids;
  for (const PluginDescription& item : catalog.items()) {
    ids.push_back(item.id);
  }
  const std::string near = nearest(id, ids);
  fail(QUENCH_NOT_FOUND, "no plugin is called {}{}; `quench plugins why {}` says what was rejected",
       printable(id), near.empty() ? "" : "; did you mean " + near + "?", printable(id));
}

// {"damp": 0.05} as "damp: 0.05".
std::string preset_text(const json& values) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : values.items()) {
    parts.push_back(name + ": " + (value.is_string() ? value.get<std::string>() : value.dump()));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

// What a format does, as far as its table tells: "reads", "writes", "lists".
std::vector<std::string> deeds(const PluginDescription& item) {
  constexpr std::pair<uint32_t, const char*> kDeeds[] = {{QUENCH_FORMAT_READS, "reads"},
                                                         {QUENCH_FORMAT_WRITES, "writes"},
                                                         {QUENCH_FORMAT_LISTS, "lists"}};
  std::vector<std::string> out;
  if (item.kind == QUENCH_KIND_FORMAT && item.instance) {
    for (const auto& [flag, name] : kDeeds) {
      if ((item.instance->needs & flag) != 0) {
        out.emplace_back(name);
      }
    }
  }
  return out;
}

std::string show_item(const Catalog& catalog, const PluginDescription& item) {
  std::string text = fmt::format("{} {}\n{}\n\n", plugin_label(item), item.version, item.summary);
  if (!item.reference.empty()) {
    text += fmt::format("reference  {}\n", item.reference);
  }
  text += fmt::format("library    {} (sha256 {})\n", item.library.string(), item.sha256);
  text += fmt::format("module     {} {}, {}\n", item.module_id, item.module_version, item.build);
  if (!item.interpreter.empty()) {
    text += fmt::format("run by     {}\n", item.interpreter.string());
  }
  if (!item.model_types.empty()) {
    text += fmt::format("fits       {}\n", fmt::join(item.model_types, ", "));
  }
  if (const std::vector<std::string> does = deeds(item); !does.empty()) {
    text += fmt::format("does       {}\n", fmt::join(does, ", "));
  }
  const Placed placed = catalog.placed(item);
  text += fmt::format("process    {}{}\n", to_text(placed.placement),
                      placed.reason.empty() ? "" : ": " + placed.reason);
  if (!item.parameters.empty()) {
    std::vector<Row> rows = parameter_rows(item);
    rows.insert(rows.begin(), {"parameter", "type", "default", "range", "meaning"});
    text += "\n" + columns(rows);
  }
  for (const auto& [name, values] : item.presets.items()) {
    text += fmt::format("\npreset {}\n  {}\n", name, preset_text(values));
  }
  if (!item.example.empty()) {
    text += fmt::format("\nexample\n  - {}: {}\n", item.id, item.example);
  }
  return text;
}

json item_json(const Catalog& catalog, const PluginDescription& item) {
  json out = description_to_json(item);
  for (json& parameter : out["parameters"]) {
    parameter["required"] = !parameter.contains("default");
    parameter["type"] = parameter_type_name(parameter["type"].get<int32_t>());
  }
  if (item.kind == QUENCH_KIND_FORMAT) {
    out["does"] = deeds(item);
  }
  out["library"] = item.library.string();
  out["sha256"] = item.sha256;
  out["process"] = to_text(catalog.placed(item).placement);
  if (!item.interpreter.empty()) {
    out["interpreter"] = item.interpreter.string();
  }
  out["module"] = {{"id", item.module_id}, {"version", item.module_version}, {"build", item.build}};
  return out;
}

json rejected_json(const Catalog& catalog) {
  json out = json::array();
  for (const Catalog::Rejected& rejected : catalog.rejected()) {
    out.push_back({{"library", rejected.library.string()}, {"reason", rejected.reason}});
  }
  return out;
}

// What would mend a rejected file, as a line's end, or "".
std::string remedy_of(const std::string& reason) {
  static constexpr std::pair<const char*, const char*> kRemedies[] = {
      {"cannot open shared object file",
       "install that library, or put its folder into LD_LIBRARY_PATH"},
      {"undefined symbol",
       "build it against the libraries of this machine, or link it to the one that has the symbol"},
      {"did not answer within",
       "see with `quench plugins check` in which phase it waits; --debug-worker ID stops there"},
      {"was ended by signal",
       "`quench plugins check` says in which phase; start there with a debugger"},
      {"exited with code", "a plugin never ends the process: return an error from init instead"},
      {"has no symbol",
       "build it with quench_add_plugin, or move a library that is none elsewhere"},
      {"No module named",
       "install the module for the interpreter that its first line names, or "
       "QUENCH_PYTHON"}};
  for (const auto& [word, remedy] : kRemedies) {
    if (reason.find(word) != std::string::npos) {
      return fmt::format("  to mend it: {}\n", remedy);
    }
  }
  return "";
}

std::string rejected_lines(const Catalog::Rejected& rejected) {
  return fmt::format("{} is rejected: {}\n{}", rejected.library.string(), rejected.reason,
                     remedy_of(rejected.reason));
}

// Text for a cell of a Markdown table.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) {
    out += c == '|' ? "\\|" : c == '\n' ? " " : std::string(1, c);
  }
  return out;
}

std::string markdown_item(const PluginDescription& item) {
  std::string text = fmt::format("### {}\n\n{}\n", item.id, item.summary);
  if (!item.reference.empty()) {
    text += fmt::format("\nReference: {}\n", item.reference);
  }
  if (item.parameters.empty()) {
    text += "\nNo parameters.\n";
  } else {
    text += "\n| parameter | type | default | range | meaning |\n|---|---|---|---|---|\n";
    for (const Row& row : parameter_rows(item)) {
      text += fmt::format(
          "| `{}` | {} | {} | {} | {} |\n", row[0], row[1],
          row[2] == "required" || row[2] == "not set" ? row[2] : "`" + cell(row[2]) + "`",
          cell(row[3]), cell(row[4]));
    }
  }
  for (const auto& [name, values] : item.presets.items()) {
    text += fmt::format("\nPreset `{}`: {}.\n", name, preset_text(values));
  }
  if (!item.example.empty()) {
    text += fmt::format("\n```yaml\n- {}: {}\n```\n", item.id, item.example);
  }
  return text + "\n";
}

}  // namespace

PluginsList plugins_list(const Catalog& catalog) {
  PluginsList out;
  out.rows = {{"kind", "id", "version", "summary", "library"}};
  for (const PluginDescription& item : catalog.items()) {
    out.rows.push_back({item.kind, item.id, item.version, item.summary, item.library.string()});
  }
  for (const Catalog::Shadowed& shadowed : catalog.shadowed()) {
    out.notes.push_back(fmt::format("shadowed: {} in {}, by {}", plugin_label(shadowed.item),
                                    shadowed.item.library.string(), shadowed.by.string()));
  }
  for (const Catalog::Rejected& rejected : catalog.rejected()) {
    out.notes.push_back(
        fmt::format("rejected: {}: {}", rejected.library.string(), rejected.reason));
  }
  return out;
}

json plugins_list_json(const Catalog& catalog) {
  json out = {{"plugins", json::array()},
              {"shadowed", json::array()},
              {"rejected", rejected_json(catalog)}};
  for (const PluginDescription& item : catalog.items()) {
    out["plugins"].push_back({{"kind", item.kind},
                              {"id", item.id},
                              {"version", item.version},
                              {"summary", item.summary},
                              {"library", item.library.string()},
                              {"sha256", item.sha256},
                              {"process", to_text(catalog.placed(item).placement)}});
  }
  for (const Catalog::Shadowed& shadowed : catalog.shadowed()) {
    out["shadowed"].push_back({{"kind", shadowed.item.kind},
                               {"id", shadowed.item.id},
                               {"library", shadowed.item.library.string()},
                               {"by", shadowed.by.string()}});
  }
  return out;
}

std::string plugin_show(const Catalog& catalog, const std::string& id) {
  std::string text;
  for (const PluginDescription* item : require_items(catalog, id)) {
    text += (text.empty() ? "" : "\n") + show_item(catalog, *item);
  }
  return text;
}

json plugin_show_json(const Catalog& catalog, const std::string& id) {
  json out = {{"plugins", json::array()}};
  for (const PluginDescription* item : require_items(catalog, id)) {
    out["plugins"].push_back(item_json(catalog, *item));
  }
  return out;
}

std::string plugin_why(const Catalog& catalog, const std::string& id) {
  std::string text;
  for (const PluginDescription* item : items_called(catalog, id)) {
    text += fmt::format("{}: {} (first on the search path)\n", plugin_label(*item),
                        item->library.string());
  }
  for (const Catalog::Shadowed& shadowed : catalog.shadowed()) {
    if (shadowed.item.id == id || shadowed.item.kind + "/" + shadowed.item.id == id) {
      text += fmt::format("{}: {} is shadowed by {}\n", plugin_label(shadowed.item),
                          shadowed.item.library.string(), shadowed.by.string());
    }
  }
  const std::string stem = id.substr(id.find('/') == std::string::npos ? 0 : id.find('/') + 1);
  for (const Catalog::Rejected& rejected : catalog.rejected()) {
    if (rejected.library.stem() == stem) {
      text += rejected_lines(rejected);
    }
  }
  if (text.empty()) {
    std::vector<std::string> ids;
    for (const PluginDescription& item : catalog.items()) {
      ids.push_back(item.id);
    }
    const std::string near = nearest(stem, ids);
    text = fmt::format("no library on the search path offers {} or has its name{}\n", printable(id),
                       near.empty() ? "" : "; did you mean " + near + "?");
    for (const Catalog::Rejected& rejected : catalog.rejected()) {
      text += rejected_lines(rejected);
    }
    for (const auto& folder : catalog.options().search_path) {
      text += fmt::format("looked in {}\n", folder.string());
    }
  }
  return text +
         "what was found is remembered until a library changes; `quench plugins rescan` "
         "looks again\n";
}

std::string plugins_markdown(const Catalog& catalog) {
  std::string text =
      "# Plugins\n\nMade by `quench plugins markdown` from what each plugin says of itself.\n\n";
  for (const std::string& kind : plugin_kinds()) {
    const auto items = catalog.of_kind(kind);
    if (!items.empty()) {
      text += fmt::format("## {}\n\n", kind);
    }
    for (const PluginDescription* item : items) {
      text += markdown_item(*item);
    }
  }
  text.pop_back();
  return text;
}

}  // namespace quench
