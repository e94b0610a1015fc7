// The quantizers of an experiment: creates each setting once; the same instance is checked, reports
// its rules for modules and its memory, and quantizes, pass after pass.
#pragma once

#include <map>

#include "core/inputs/experiment/experiment.hpp"
#include "core/plugin/catalog/catalog.hpp"
#include "core/plugin/handles/quantizer_handle.hpp"

namespace quench {

class QuantizerInstances {
 public:
  explicit QuantizerInstances(Catalog& catalog) : catalog_(catalog) {}

  // Creates the instance at the first request and keeps it as long as this object, which the cell
  // must outlive. Throws the plugin's message for refused parameters, each time.
  QuantizerHandle& of(const QuantizerCell& cell);

 private:
  Catalog& catalog_;
  std::map<const QuantizerCell*, QuantizerHandle> made_;
};

}  // namespace quench
