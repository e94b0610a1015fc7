#include "report/gnuplot.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "report/style.hpp"

namespace quench {

namespace {

constexpr size_t kMostColumns = 3;         // of panels
constexpr double kPanelWidth = 9;          // cm
constexpr double kPanelHeight = 7;         // cm
constexpr double kLegendLine = 0.45;       // cm
constexpr double kStripHeight = 2.5;       // cm, of the strip under a panel, with the axis of both
constexpr double kLegendCharacter = 0.17;  // cm, at the legend's size
constexpr double kTitle = 0.6;             // cm, above a panel
constexpr double kCharacter = 0.2;         // cm, its width in labels
constexpr int kLeftMargin = 12;            // characters
constexpr double kTickGap = 2;             // characters between the labels of ticks
constexpr int kFillPatterns[] = {3, 4, 6, 5, 7, 1, 2, 8};

template <typename List>
const auto& at(const List& list, int index) {
  return list[static_cast<size_t>(index) % list.size()];
}

// A string that gnuplot uses unchanged: it expands nothing between single quotes.
std::string literal(const std::string& text) {
  std::string out = "'";
  for (const char c : printable(text, 4096)) {
    out += c;
    if (c == '\'') {
      out += c;
    }
  }
  return out + "'";
}

// gnuplot treats a tick label as a format: doubles each percent sign.
std::string tick_label(const std::string& text) {
  std::string doubled;
  for (const char c : text) {
    doubled += c == '%' ? "%%" : std::string(1, c);
  }
  return literal(doubled);
}

const char* color_of(const Trace& trace) {
  return trace.color < 0 ? "#606060" : at(kColors, trace.color).color;
}

int symbol_of(int marker, int dash) {
  return at(kColors, marker).gnuplot_marker - (at(kDashes, dash).is_open ? 1 : 0);
}

int symbol_of(const Trace& trace) {
  return symbol_of(trace.marker < 0 ? std::max(trace.color, 0) : trace.marker, trace.dash);
}

// The value for gnuplot's `pt`; a mark without a shape of its own is a star.
std::string mark_symbol(const std::string& mark) {
  return mark == "square"                     ? "5"
         : mark == "circle" || mark == "last" ? "7"
         : mark == "triangle"                 ? "9"
         : mark == "diamond"                  ? "13"
         : mark == "cross"                    ? "2"
                                              : "'\u2605'";
}

class Script {
 public:
  Script(const Figure& figure, const std::string& data) : figure_(figure), data_(data) {
    const size_t panels = std::max<size_t>(figure.panels.size(), 1);
    rows_ = (panels + kMostColumns - 1) / kMostColumns;
    columns_ = (panels + rows_ - 1) / rows_;  // four panels are two rows of two
    place_legend();
  }

  double width() const { return kPanelWidth * static_cast<double>(columns_); }
  double height() const {
    return (panel_height() + kTitle) * static_cast<double>(rows_) +
           kLegendLine * static_cast<double>(legend_lines_) + 0.3;
  }

  std::string body() const {
    std::string out =
        "set datafile separator comma\nset encoding utf8\nset termoption noenhanced\n"
        "set border 3 lw 0.8\nset tics nomirror out\nset grid lc rgb '#e0e0e0' lt 1 lw 0.5\n"
        "set bars 0.6\nset tmargin 2\nset multiplot\nunset key\n";
    out += legend();
    for (size_t p = 0; p < figure_.panels.size(); ++p) {
      out += panel(p);
    }
    return out + "unset multiplot\n";
  }

 private:
  double panel_height() const {
    const bool square = !figure_.panels.empty() && figure_.panels[0].is_square;
    return (square ? kPanelWidth * 0.95 : kPanelHeight) + (has_strip() ? kStripHeight : 0);
  }

  bool has_strip() const {
    return std::any_of(figure_.panels.begin(), figure_.panels.end(),
                       [](const Panel& panel) { return !panel.strip_title.empty(); });
  }

  // Legend entries flow from left to right; positions in centimetres.
  void place_legend() {
    double x = 0.4;
    for (const LegendEntry& entry : figure_.legend) {
      const double length =
          1.5 + kLegendCharacter * static_cast<double>(std::count_if(
                                       entry.text.begin(), entry.text.end(), [](char c) {
                                         return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
                                       }));
      if (x + length > width() && x > 0.4) {
        x = 0.4;
        ++legend_lines_;
      }
      places_.emplace_back(x, legend_lines_);
      x += length;
    }
    ++legend_lines_;
  }

