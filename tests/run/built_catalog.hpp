// The plugins of this build, and a checkpoint of the template family.
#pragma once

#include <filesystem>

#include "core/inputs/weights/open_checkpoint.hpp"
#include "core/plugin/catalog/catalog.hpp"

namespace quench::test {

// Templates of the SDK and built-in plugins; one for the process, because libraries stay loaded.
Catalog& built_catalog();

// Writes a checkpoint into `folder` and opens it in float32.
OpenCheckpoint open_template_checkpoint(const std::filesystem::path& folder);

}  // namespace quench::test
