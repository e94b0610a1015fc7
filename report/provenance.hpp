// Where a report's values come from: manifest, plugins, program, machine and keys.
#pragma once

#include <string>

namespace quench {

struct Report;

// A section of the page.
std::string provenance_html(const Report& report);

}  // namespace quench