  // Objects and labels in screen coordinates, drawn with the first plot.
  std::string legend() const {
    std::string out;
    for (size_t i = 0; i < figure_.legend.size(); ++i) {
      const LegendEntry& entry = figure_.legend[i];
      const double y =
          1 - (kLegendLine * (static_cast<double>(places_[i].second) + 0.6)) / height();
      const double x = places_[i].first / width();
      const double length = 1.0 / width();
      out += swatch(entry, x, x + length, y);
      out += fmt::format("set label {} at screen {:.4f}, screen {:.4f} left font ',8' noenhanced\n",
                         literal(entry.text), x + length + 0.15 / width(), y);
    }
    return out;
  }

  std::string swatch(const LegendEntry& entry, double from, double to, double y) const {
    const bool is_bar = figure_.kind == FigureKind::kBars;
    std::string color = "#606060";
    std::string dash = "1";
    double width = 1.6;
    int point = 0;
    switch (entry.kind) {
      case LegendEntry::Kind::kColor:
        color = at(kColors, entry.index).color;
        point = entry.marker < 0 ? 0 : symbol_of(entry.marker, 0);
        break;
      case LegendEntry::Kind::kDash:
        dash = at(kDashes, entry.index).gnuplot;
        point = symbol_of(entry.marker, entry.index);
        break;
      case LegendEntry::Kind::kFloat:
        width = 3;
        break;
      case LegendEntry::Kind::kRight:
        dash = "'.'";
        break;
      case LegendEntry::Kind::kMark:
        if (const std::string symbol = mark_symbol(entry.mark); symbol[0] == '\'') {
          return fmt::format("set label {} at screen {:.4f}, screen {:.4f} center tc rgb '{}'\n",
                             symbol, (from + to) / 2, y, color);
        }
        return fmt::format(
            "set label '' at screen {:.4f}, screen {:.4f} point pt {} ps 1.2 lc rgb "
            "'{}'\n",
            (from + to) / 2, y, mark_symbol(entry.mark), color);
      case LegendEntry::Kind::kInterval:
        return "";
    }
    if (is_bar && entry.kind == LegendEntry::Kind::kColor) {
      return fmt::format(
          "set object rectangle from screen {:.4f}, screen {:.4f} to screen {:.4f}, "
          "screen {:.4f} fc rgb '{}' fs pattern {} border lc rgb 'black'\n",
          from, y - 0.15 / height(), to, y + 0.15 / height(), color,
          at(std::to_array(kFillPatterns), entry.index));
    }
    std::string out = fmt::format(
        "set arrow from screen {:.4f}, screen {:.4f} to screen {:.4f}, screen {:.4f} nohead lw {} "
        "dt {} lc rgb '{}'\n",
        from, y, to, y, width, dash, color);
    if (point > 0) {
      out += fmt::format(
          "set label '' at screen {:.4f}, screen {:.4f} point pt {} ps 0.8 lc rgb "
          "'{}'\n",
          (from + to) / 2, y, point, color);
    }
    return out;
  }

  std::string panel(size_t index) const {
    const Panel& panel = figure_.panels[index];
    const bool strip = !panel.strip_title.empty();
    const double h = (panel_height() + kTitle) / height();
    const double of_strip = strip ? kStripHeight / height() : 0;
    const double w = 1.0 / static_cast<double>(columns_);
    const double x = w * static_cast<double>(index % columns_);
    const size_t row = index / columns_;
    const double y = h * static_cast<double>(rows_ - 1 - row);
    std::string out =
        fmt::format("set size {:.4f},{:.4f}\nset origin {:.4f},{:.4f}\nset title {} noenhanced\n",
                    w, h - of_strip, x, y + of_strip, literal(panel.title));
    out += fmt::format("set xlabel {} noenhanced\nset ylabel {} noenhanced offset 0,0 font ''\n",
                       literal(strip ? "" : panel.x_title), literal(panel.y_title));
    out += axes(panel);
    if (strip) {
      out += "set bmargin 0.6\nset format x ''\n";
    }
    out += plot(index, false);
    if (strip) {
      out += fmt::format(
          "unset label\nunset arrow\nunset object\nunset title\nunset y2tics\nunset y2label\n"
          "unset xzeroaxis\nset format x\nset border 3 lw 0.8\nset size {:.4f},{:.4f}\nset origin "
          "{:.4f},{:.4f}\nset tmargin 0.3\nset bmargin 3.6\nset xlabel {} noenhanced\nset ylabel "
          "{} noenhanced offset 1.5,0 font ',7'\nset yrange [0:{}]\nset ytics 0,{} font ',7'\n{}",
          w, of_strip, x, y, literal(panel.x_title), literal(panel.strip_title),
          1.1 * largest(panel, Trace::Kind::kStrip), largest(panel, Trace::Kind::kStrip),
          number_ticks(panel));
      out += plot(index, true);
    }
    // Resets the legend and the panel's own settings for the next panel.
    return out +
           "unset label\nunset arrow\nunset object\nunset y2tics\nunset y2label\nunset "
           "xzeroaxis\nset xtics auto norotate\nset ytics auto font ''\nset tmargin 2\nset bmargin "
           "-1\nset autoscale\nunset logscale\nset format x\nset format y\n";
  }

