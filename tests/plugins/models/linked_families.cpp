// The families of Llama's layout, whose modules have names of their own here.
#include "tests/plugins/models/linked_family.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "quench/abi/module.h"

#define FOR_EACH_FAMILY(use)                                                                      \
  use(apertus) use(dots1) use(gemma2) use(gemma3_text) use(llama) use(olmo) use(olmo2) use(olmo3) \
      use(olmoe) use(opensci) use(qwen2) use(qwen3) use(smollm3)
#define DECLARE(id) const quench_module* quench_module_##id(void) noexcept;
#define NAMED(id) {#id, quench_module_##id},

extern "C" {
FOR_EACH_FAMILY(DECLARE)
}

namespace quench::test {

const quench_model_table& linked_family(const std::string& config) {
  static const std::map<std::string, const quench_module* (*)() noexcept> kFamilies = {
      FOR_EACH_FAMILY(NAMED)};
  // Other names of a family's, and that of OLMo's own configs, which have none.
  static const std::map<std::string, std::string> kOtherNames = {
      {"hf_olmo", "olmo"}, {"", "olmo"}, {"gemma3", "gemma3_text"}};
  const std::string type = nlohmann::json::parse(config).value("model_type", "");
  const auto other = kOtherNames.find(type);
  const auto family = kFamilies.find(other == kOtherNames.end() ? type : other->second);
  if (family == kFamilies.end()) {
    throw std::invalid_argument("no linked family has the model_type " + type);
  }
  return *static_cast<const quench_model_table*>(family->second()->items[0]->table);
}

}  // namespace quench::test
