// quench.json/2: parsed documents as trees. It needs no host.
#pragma once

#include "quench/abi/host.h"

namespace quench {

const quench_json* json_service();

}  // namespace quench
