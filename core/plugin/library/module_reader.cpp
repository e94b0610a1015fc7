#include "core/plugin/library/module_reader.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>

#include "core/base/json/parse_json.hpp"
#include "core/error.hpp"
#include "core/parse_text.hpp"
#include "core/plugin/calls/table_call.hpp"
#include "core/plugin/table_slots.hpp"

namespace quench {

namespace {

constexpr size_t kMaxWord = 256;
constexpr size_t kMaxText = 4096;
constexpr size_t kMaxLongText = 16384;
constexpr uint32_t kMaxCount = 256;

// Copies a string of the plugin's. Messages call it `what`.
std::string copy_text(const char* text, size_t limit, const std::string& what) {
  if (text == nullptr) {
    fail(QUENCH_FAILED_PRECONDITION, "{} is NULL", what);
  }
  const size_t length = strnlen(text, limit + 1);
  if (length > limit) {
    fail(QUENCH_FAILED_PRECONDITION, "{} is longer than {} bytes", what, limit);
  }
  std::string copy(text, length);
  try {
    static_cast<void>(nlohmann::json(copy).dump());
  } catch (const nlohmann::json::exception&) {
    fail(QUENCH_FAILED_PRECONDITION, "{} is not UTF-8: {}", what, printable(copy, 60));
  }
  return copy;
}

std::string copy_optional(const char* text, size_t limit, const std::string& what) {
  return text == nullptr ? "" : copy_text(text, limit, what);
}

void check_size(uint32_t size, size_t wanted, const std::string& what) {
  if (size < wanted) {
    fail(QUENCH_FAILED_PRECONDITION, "{} has struct_size {}, wanted at least {}", what, size,
         wanted);
  }
}

std::vector<std::string> split_choices(const std::string& list) {
  const std::vector<std::string_view> choices = split(list, '|');
  return {choices.begin(), choices.end()};
}

ParameterSchema read_parameter(const quench_parameter& in, const std::string& what) {
  ParameterSchema out;
  out.name = copy_text(in.name, kMaxWord, what + ": its name");
  const std::string named = what + " (" + printable(out.name) + ")";
  out.type = in.type;
  out.minimum = in.minimum;
  out.maximum = in.maximum;
  out.meaning = copy_text(in.meaning, kMaxText, named + ": its meaning");
  if (in.choices != nullptr) {
    out.choices = split_choices(copy_text(in.choices, kMaxText, named + ": its choices"));
  }
  if (in.default_json != nullptr) {
    const std::string text = copy_text(in.default_json, kMaxLongText, named + ": its default");
    try {
      out.default_value = parse_json(text, named + ": its default");
    } catch (const Error& failure) {
      fail(QUENCH_FAILED_PRECONDITION, "{}", failure.what());
    }
  }
  return out;
}

PluginDescription read_item(const quench_item* in, uint32_t index) {
  const std::string what = fmt::format("item {}", index);
  if (in == nullptr) {
    fail(QUENCH_FAILED_PRECONDITION, "{} is NULL", what);
  }
  check_size(in->struct_size, offsetof(quench_item, presets_json), what);
  if (in->flags != 0) {
    fail(QUENCH_FAILED_PRECONDITION, "{} has flags {:#x}, of which this host knows none", what,
         in->flags);
  }
  PluginDescription out;
  out.kind = copy_text(in->kind, kMaxWord, what + ": its kind");
  out.id = copy_text(in->id, kMaxWord, what + ": its id");
  const std::string named = printable(out.kind) + " " + printable(out.id);
  out.version = copy_text(in->version, kMaxWord, named + ": its version");
  out.summary = copy_text(in->summary, kMaxText, named + ": its summary");
  out.reference = copy_optional(in->reference, kMaxText, named + ": its reference");
  out.example = copy_optional(in->example, kMaxLongText, named + ": its example");
  if (in->parameter_count > kMaxCount || (in->parameter_count > 0 && in->parameters == nullptr)) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: {} parameters at {}, wanted at most {}", named,
         in->parameter_count, in->parameters == nullptr ? "NULL" : "an address", kMaxCount);
  }
  // The distance between elements follows the plugin's own header, which may have a longer struct.
  const auto* at = reinterpret_cast<const char*>(in->parameters);
  for (uint32_t i = 0; i < in->parameter_count; ++i) {
    const auto& parameter = *reinterpret_cast<const quench_parameter*>(at);
    const std::string where = fmt::format("{}: parameter {}", named, i);
    check_size(parameter.struct_size, sizeof(quench_parameter), where);
    if (parameter.struct_size % alignof(quench_parameter) != 0) {
      fail(QUENCH_FAILED_PRECONDITION, "{} has struct_size {}, wanted a multiple of {}", where,
           parameter.struct_size, alignof(quench_parameter));
    }
    out.parameters.push_back(read_parameter(parameter, where));
    at += parameter.struct_size;
  }
  if (in->struct_size >= offsetof(quench_item, model_types) && in->presets_json != nullptr) {
    const std::string text = copy_text(in->presets_json, kMaxLongText, named + ": its presets");
    try {
      out.presets = parse_json(text, named + ": its presets");
    } catch (const Error& failure) {
      fail(QUENCH_FAILED_PRECONDITION, "{}", failure.what());
    }
  }
  if (in->struct_size >= offsetof(quench_item, model_types) + sizeof in->model_types &&
      in->model_types != nullptr) {
    out.model_types =
        split_choices(copy_text(in->model_types, kMaxText, named + ": its model_types"));
  }
  if (const std::string fault = table_fault(out.kind, in->table); !fault.empty()) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: {}", named, fault);
  }
  return out;
}

