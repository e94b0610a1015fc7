// The verbs of `quench plugins` that make and move files: new, install, remove.
#pragma once

#include "cli/command.hpp"

namespace quench {

void add_plugin_files(Verb& plugins, Context& context);

}  // namespace quench
