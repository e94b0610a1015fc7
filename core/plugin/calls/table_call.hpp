// Calling through a plugin's table: status codes become exceptions that name the plugin.
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/plugin/calls/plugin_call.hpp"
#include "core/plugin/catalog/description.hpp"
#include "core/plugin/table_slots.hpp"
#include "core/plugin/wire/lost_answer.hpp"
#include "quench/abi/module.h"

namespace quench {

// "<kind> <id>", the start of every message about a plugin.
std::string plugin_label(const PluginDescription& description);

// Throws Error(status, "<label>: <message of error>"); a status that is none of QUENCH_* and a
// missing or unterminated message are the plugin's faults and reported as such.
[[noreturn]] void throw_status(const std::string& label, const char* function, quench_status status,
                               const quench_error& error);

// function(args...), whatever it returns. Throws what kept it, or a function that it called, from
// giving its value; nothing where it has none.
template <typename Function, typename... Args>
auto guarded_call(const std::string& label, const char* name, CallPlace place, Function function,
                  Args&&... args) {
  const PluginCall call(label.c_str(), name, place);
  if constexpr (std::is_void_v<std::invoke_result_t<Function, Args...>>) {
    function(std::forward<Args>(args)...);
  } else {
    const auto answer = function(std::forward<Args>(args)...);
    wire::throw_lost_answer();
    return answer;
  }
}

// Calls function(args..., &error) and throws unless it returns QUENCH_OK.
template <typename Function, typename... Args>
void table_call(const std::string& label, const char* name, Function function, Args&&... args) {
  quench_error error{sizeof(quench_error), 0, {}};
  const quench_status status =
      guarded_call(label, name, {}, function, std::forward<Args>(args)..., &error);
  if (status != QUENCH_OK) {
    throw_status(label, name, status, error);
  }
}

// Calls a function of a table of the plugin interface, under the name that it has there:
//   call<&quench_quantizer_table::observe>(label, table, place, quantizer, state, &args)
// One that can fail throws unless it returns QUENCH_OK, where no argument is its quench_error; all
// else returns what it returns. Throws UNSUPPORTED where the table does not have it.
template <auto Function, typename Table, typename... Args>
auto call(const std::string& label, const Table& table, CallPlace place, Args&&... args) {
  constexpr const char* name = kFunctionName<Function>;
  static_assert(name != nullptr, "abi.json does not have it");
  const auto function = table.*Function;
  if (function == nullptr) {
    fail(QUENCH_UNSUPPORTED, "{}: has no function {}, which is needed here", label, name);
  }
  if constexpr (std::is_invocable_v<decltype(function), Args..., quench_error*>) {
    quench_error error{sizeof(quench_error), 0, {}};
    const quench_status status =
        guarded_call(label, name, place, function, std::forward<Args>(args)..., &error);
    if (status != QUENCH_OK) {
      throw_status(label, name, status, error);
    }
  } else {
    return guarded_call(label, name, place, function, std::forward<Args>(args)...);
  }
}

// What is wrong with the table of an item of `kind`, or "": NULL, a struct_size that ends before a
// function that must be there, a NULL slot that must not be, a part of a group. `kind` is one of
// plugin_kinds().
std::string table_fault(const std::string& kind, const void* table);

// Names of the optional functions that such a table has.
std::vector<std::string> optional_functions(const std::string& kind, const void* table);

}  // namespace quench
