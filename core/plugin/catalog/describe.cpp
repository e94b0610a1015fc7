#include "core/plugin/catalog/describe.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "core/base/process/child_process.hpp"
#include "core/error.hpp"
#include "core/plugin/calls/process_state.hpp"
#include "core/plugin/calls/table_call.hpp"
#include "core/plugin/catalog/description.hpp"
#include "core/plugin/catalog/parameters.hpp"
#include "core/plugin/library/elf_file.hpp"
#include "core/plugin/library/library.hpp"
#include "core/plugin/library/links.hpp"
#include "core/plugin/library/module_reader.hpp"
#include "core/plugin/services/host_services.hpp"
#include "quench/abi/kind/format.h"
#include "quench/abi/kind/quantizer.h"

namespace quench {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

// What a quantizer's instance with default parameters says of itself; what a format does. Nothing
// for other kinds, and where default parameters make none.
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
  const std::string parameters = complete_parameters(description, json::object(), problems).dump();
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

// What the library needs by name, and what it loaded beyond that.
std::vector<LinkedLibrary> links_of(const fs::path& library,
                                    const std::vector<LinkedLibrary>& before) {
  const std::vector<LinkedLibrary> now = loaded_libraries();
  std::vector<LinkedLibrary> links = needed_libraries(library);
  for (const LinkedLibrary& link : now) {
    const auto is_it = [&](const LinkedLibrary& other) { return other.path == link.path; };
    if (link.path != library && std::none_of(before.begin(), before.end(), is_it) &&
        std::none_of(links.begin(), links.end(), is_it)) {
      links.push_back(link);
    }
  }
  return links;
}

json links_to_json(const std::vector<LinkedLibrary>& links) {
  json out = json::array();
  for (const LinkedLibrary& link : links) {
    out.push_back(
        {{"soname", link.soname}, {"path", link.path.string()}, {"build_id", link.build_id}});
  }
  return out;
}

}  // namespace

json describe_library(const fs::path& library, const EnterPhase& enter, bool instances) {
  read_elf(library);  // says what is wrong with a file that is none
  const std::vector<LinkedLibrary> before = loaded_libraries();
  if (std::string conflict = link_conflict(bundled_libraries(library), before); !conflict.empty()) {
    fail(QUENCH_FAILED_PRECONDITION, "{}", conflict);
  }
  keep_process_state();

  enter("while it was loaded");
  const quench_module* module = open_library(library);
  if (std::string displaced = displaced_library(library, loaded_libraries()); !displaced.empty()) {
    fail(QUENCH_FAILED_PRECONDITION, "{}", displaced);
  }
  enter("while its module was read");
  std::vector<PluginDescription> items = read_module(*module);
  enter("in init");
  quench_error error{sizeof(quench_error), 0, {}};
  const quench_status status = module->init(HostServices::instance().host_for(module->id), &error);
  if (status != QUENCH_OK) {
    throw_status("init", "init", status, error);
  }
  if (has_children()) {
    fail(QUENCH_FAILED_PRECONDITION, "starts a process when it is loaded");
  }
  if (const std::string changes = process_state_changes(); !changes.empty()) {
    fail(QUENCH_FAILED_PRECONDITION, "changes its process when it is loaded: {}", changes);
  }
  for (uint32_t i = 0; instances && i < items.size(); ++i) {
    enter(fmt::format("while {}{}", plugin_label(items[i]), kCreating));
    items[i].instance = default_instance(items[i], item_of(*module, i));
  }
  if (module->shutdown != nullptr) {
    enter("in shutdown");
    module->shutdown();
  }
  enter("after its shutdown");
  json out = items_to_json(items);
  out["links"] = links_to_json(links_of(library, before));
  return out;
}

}  // namespace quench
