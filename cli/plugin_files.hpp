// The verbs of `quench plugins` that make and move files: new, install, remove.
#pragma once

#include "cli/command.hpp"

namespace quench {

// `json`: the flag --json of `plugins`, which outlives the command line.
void add_plugin_files(Verb& plugins, Context& context, const bool& json);

}  // namespace quench
