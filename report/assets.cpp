#include "report/assets.hpp"

#include <cstddef>

// The assembler copies the files in: no source text of 5 MB for the compiler, and no extra tool.
#define QUENCH_ASSET(name, file)               \
  __asm__(                                     \
      ".section .rodata\n"                     \
      ".global quench_asset_" #name            \
      "\n"                                     \
      ".global quench_asset_" #name            \
      "_end\n"                                 \
      ".balign 16\n"                           \
      "quench_asset_" #name                    \
      ":\n"                                    \
      ".incbin \"" file                        \
      "\"\n"                                   \
      "quench_asset_" #name                    \
      "_end:\n"                                \
      ".byte 0\n"                              \
      ".previous\n");                          \
  extern "C" const char quench_asset_##name[]; \
  extern "C" const char quench_asset_##name##_end[]

QUENCH_ASSET(plotly, QUENCH_PLOTLY_FILE);
QUENCH_ASSET(page_script, QUENCH_PAGE_SCRIPT_FILE);
QUENCH_ASSET(page_style, QUENCH_PAGE_STYLE_FILE);

namespace quench {

namespace {

std::string_view between(const char* begin, const char* end) {
  return {begin, static_cast<size_t>(end - begin)};
}

}  // namespace

std::string_view plotly_script() {
  return between(quench_asset_plotly, quench_asset_plotly_end);
}

std::string_view page_script() {
  return between(quench_asset_page_script, quench_asset_page_script_end);
}

std::string_view page_style() {
  return between(quench_asset_page_style, quench_asset_page_style_end);
}

}  // namespace quench
