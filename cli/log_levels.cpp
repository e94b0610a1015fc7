#include "cli/log_levels.hpp"

#include <algorithm>
#include <iterator>
#include <sstream>

#include "core/error.hpp"
#include "quench/abi/host.h"

namespace quench {

namespace {

constexpr std::string_view kNames[] = {"debug", "info", "warning", "error", "off"};

int level_of(const std::string& name) {
  const auto* found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) {
    fail(QUENCH_INVALID_ARGUMENT,
         "--log-level: got {}, wanted debug, info, warning, error or off, or PLUGIN=LEVEL",
         printable(name));
  }
  return static_cast<int>(found - std::begin(kNames));
}

}  // namespace

LogLevels LogLevels::parse(const std::string& text, int usual) {
  LogLevels out;
  out.usual_ = usual;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const size_t equals = part.find('=');
    if (equals == std::string::npos) {
      out.usual_ = level_of(part);
    } else {
      out.by_module_[part.substr(0, equals)] = level_of(part.substr(equals + 1));
    }
  }
  return out;
}

bool LogLevels::show(int level, std::string_view module) const {
  auto found = by_module_.find(module);
  if (found == by_module_.end()) {
    found = by_module_.find(module.substr(module.find_last_of('.') + 1));
  }
  return level >= (found != by_module_.end() ? found->second : usual_);
}

std::string_view level_name(int level) {
  return kNames[std::clamp(level, QUENCH_LOG_DEBUG, QUENCH_LOG_ERROR)];
}

}  // namespace quench
