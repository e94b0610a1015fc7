#include "core/pass/quantizer_instances.hpp"

namespace quench {

QuantizerHandle& QuantizerInstances::of(const QuantizerCell& cell) {
  const auto found = made_.find(&cell);
  if (found != made_.end() && found->second.is_alive()) {
    return found->second;
  }
  made_.erase(&cell);  // its process has ended: another one, from its beginning
  return made_.emplace(&cell, QuantizerHandle(catalog_, *cell.plugin, cell.parameters))
      .first->second;
}

}  // namespace quench
