// Files that are built into the program, so that a report needs no installation tree.
#pragma once

#include <string_view>

namespace quench {

std::string_view plotly_script();  // plotly.js, MIT licence inside
std::string_view page_script();    // core/report/page.js
std::string_view page_style();     // core/report/page.css

}  // namespace quench
