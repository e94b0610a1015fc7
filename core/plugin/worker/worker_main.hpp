// The program as a worker: one plugin module, served to the host that started it (docs/worker.md).
#pragma once

#include <string>
#include <vector>

namespace quench {

// `quench __worker`, run by quench itself with the control socket on descriptor 3. The exit code.
int worker_main(const std::vector<std::string>& arguments);

}  // namespace quench
