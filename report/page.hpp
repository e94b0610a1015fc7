// The report as one self-contained HTML page: it includes scripts, styles and data, and its
// Content-Security-Policy forbids the browser every connection and every script but its own two.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace quench {

struct Report;

std::string page_of(const Report& report);

// Escapes text for the inside of an element or of a quoted attribute. Invalid UTF-8 and characters
// that HTML cannot have become U+FFFD.
std::string escape_html(std::string_view text);
// JSON for the inside of a <script> element: contains no `<`, whatever the strings hold.
std::string script_json(const nlohmann::json& value);

}  // namespace quench
