// Settings of single modules: "PATTERN bits=3 group_size=64 sym=false", or "PATTERN skip".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "quantizers/grid/grid.hpp"
#include "quench/kit/quantizer.hpp"

namespace quench::quantizers {

struct ModuleSetting {
  GridKind kind;
  int64_t group_size;
  bool skip = false;  // stays in float
};

// Rules of the parameter `modules`. A pattern is matched against the whole module name, `*` for any
// run of characters and `?` for one. The first rule that matches decides; what it does not name
// stays as the quantizer has it.
class ModuleRules final : public kit::ModulePatterns {
 public:
  // INVALID_ARGUMENT with the number of the rule that cannot be read.
  explicit ModuleRules(const std::vector<std::string>& rules);
  ModuleSetting setting_of(std::string_view module, ModuleSetting usual) const;
  bool fits(size_t rule, std::string_view module) const override;

 private:
  struct Rule {
    std::string pattern;
    int64_t bits = 0;        // 0: as usual
    int64_t group_size = 0;  // likewise
    int sym = -1;            // likewise
    bool skip = false;
  };
  static void read_word(const std::string& word, size_t number, Rule& rule);
  std::vector<Rule> rules_;
};

bool matches(std::string_view pattern, std::string_view text);

}  // namespace quench::quantizers
