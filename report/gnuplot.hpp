// Figures for papers, drawn by the program gnuplot from a script and a data file that are kept
// beside them, so that a figure can be changed by hand.
#pragma once

#include <filesystem>
#include <string>

#include "report/figure.hpp"

namespace quench {

enum class PlotFormat { kPdf, kSvg, kPng };
const char* plot_suffix(PlotFormat format);  // "pdf"

// The script that draws `figure` from the file `data` (figure_csv) into the file `output`, both
// relative to the folder in which gnuplot runs.
std::string gnuplot_script(const Figure& figure, const std::string& data, const std::string& output,
                           PlotFormat format);

// Writes <folder>/<name>.csv, <name>.gp and <name>.<suffix>, and returns the last. Throws Error:
// NOT_FOUND when there is no gnuplot, INTERNAL with its own words when it fails.
std::filesystem::path plot_figure(const Figure& figure, const std::filesystem::path& folder,
                                  PlotFormat format);

}  // namespace quench
