// The plugins of the build, with processes that are none: what belongs into a worker is loaded
// here.
#pragma once

#include "core/plugin/catalog/catalog.hpp"

namespace quench::test {

// Those of the SDK's template did not come with the program. Remembers what one manifest said
// until the next is resolved.
Catalog& worker_catalog();

}  // namespace quench::test
