// Figures as data: what is drawn, not how. The page and gnuplot both draw from this, so they show
// the same.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "report/contrast.hpp"
#include "report/observation.hpp"
#include "report/spec.hpp"
#include "report/training_log.hpp"

namespace quench {

// One set of points in a panel.
struct Trace {
  enum class Kind {
    kLine,      // joined points, with markers
    kFloat,     // joined points of the float model, without markers
    kPoints,    // separate points
    kInterval,  // from low to high, with a tick at y
    kGuide,     // a line to read by; no data
    kRight,     // belongs to the right axis
    kStrip,     // belongs to the strip under the panel
    kJoin,      // from the point of a parent where a branch forks to the branch's first
    kBar,
    kContour,  // z over a regular grid, x fastest
    kCurve,    // joined points, without markers
  };
  Kind kind = Kind::kLine;
  std::string name;   // the full name, for hovering and for the columns of the CSV
  std::string label;  // kGuide: the text at its end
  int color = -1;     // index of a legend entry with colour and marker; -1: no colour
  int dash = 0;       // index of a legend entry with dash (bars: pattern)
  int marker = -1;    // index of a marker; -1: that of the colour
  std::vector<double> x;
  std::vector<double> y;
  std::vector<double> low;  // kInterval and kBar with an interval: as long as y
  std::vector<double> high;
  std::vector<double> z;               // kContour: as long as x; NaN for missing values
  std::vector<std::string> texts;      // per point: its description; or empty
  std::vector<const Record*> records;  // per point: its record; or empty
  std::vector<std::string> marks;      // per point: its mark in the manifest; or empty
};

struct Panel {
  std::string title;
  std::string x_title;
  std::string y_title;
  std::string right_title;              // empty: no right axis
  std::string strip_title;              // of its vertical axis; empty: no strip
  std::vector<std::string> categories;  // of the x axis of bars: x is an index into these
  bool is_square = false;               // both axes have one unit and the range from low to high
  bool has_zero = false;                // 0 belongs to the vertical axis, and has a line
  bool is_log = false;                  // logarithmic y axis, starting at low; y > 0
  double low = 0;
  double high = 0;
  std::vector<Trace> traces;
};

// The meaning of a colour, a dash or a mark.
struct LegendEntry {
  enum class Kind { kColor, kDash, kFloat, kRight, kInterval, kMark };
  Kind kind = Kind::kColor;
  int index = 0;
  std::string text;
  std::string mark;  // kMark: as in Trace::marks
  int marker = -1;   // kColor, kDash: index of the marker that goes with it; -1: none
};

struct Figure {
  std::string name;
  std::string title;
  std::string caption;  // what the figure shows, and what its bars mean
  FigureKind kind = FigureKind::kTable;
  Place place;
  std::vector<LegendEntry> legend;
  std::vector<Panel> panels;
};

// Assigns colours and dashes to texts, the same in all figures of a report.
class Palette {
 public:
  // Index of the text; new texts get the next index.
  int color(const std::string& text) { return index(colors_, text); }
  int dash(const std::string& text) { return index(dashes_, text); }

 private:
  static int index(std::vector<std::string>& list, const std::string& text);
  std::vector<std::string> colors_;
  std::vector<std::string> dashes_;
};

// Removes traces without points, and panels without traces of data.
void drop_empty_panels(Figure& figure);

// Error or loss along the training. `observations` have passed `spec.where`.
Figure curve_figure(const FigureSpec& spec, const std::vector<Observation>& observations,
                    Palette& palette);
// Float loss against quantized loss.
Figure plane_figure(const FigureSpec& spec, const std::vector<Observation>& observations,
                    Palette& palette);
// The accuracy that quantization costs against the loss that it costs; one point per cell that has
// both.
Figure accuracy_figure(const FigureSpec& spec, const std::vector<Observation>& observations,
                       Palette& palette);
// Loss against the bytes of the stored weights; a line joins the bits of one method.
Figure size_figure(const FigureSpec& spec, const std::vector<Observation>& observations,
                   Palette& palette);
// One bar per method and branch.
Figure bars_figure(const FigureSpec& spec, const std::vector<Observation>& observations,
                   Palette& palette);

// The loss of each training and, in a strip, its learning rate.
Figure training_figure(const FigureSpec& spec, const std::vector<TrainingCurve>& curves,
                       Palette& palette);

// One curve per record whose details hold a `density`: `values` and `weights`, the nodes of a
// quadrature. The y axis is logarithmic.
Figure spectrum_figure(const FigureSpec& spec, const std::vector<Observation>& observations,
                       Palette& palette);

// One panel per record whose details hold a landscape: `x`, `y`, `loss` [y][x] (null where the loss
// is not finite) and `points`, each with `name`, `at` [x,y] and `loss`. Draws a landscape of one
// row as a curve, any other as contours with its points; joins the points of a trajectory in its
// principal plane (`singular_values`) in order.
Figure contour_figure(const FigureSpec& spec, const std::vector<Observation>& observations,
                      Palette& palette);

}  // namespace quench
