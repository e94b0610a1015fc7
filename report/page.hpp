// The report as one HTML page that needs nothing else: scripts, styles and data are inside, and its
// Content-Security-Policy forbids the browser every connection and every script but its own two.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace quench {

struct Report;

std::string page_of(const Report& report);

// Text for the inside of an element or of a quoted attribute. What is not UTF-8 and what HTML has
// no character for becomes U+FFFD.
std::string escape_html(std::string_view text);
// JSON for the inside of a <script> element: no `<` in it, whatever the strings hold.
std::string script_json(const nlohmann::json& value);

}  // namespace quench
