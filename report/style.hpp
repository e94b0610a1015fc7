// The look of figures: the colours of Okabe and Ito (2008), which colour-blind readers can
// distinguish, darker ones first. Every colour also has a marker and every method a dash, so that
// nothing depends on colour alone.
#pragma once

#include <array>

namespace quench {

struct ColorStyle {
  const char* color;       // on white
  const char* dark_color;  // on black: the same hue, lighter
  const char* marker;      // plotly.js's name
  int gnuplot_marker;      // filled; the open marker is one less
};

inline constexpr std::array<ColorStyle, 8> kColors = {{{"#0072B2", "#4FA8E0", "circle", 7},
                                                       {"#D55E00", "#F5833B", "square", 5},
                                                       {"#009E73", "#2FC79A", "triangle-up", 9},
                                                       {"#CC79A7", "#E59CC4", "diamond", 13},
                                                       {"#E69F00", "#F5B93A", "triangle-down", 11},
                                                       {"#56B4E9", "#8FD0F7", "pentagon", 15},
                                                       {"#000000", "#E8E8E8", "cross", 5},
                                                       {"#B8A800", "#F0E442", "hexagon", 7}}};

struct DashStyle {
  const char* dash;     // plotly.js's name
  const char* gnuplot;  // gnuplot's dashtype
  bool is_open;         // open markers
  const char* pattern;  // of bars
};

// The dotted line is reserved for the right axis.
inline constexpr std::array<DashStyle, 5> kDashes = {{{"solid", "1", false, ""},
                                                      {"dash", "'--'", true, "/"},
                                                      {"dashdot", "'_.'", false, "x"},
                                                      {"longdash", "'_ _'", true, "."},
                                                      {"longdashdot", "'_..'", false, "-"}}};

}  // namespace quench
