// The program: reads the environment (nothing else does), selects the subcommand, and turns
// exceptions into one line and an exit code.
#pragma once

namespace quench {

// All of `main`. Returns the exit code.
int program_main(int argc, char** argv);

}  // namespace quench
