// Chooses the format that reads a place.
#pragma once

#include <string>

#include "core/checkpoint/checkpoint_place.hpp"
#include "core/plugin/catalog.hpp"

namespace quench {

struct FormatChoice {
  const PluginDescription* format = nullptr;  // nullptr: no format reads it
  std::string said;  // "; gptq: bits = 5, ...": formats that know the place but cannot read it
};

// Asks the shipped formats first and takes the best score; asks strangers only if none reads the
// place, in a child process, so that a library that merely is on the search path neither runs here
// nor takes a checkpoint away from a format that read it before. Throws what starting a child
// throws.
FormatChoice choose_format(Catalog& catalog, const CheckpointPlace& place);

}  // namespace quench