  // The traces of the panel, or of its strip.
  std::string plot(size_t index, bool strip) const {
    const Panel& panel = figure_.panels[index];
    std::vector<std::string> plots;
    for (size_t t = 0; t < panel.traces.size(); ++t) {
      if ((panel.traces[t].kind == Trace::Kind::kStrip) == strip) {
        add_plots(panel, index, t, plots);
      }
    }
    return fmt::format("plot {}\n", fmt::join(plots, ", \\\n     "));
  }

  static std::string axes(const Panel& panel) {
    std::string out =
        fmt::format("set lmargin {}\nset rmargin {}\n", kLeftMargin, right_margin(panel));
    if (!panel.right_title.empty()) {
      out += fmt::format(
          "set y2label {} noenhanced\nset y2tics nomirror\nset y2range [0:{}]\nset border 11 lw "
          "0.8\n",
          literal(panel.right_title), 1.05 * largest(panel, Trace::Kind::kRight));
    } else {
      out += "set border 3 lw 0.8\n";
    }
    if (panel.has_zero) {
      out += fmt::format("set xzeroaxis lt 1 lc rgb '#404040' lw 1\nset yrange [{}:*]\n",
                         has_negative(panel) ? "*" : "0");
    }
    if (panel.is_log) {
      out += fmt::format("set logscale y\nset format y '%.0e'\nset yrange [{}:*]\n", panel.low);
    }
    if (panel.is_square) {
      out += fmt::format(
          "set xrange [{0}:{1}]\nset yrange [{0}:{1}]\nset size ratio 1\nset xtics {2}\nset ytics "
          "{2}\n",
          panel.low, panel.high, round_step(panel.high - panel.low));
    }
    if (!panel.categories.empty()) {
      std::vector<std::string> ticks;
      for (size_t i = 0; i < panel.categories.size(); ++i) {
        ticks.push_back(fmt::format("{} {}", tick_label(panel.categories[i]), i));
      }
      out += fmt::format("set xtics ({}) noenhanced\nset xrange [-0.6:{}.6]\nset yrange [{}:*]\n",
                         fmt::join(ticks, ", "), panel.categories.size() - 1,
                         has_negative(panel) ? "*" : "0");
    } else if (!panel.is_square) {
      out += number_ticks(panel, panel.strip_title.empty());
    }
    return out;
  }

  static bool has_negative(const Panel& panel) {
    const auto any = [](const std::vector<double>& values) {
      return std::any_of(values.begin(), values.end(), [](double y) { return y < 0; });
    };
    return std::any_of(panel.traces.begin(), panel.traces.end(),
                       [&](const Trace& trace) { return any(trace.low) || any(trace.y); });
  }

  static double largest(const Panel& panel, Trace::Kind kind) {
    double out = 0;
    for (const Trace& trace : panel.traces) {
      if (trace.kind == kind) {
        out = std::max(out, *std::max_element(trace.y.begin(), trace.y.end()));
      }
    }
    return out > 0 ? out : 1;
  }

  static int right_margin(const Panel& panel) { return panel.right_title.empty() ? 3 : 12; }

  // A round number of which a range has about five, at most six.
  static double round_step(double range) {
    if (!(range > 0)) {
      return 1;
    }
    const double power = std::pow(10, std::floor(std::log10(range / 5)));
    double step = power;
    for (const double factor : {2.0, 5.0, 10.0}) {
      step = range / step > 6 ? factor * power : step;
    }
    return step;
  }

  // 1, 2, 5, 10, 20, ...
  static double next_round(double step) {
    const double leading = step / std::pow(10, std::floor(std::log10(step) + 1e-9));
    return step * (leading > 1.5 && leading < 3 ? 2.5 : 2);
  }

  template <typename Label>
  static size_t longest_label(const Label& label, int last) {
    size_t out = 0;
    for (int i = 0; i <= last; ++i) {
      out = std::max(out, label(i).size());
    }
    return out;
  }

