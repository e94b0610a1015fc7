// Whether the process in which an instance was made still runs. In the host's own process it does.
#pragma once

#include <cstdint>

#include "core/plugin/catalog/catalog.hpp"

namespace quench {

class Liveness {
 public:
  // Of an instance that is made now. Both must outlive the object.
  Liveness(const Catalog& catalog, const PluginDescription& description)
      : catalog_(&catalog), description_(&description), started_(catalog.starts(description)) {}

  explicit operator bool() const { return catalog_->starts(*description_) == started_; }

 private:
  const Catalog* catalog_;
  const PluginDescription* description_;
  uint64_t started_;
};

}  // namespace quench
