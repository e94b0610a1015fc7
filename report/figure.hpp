// Figures as data: what is drawn, not how. The page and gnuplot both draw from this, so that they
// show the same.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "report/contrast.hpp"
#include "report/observation.hpp"
#include "report/spec.hpp"

namespace quench {

// One set of points in a panel.
struct Trace {
  enum class Kind {
    kLine,      // points joined, with markers
    kFloat,     // points of the float model, joined, without markers
    kPoints,    // points apart
    kInterval,  // from low to high, with a tick at y
    kGuide,     // a line to read by, no data
    kRight,     // on the right axis
    kBar,
    kContour,  // z over a regular grid, x fastest
    kCurve,    // points joined, without markers
  };
  Kind kind = Kind::kLine;
  std::string name;   // all of it, for hovering and for the columns of the CSV
  std::string label;  // of a kGuide, at its end
  int color = -1;     // index of a legend entry's colour and marker; -1: no colour
  int dash = 0;       // index of a legend entry's dash (bars: pattern)
  std::vector<double> x;
  std::vector<double> y;
  std::vector<double> low;  // kInterval and kBar with an interval: as long as y
  std::vector<double> high;
  std::vector<double> z;               // kContour: as long as x; NaN where there is none
  std::vector<std::string> texts;      // per point: what it is; or empty
  std::vector<const Record*> records;  // per point: what it shows; or empty
  std::vector<std::string> marks;      // per point: how the manifest marks it; or empty
};

struct Panel {
  std::string title;
  std::string x_title;
  std::string y_title;
  std::string right_title;              // empty: no right axis
  std::vector<std::string> categories;  // of the x axis of bars: x is an index into these
  bool is_square = false;               // both axes in one unit, over the range from low to high
  bool is_log = false;                  // the y axis, from low on; y > 0
  double low = 0;
  double high = 0;
  std::vector<Trace> traces;
};

// What a colour, a dash or a mark means.
struct LegendEntry {
  enum class Kind { kColor, kDash, kFloat, kRight, kInterval, kMark };
  Kind kind = Kind::kColor;
  int index = 0;
  std::string text;
  std::string mark;  // of a kMark, as in Trace::marks
};

struct Figure {
  std::string name;
  std::string title;
  std::string caption;  // what it shows, and what each bar is
  FigureKind kind = FigureKind::kTable;
  Place place;
  std::vector<LegendEntry> legend;
  std::vector<Panel> panels;
};

// Colours and dashes by what they stand for, the same in all figures of a report.
class Palette {
 public:
  // Index of the text, given out in the order of asking.
  int color(const std::string& text) { return index(colors_, text); }
  int dash(const std::string& text) { return index(dashes_, text); }

 private:
  static int index(std::vector<std::string>& list, const std::string& text);
  std::vector<std::string> colors_;
  std::vector<std::string> dashes_;
};

// Error or loss along the training. `observations` are those that `spec.where` keeps.
Figure curve_figure(const FigureSpec& spec, const std::vector<Observation>& observations,
                    Palette& palette);
// Float loss against quantized loss.
Figure plane_figure(const FigureSpec& spec, const std::vector<Observation>& observations,
                    Palette& palette);
// What quantization costs in accuracy against what it costs in loss, a point per cell that has
// both.
Figure accuracy_figure(const FigureSpec& spec, const std::vector<Observation>& observations,
                       Palette& palette);
// One bar per method and branch.
Figure bars_figure(const FigureSpec& spec, const std::vector<Observation>& observations,
                   Palette& palette);

// A curve per record whose details hold a `density`: `values` and `weights`, the nodes of a
// quadrature. The y axis is logarithmic.
Figure spectrum_figure(const FigureSpec& spec, const std::vector<Observation>& observations,
                       Palette& palette);

// One panel per record whose details hold a landscape: `x`, `y`, `loss` [y][x] (null where the loss
// is not finite) and `points`, each with `name`, `at` [x,y] and `loss`. A landscape of one row is
// drawn as a curve, any other as contours with the points in it, joined in their order where they
// are a trajectory in its principal plane (`singular_values`).
Figure contour_figure(const FigureSpec& spec, const std::vector<Observation>& observations,
                      Palette& palette);

}  // namespace quench
