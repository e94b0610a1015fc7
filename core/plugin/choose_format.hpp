// Which format reads a place.
#pragma once

#include <string>

#include "core/checkpoint/checkpoint_place.hpp"
#include "core/plugin/catalog.hpp"

namespace quench {

struct FormatChoice {
  const PluginDescription* format = nullptr;  // none: nobody reads it
  std::string said;  // "; gptq: bits = 5, ...": by those whose own it is and that do not read it
};

// Those that come with the program are asked first, and the best score among them decides; only
// where none reads the place are strangers asked, in a child process, so that a library that merely
// lies on the search path neither runs here nor takes a checkpoint from a format that read it
// before. Throws what starting a child throws.
FormatChoice choose_format(Catalog& catalog, const CheckpointPlace& place);

}  // namespace quench
