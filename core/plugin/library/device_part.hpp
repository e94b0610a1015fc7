// The part of a linked library that computes on a GPU: a file beside it that nothing links, so that
// one build serves machines with and without. libtorch asks for its part once, at the first call
// that wants to know, and remembers that there was none; so the part is loaded first.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/plugin/catalog/description.hpp"
#include "quench/abi/tensor.h"

namespace quench {

// Where the part of one of `links` lies, or would lie; nothing if none of them has one.
std::optional<std::filesystem::path> device_part(const std::vector<LinkedLibrary>& links);

// What computes on a GPU for a plugin besides what it links: the part, what the part brings and
// loads late, and the kernels beside the plugin's folder. For content keys; what is not there is
// left out.
std::vector<LinkedLibrary> device_libraries(const PluginDescription& plugin);

// What `library` needs, itself or through what it brings, and what neither a RUNPATH nor the
// system's search leads to, sorted. Loads what the system's search finds.
std::vector<std::string> missing_libraries(const std::filesystem::path& library);

// Throws Error(INVALID_ARGUMENT) with one line that begins with the device if the part of one of
// `links` cannot be loaded, as far as files say.
void require_device_part(const std::vector<LinkedLibrary>& links, quench_device device);

// Loads the part of one of `links`, if one has a part, for good. Throws likewise.
void load_device_part(const std::vector<LinkedLibrary>& links, quench_device device);
// Likewise, but does without it where it is not there or cannot be loaded.
void load_device_part_if_there(const std::vector<LinkedLibrary>& links);

}  // namespace quench
