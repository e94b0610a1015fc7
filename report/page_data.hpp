// What the page's script draws: figures and styles as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace quench {

struct Report;

nlohmann::json page_data(const Report& report);

}  // namespace quench
