// A plugin ends with these lines:
//
//   QUENCH_MODULE("quench.gptq", "0.1.0", quench::kit::quantizer<Gptq>({.id = "gptq", ...}))
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "quench/abi/module.h"
#include "quench/kit/host.hpp"
#include "quench/kit/parameters.hpp"

// The earliest minor of the ABI whose hosts the plugin runs on. A plugin that cannot do without
// what a later one added defines its number before it includes the kit.
#ifndef QUENCH_MIN_HOST_MINOR
#define QUENCH_MIN_HOST_MINOR 0
#endif

namespace quench::kit {

// How an author describes a plugin; see quench_item in quench/abi/module.h.
struct About {
  const char* id;
  const char* version;
  const char* summary;
  const char* reference = nullptr;
  const char* example = nullptr;
  const char* presets_json = nullptr;
  const char* model_types = nullptr;
};

// Makes the item of a plugin with parameters Params.
template <typename Params>
quench_item make_item(const char* kind, const About& about, const void* table) {
  const std::vector<quench_parameter>& schema = fields_of<Params>().schema();
  return {sizeof(quench_item),
          0,
          kind,
          about.id,
          about.version,
          about.summary,
          about.reference,
          about.example,
          static_cast<uint32_t>(schema.size()),
          schema.data(),
          table,
          about.presets_json,
          about.model_types};
}

namespace detail {

// Adds the optional functions that a class has besides the methods of its kind.
template <typename Plugin, typename Table>
void add_functions([[maybe_unused]] Table& table) {
  if constexpr (requires { Plugin::add_functions(table); }) {
    Plugin::add_functions(table);
  }
}

}  // namespace detail

// The module of a plugin library; there is one per shared object.
class Module {
 public:
  Module(const char* id, const char* version, std::vector<quench_item> items)
      : items_(std::move(items)) {
    for (const quench_item& item : items_) {
      pointers_.push_back(&item);
    }
    module_ = {sizeof(quench_module),
               QUENCH_ABI_MAJOR,
               QUENCH_ABI_MINOR,
               QUENCH_MIN_HOST_MINOR,
               id,
               version,
               "C++ kit, compiler " __VERSION__,
               init,
               nullptr,
               static_cast<uint32_t>(pointers_.size()),
               pointers_.data()};
  }
  const quench_module* module() const { return &module_; }

 private:
  static quench_status init(const quench_host* host, quench_error*) noexcept {
    current_host = host;
    return QUENCH_OK;
  }

  std::vector<quench_item> items_;
  std::vector<const quench_item*> pointers_;
  quench_module module_{};
};

}  // namespace quench::kit

// Defines the entry symbol of a plugin library: module id, version, then its items.
#define QUENCH_MODULE(id, version, ...)                                                    \
  extern "C" __attribute__((visibility("default"))) const quench_module* quench_module_v1( \
      void) noexcept {                                                                     \
    static const ::quench::kit::Module module(id, version, {__VA_ARGS__});                 \
    return module.module();                                                                \
  }
