// Files that are linked into the program, so that a report needs no installation tree.
#pragma once

#include <string_view>

namespace quench {

std::string_view plotly_script();  // plotly.js; the text contains its MIT licence
std::string_view page_script();    // report/page.js
std::string_view page_style();     // report/page.css

}  // namespace quench
