// Figures for papers: gnuplot draws them from a script and a data file that stay beside them, so
// that people can change a figure by hand.
#pragma once

#include <filesystem>
#include <string>

#include "report/figure.hpp"

namespace quench {

enum class PlotFormat { kPdf, kSvg, kPng };
const char* plot_suffix(PlotFormat format);  // "pdf"

// The script that draws `figure` from the file `data` (figure_csv) into the file `output`; both
// names are relative to the folder in which gnuplot runs.
std::string gnuplot_script(const Figure& figure, const std::string& data, const std::string& output,
                           PlotFormat format);

// Writes <folder>/<name>.csv, <name>.gp and <name>.<suffix>, and returns the last path. Throws
// Error: NOT_FOUND if gnuplot is not installed, INTERNAL with gnuplot's message if it fails.
std::filesystem::path plot_figure(const Figure& figure, const std::filesystem::path& folder,
                                  PlotFormat format);

}  // namespace quench