void check_version(const quench_module& module) {
  // The versions come first, so that they can be read in a module of any other version.
  check_size(module.struct_size, offsetof(quench_module, id), "quench_module");
  if (module.abi_major != QUENCH_ABI_MAJOR) {
    fail(QUENCH_FAILED_PRECONDITION,
         "built for plugin ABI {}.{}, this quench has {}.{}: build it against this version's SDK",
         module.abi_major, module.abi_minor, QUENCH_ABI_MAJOR, QUENCH_ABI_MINOR);
  }
  if (module.min_host_minor > module.abi_minor) {
    fail(QUENCH_FAILED_PRECONDITION, "built for plugin ABI {0}.{1}, and needs at least {0}.{2}",
         module.abi_major, module.abi_minor, module.min_host_minor);
  }
  if (module.min_host_minor > QUENCH_ABI_MINOR) {
    fail(QUENCH_FAILED_PRECONDITION,
         "needs a host of plugin ABI {}.{}, this quench has {}.{}: take a later quench",
         module.abi_major, module.min_host_minor, QUENCH_ABI_MAJOR, QUENCH_ABI_MINOR);
  }
  check_size(module.struct_size, offsetof(quench_module, items) + sizeof module.items,
             "quench_module");  // its end in 1.0
}

// A table that is shorter than the host's, with NULL for what it has not.
std::vector<char> widened(const void* table, uint32_t bytes, uint32_t wanted) {
  std::vector<char> out(wanted);
  std::memcpy(out.data(), table, bytes / sizeof(void*) * sizeof(void*));  // no half function
  std::memcpy(out.data(), &wanted, sizeof wanted);
  return out;
}

struct WholeItem {
  quench_item item;
  std::vector<char> table;
};

}  // namespace

std::vector<PluginDescription> read_module(const quench_module& module) {
  check_version(module);
  const std::string id = copy_text(module.id, kMaxWord, "quench_module: its id");
  const std::string version = copy_text(module.version, kMaxWord, "quench_module: its version");
  const std::string build = copy_optional(module.build, kMaxText, "quench_module: its build");
  if (module.init == nullptr) {
    fail(QUENCH_FAILED_PRECONDITION, "quench_module: init is NULL");
  }
  if (module.item_count > kMaxCount || (module.item_count > 0 && module.items == nullptr)) {
    fail(QUENCH_FAILED_PRECONDITION, "quench_module: {} items at {}, wanted at most {}",
         module.item_count, module.items == nullptr ? "NULL" : "an address", kMaxCount);
  }
  std::vector<PluginDescription> items;
  for (uint32_t i = 0; i < module.item_count; ++i) {
    items.push_back(read_item(module.items[i], i));
    items.back().module_id = id;
    items.back().module_version = version;
    items.back().build = build;
  }
  return items;
}

const quench_item& item_of(const quench_module& module, uint32_t index) {
  const quench_item& item = *module.items[index];
  uint32_t bytes = 0;
  std::memcpy(&bytes, item.table, sizeof bytes);
  const auto known = std::ranges::find(kTableSlots, std::string_view(item.kind), &TableSlots::kind);
  const size_t wanted = known == std::end(kTableSlots) ? 0 : known->size;
  if (bytes >= wanted) {
    return item;
  }
  // Never destroyed, as the module.
  static auto* whole = new std::map<const quench_item*, WholeItem>;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  WholeItem& made = (*whole)[&item];
  if (made.table.empty()) {
    made.table = widened(item.table, bytes, static_cast<uint32_t>(wanted));
    std::memcpy(&made.item, &item, std::min<size_t>(item.struct_size, sizeof made.item));
    made.item.table = made.table.data();
  }
  return made.item;
}

}  // namespace quench
