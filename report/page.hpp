// The report as one self-contained HTML page: it includes scripts, styles and data, and its
// Content-Security-Policy forbids the browser every connection and every script but its own two.
#pragma once

#include <string>

namespace quench {

struct Report;

std::string page_of(const Report& report);

}  // namespace quench