  // About five round numbers from 0 on, fewer if their labels would touch, as 5B and 200k if they
  // are large; gnuplot's own ticks if the axis goes below 0.
  static std::string number_ticks(const Panel& panel, bool has_labels = true) {
    double begin = 0;
    double end = 0;
    for (const Trace& trace : panel.traces) {
      for (const double x : trace.x) {
        begin = std::min(begin, x);
        end = std::max(end, x);
      }
    }
    if (begin < 0 || end <= 0) {
      return "";
    }
    double step = round_step(end);
    const auto [size, unit] = end >= 2e12  ? std::pair(1e12, "T")
                              : end >= 2e9 ? std::pair(1e9, "B")
                              : end >= 2e6 ? std::pair(1e6, "M")
                              : end >= 2e4 ? std::pair(1e3, "k")
                                           : std::pair(1.0, "");
    const auto label = [&, size = size, unit = unit](int i) {
      return fmt::format("{:g}{}", i * step / size, i > 0 ? unit : "");
    };
    // Labels that touch are one wrong number: 1000 and 1200 read 10001200.
    const double room = kPanelWidth / kCharacter - kLeftMargin - right_margin(panel);
    while (step < end &&
           room < (end / step) * (kTickGap + static_cast<double>(longest_label(
                                                 label, static_cast<int>(end / step))))) {
      step = next_round(step);
    }
    std::vector<std::string> ticks;
    for (int i = 0; i * step <= end * 1.001; ++i) {
      ticks.push_back(fmt::format("'{}' {}", has_labels ? label(i) : "", i * step));
    }
    return fmt::format("set xtics ({})\nset xrange [0:{}]\n", fmt::join(ticks, ", "), 1.03 * end);
  }

  // The given columns of one trace's rows, for gnuplot's `using`. The rows are contiguous in the
  // file, so skipping the rows before and after them breaks no line.
  std::string rows_of(size_t panel, size_t trace, std::initializer_list<int> columns,
                      double shift = 0) const {
    std::vector<std::string> of;
    for (const int column : columns) {
      of.push_back(fmt::format("($1=={} && $2=={} ? ${}{} : NaN)", panel, trace, column,
                               column == 3 && shift != 0 ? fmt::format("+({:.4f})", shift) : ""));
    }
    return fmt::format("{} every ::1 using {}", literal(data_), fmt::join(of, ":"));
  }

  // x, low, 0, high − low: draws each existing interval as an arrow with two blunt heads.
  std::string bars_of(size_t panel, size_t trace, double shift = 0) const {
    return fmt::format(
        "{0} every ::1 using ($1=={1} && $2=={2} && $6 > $5 ? $3+({3:.4f}) : NaN):5:(0):($6-$5)",
        literal(data_), panel, trace, shift);
  }

  void add_plots(const Panel& panel, size_t p, size_t t, std::vector<std::string>& plots) const {
    const Trace& trace = panel.traces[t];
    const std::string line = rows_of(p, t, {3, 4});
    const std::string color = color_of(trace);
    const DashStyle& dash = at(kDashes, trace.dash);
    switch (trace.kind) {
      case Trace::Kind::kLine:
      case Trace::Kind::kPoints:
        plots.push_back(fmt::format("{} with {} lc rgb '{}' lw 1.6 dt {} pt {} ps {}", line,
                                    trace.kind == Trace::Kind::kLine ? "linespoints" : "points",
                                    color, dash.gnuplot, symbol_of(trace),
                                    trace.x.size() > 40 ? 0.3 : 0.6));
        add_marks(trace, color, plots);
        break;
      case Trace::Kind::kCurve:
        plots.push_back(
            fmt::format("{} with lines lc rgb '{}' lw 1.6 dt {}", line, color, dash.gnuplot));
        break;
      case Trace::Kind::kFloat:
        plots.push_back(fmt::format("{} with lines lc rgb '{}' lw 3 dt 1", line, color));
        break;
      case Trace::Kind::kInterval:
        plots.push_back(fmt::format("{} with vectors heads size screen 0.005,90 lc rgb '{}' lw 1.2",
                                    bars_of(p, t), color));
        plots.push_back(fmt::format("{} with points pt '\u2013' lc rgb '{}'", line, color));
        break;
      case Trace::Kind::kGuide: {
        const bool diagonal = trace.label == "no error";
        plots.push_back(fmt::format("{} with lines lc rgb '#808080' lw {} dt {}", line,
                                    diagonal ? 1.2 : 0.7, diagonal ? "'--'" : "1"));
        // That of the diagonal stands below its upper end, where no loss is.
        plots.push_back(fmt::format(
            "'+' every ::0::0 using ({}):({}):({}) with labels {} rotate by 45 font ',8' tc rgb "
            "'#606060' noenhanced",
            diagonal ? trace.x.back() : trace.x[0], diagonal ? trace.y.back() : trace.y[0],
            literal(trace.label), diagonal ? "right offset -0.2,-1.2" : "left offset 0.5,0.5"));
        break;
      }
      case Trace::Kind::kJoin:
        plots.push_back(
            fmt::format("{} with lines lc rgb '{}' lw 0.9 dt {}", line, color, dash.gnuplot));
        break;
      case Trace::Kind::kStrip:
        plots.push_back(fmt::format("{} with lines lc rgb '{}' lw 1.3", line, color));
        break;
      case Trace::Kind::kRight:
        plots.push_back(
            fmt::format("{} axes x1y2 with lines lc rgb '{}' lw 1.3 dt '.'", line, color));
        break;
      case Trace::Kind::kContour:
        plots.push_back(rows_of(p, t, {3, 4, 7}) + " with image");
        break;
      case Trace::Kind::kBar:
        add_bars(panel, p, t, plots);
        break;
    }
  }

