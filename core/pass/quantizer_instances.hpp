// The quantizers of an experiment: each setting is made once, and that instance is checked, says
// its rules for modules and its memory, and quantizes, pass after pass.
#pragma once

#include <map>

#include "core/experiment/experiment.hpp"
#include "core/plugin/catalog.hpp"
#include "core/plugin/quantizer_handle.hpp"

namespace quench {

class QuantizerInstances {
 public:
  explicit QuantizerInstances(Catalog& catalog) : catalog_(catalog) {}

  // Made when it is first asked for, and there as long as this object, which the cell must outlive.
  // Throws what the plugin says of parameters that it refuses, each time.
  QuantizerHandle& of(const QuantizerCell& cell);

 private:
  Catalog& catalog_;
  std::map<const QuantizerCell*, QuantizerHandle> made_;
};

}  // namespace quench
