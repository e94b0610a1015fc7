// Foreign text inside HTML.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace quench {

// Escapes text for the inside of an element or of a quoted attribute. Invalid UTF-8 and characters
// that HTML cannot have become U+FFFD.
std::string escape_html(std::string_view text);
// JSON for the inside of a <script> element: contains no `<`, whatever the strings hold.
std::string script_json(const nlohmann::json& value);

}  // namespace quench
