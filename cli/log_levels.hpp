// Which log lines a person sees: --log-level, -q and -v.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace quench {

class LogLevels {
 public:
  // `text`: a level for all, plugins' own levels, or both: "warning,gptq=debug". Levels are debug,
  // info, warning, error and off. A plugin is named by the id of its module, or by what follows the
  // last point of that. Throws Error(INVALID_ARGUMENT).
  static LogLevels parse(const std::string& text, int usual);

  // `level`: QUENCH_LOG_*; `module`: "" for the host's own lines.
  bool show(int level, std::string_view module) const;

 private:
  int usual_ = 0;
  std::map<std::string, int, std::less<>> by_module_;
};

// "debug", "info", "warning", "error".
std::string_view level_name(int level);

}  // namespace quench
