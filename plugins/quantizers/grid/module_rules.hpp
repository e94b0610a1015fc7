// Per-module settings: "PATTERN bits=3 group_size=64 sym=false", or "PATTERN skip".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quench/kit/quantizer.hpp"
#include "shared/grid/grid.hpp"

namespace quench::quantizers {

struct ModuleSetting {
  GridKind kind;
  int64_t group_size;
  bool skip = false;  // keep the module in float
};

// The rules of the parameter `modules`. A pattern must match the whole module name; `*` stands for
// any run of characters and `?` for one. The first matching rule decides; settings it does not name
// keep the quantizer's values.
class ModuleRules final : public kit::ModulePatterns {
 public:
  // Throws INVALID_ARGUMENT with the number of a rule that cannot be parsed.
  explicit ModuleRules(const std::vector<std::string>& rules);
  ModuleSetting setting_of(std::string_view module, ModuleSetting usual) const;
  bool fits(size_t rule, std::string_view module) const override;

 private:
  struct Rule {
    std::string pattern;
    int64_t bits = 0;        // 0: the quantizer's
    int64_t group_size = 0;  // 0: the quantizer's
    int sym = -1;            // -1: the quantizer's
    bool skip = false;
  };
  static void read_word(const std::string& word, size_t number, Rule& rule);
  std::vector<Rule> rules_;
};

bool matches(std::string_view pattern, std::string_view text);

}  // namespace quench::quantizers