  static void add_marks(const Trace& trace, const std::string& color,
                        std::vector<std::string>& plots) {
    for (size_t i = 0; i < trace.marks.size(); ++i) {
      const std::string& mark = trace.marks[i];
      if (!mark.empty()) {
        plots.push_back(
            fmt::format("'+' every ::0::0 using ({}):({}) with points lc rgb '{}' pt {} ps {}",
                        trace.x[i], trace.y[i], color,
                        mark == "last" ? std::to_string(symbol_of(trace)) : mark_symbol(mark),
                        mark == "last" ? 1.0 : 1.4));
      }
    }
  }

  void add_bars(const Panel& panel, size_t p, size_t t, std::vector<std::string>& plots) const {
    const double width = 0.8 / static_cast<double>(panel.traces.size());
    const double shift = width * (static_cast<double>(t) + 0.5) - 0.4;
    const Trace& trace = panel.traces[t];
    plots.push_back(
        fmt::format("{}:({:.4f}) with boxes fs pattern {} border lc rgb 'black' fc rgb '{}' lw 0.8",
                    rows_of(p, t, {3, 4}, shift), width * 0.9,
                    at(std::to_array(kFillPatterns), trace.color), color_of(trace)));
    bool has_interval = false;
    for (size_t i = 0; i < trace.y.size(); ++i) {
      has_interval = has_interval || trace.high[i] > trace.low[i];
    }
    if (has_interval) {
      plots.push_back(fmt::format("{} with vectors heads size screen 0.005,90 lc rgb 'black' lw 1",
                                  bars_of(p, t, shift)));
    }
  }

  const Figure& figure_;
  std::string data_;
  size_t columns_ = 1;
  size_t rows_ = 1;
  size_t legend_lines_ = 0;
  std::vector<std::pair<double, size_t>> places_;  // of legend entries: x in cm, line
};

}  // namespace

const char* plot_suffix(PlotFormat format) {
  return format == PlotFormat::kPdf ? "pdf" : format == PlotFormat::kSvg ? "svg" : "png";
}

std::string gnuplot_script(const Figure& figure, const std::string& data, const std::string& output,
                           PlotFormat format) {
  const Script script(figure, data);
  std::string terminal;
  switch (format) {
    case PlotFormat::kPdf:
      terminal = fmt::format("pdfcairo size {:.2f}cm,{:.2f}cm font 'DejaVu Sans,9'", script.width(),
                             script.height());
      break;
    case PlotFormat::kSvg:  // 96 dots per inch
      terminal = fmt::format("svg size {:.0f},{:.0f} font 'DejaVu Sans,11' background 'white'",
                             script.width() * 37.8, script.height() * 37.8);
      break;
    case PlotFormat::kPng:  // 200 dots per inch
      terminal = fmt::format(
          "pngcairo size {:.0f},{:.0f} fontscale 2 linewidth 2 pointscale 2 font 'DejaVu Sans,9'",
          script.width() * 78.7, script.height() * 78.7);
      break;
  }
  return fmt::format(
      "# {}\n# gnuplot {}.gp, in the folder of the data\nset terminal {}\nset output "
      "{}\n{}set output\n",
      printable(figure.title, 200), figure.name, terminal, literal(output), script.body());
}

}  // namespace quench
