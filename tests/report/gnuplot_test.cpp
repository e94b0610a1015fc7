#include "report/gnuplot.hpp"

#include <stdlib.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <numeric>
#include <regex>

#include "core/error.hpp"
#include "report/report.hpp"
#include "tests/report/demo_run.hpp"
#include "tests/report/hostile_run.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/subprocess.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

namespace fs = std::filesystem;
using quench::PlotFormat;
using quench::test::read_file;
using quench::test::TemporaryDir;

namespace {

void need_gnuplot() {
  quench::test::skip_unless(quench::test::has_program("gnuplot"),
                            "there is no gnuplot (Debian: gnuplot-nox)");
}

quench::Report demo_report() {
  quench::RunRecords run;
  run.records = quench::test::demo_records();
  return make_report(quench::test::demo_documents(), std::move(run));
}

}  // namespace

TEST_CASE("gnuplot: every figure becomes a file, with script and data beside it", "[report]") {
  need_gnuplot();
  const auto [format, magic] = GENERATE(values<std::pair<PlotFormat, const char*>>(
      {{PlotFormat::kPdf, "%PDF"}, {PlotFormat::kSvg, "<?xml"}, {PlotFormat::kPng, "\x89PNG"}}));
  const TemporaryDir folder;
  const quench::Report report = demo_report();
  for (const quench::Figure& figure : report.figures) {
    if (figure.panels.empty()) {
      continue;
    }
    const fs::path file = plot_figure(figure, folder.path(), format);
    CHECK(file == folder / (figure.name + "." + quench::plot_suffix(format)));
    CHECK(read_file(file).starts_with(magic));
    CHECK(fs::exists(folder / (figure.name + ".gp")));
    CHECK(fs::exists(folder / (figure.name + ".csv")));
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.path())) {
    CAPTURE(entry.path());
    CHECK(entry.path().string().find(".tmp") == std::string::npos);
  }
  // The script draws by itself, in its folder.
  const std::string name = std::string("loss_plane.") + quench::plot_suffix(format);
  fs::remove(folder / name);
  const auto drawn =
      quench::test::run_shell("cd '" + folder.path().string() + "' && gnuplot loss_plane.gp");
  INFO(drawn.out);
  CHECK(drawn.code == 0);
  CHECK(fs::exists(folder / name));
}

namespace {

// Labels of the horizontal axis in an SVG file of gnuplot: centre in user units, and text. Those of
// the vertical axis end at their place and are not centred.
std::vector<std::pair<double, std::string>> centred_labels(const std::string& svg) {
  const std::regex label(
      R"(translate\(([0-9.]+),[0-9.]+\)\"[^>]*text-anchor=\"middle\">\s*<text>(?:<tspan[^>]*>)?\s*([0-9.]+[kMBT]?)<)");
  std::vector<std::pair<double, std::string>> out;
  for (std::sregex_iterator it(svg.begin(), svg.end(), label), end; it != end; ++it) {
    out.emplace_back(std::stod((*it)[1]), (*it)[2]);
  }
  return out;
}

}  // namespace

TEST_CASE("gnuplot: labels of ticks keep apart in panels side by side", "[report]") {
  need_gnuplot();
  for (const double end : {1200.0, 6.0, 19999.0, 1234567.0, 3e9}) {
    for (const std::string beside : {"nothing", "right axis", "strip"}) {
      CAPTURE(end, beside);
      const quench::Report report = demo_report();
      const auto wanted = std::find_if(
          report.figures.begin(), report.figures.end(), [&](const quench::Figure& figure) {
            return figure.panels.size() == 2 && !figure.panels[0].is_square &&
                   !figure.panels[0].strip_title.empty();
          });
      REQUIRE(wanted != report.figures.end());
      quench::Figure figure = *wanted;
      for (quench::Panel& panel : figure.panels) {
        if (beside != "strip") {
          std::swap(panel.strip_title, panel.right_title);
          for (quench::Trace& trace : panel.traces) {
            if (trace.kind == quench::Trace::Kind::kStrip) {
              trace.kind = quench::Trace::Kind::kRight;
            }
          }
        }
        if (beside == "nothing") {
          panel.right_title.clear();
          std::erase_if(panel.traces, [](const quench::Trace& trace) {
            return trace.kind == quench::Trace::Kind::kRight;
          });
        }
        double most = 0;
        for (const quench::Trace& trace : panel.traces) {
          most = std::accumulate(trace.x.begin(), trace.x.end(), most,
                                 [](double a, double b) { return std::max(a, b); });
        }
        for (quench::Trace& trace : panel.traces) {
          for (double& x : trace.x) {
            x *= end / most;
          }
        }
      }
      const TemporaryDir folder;
      const std::string svg = read_file(plot_figure(figure, folder.path(), PlotFormat::kSvg));
      const auto labels = centred_labels(svg);
      CAPTURE(svg);
      REQUIRE(labels.size() >= 4);   // two in each panel at least
      constexpr double kWide = 0.6;  // of a digit, in font sizes
      std::smatch font;
      REQUIRE(std::regex_search(svg, font, std::regex("font-size=\"([0-9.]+)\"")));
      for (size_t i = 1; i < labels.size(); ++i) {
        if (labels[i].first > labels[i - 1].first) {  // of one panel
          const double half = kWide * std::stod(font[1]) / 2;
          const double room =
              labels[i].first - labels[i - 1].first -
              half * static_cast<double>(labels[i].second.size() + labels[i - 1].second.size());
          CAPTURE(labels[i - 1].second, labels[i].second);
          CHECK(room > half);
        }
      }
    }
  }
}

TEST_CASE("gnuplot: four panels are two rows of two", "[report]") {
  need_gnuplot();
  const quench::Report report = demo_report();
  const auto wanted =
      std::find_if(report.figures.begin(), report.figures.end(),
                   [](const quench::Figure& figure) { return figure.panels.size() == 2; });
  REQUIRE(wanted != report.figures.end());
  quench::Figure figure = *wanted;
  const TemporaryDir folder;
  const auto size = [&] {
    const std::string svg = read_file(plot_figure(figure, folder.path(), PlotFormat::kSvg));
    std::smatch found;
    REQUIRE(std::regex_search(svg, found, std::regex("width=\"([0-9]+)\" height=\"([0-9]+)\"")));
    return std::pair(std::stoi(found[1]), std::stoi(found[2]));
  };
  const auto two = size();
  figure.panels.insert(figure.panels.end(), wanted->panels.begin(), wanted->panels.end());
  const auto four = size();
  CHECK(four.first == two.first);
  CHECK(four.second > two.second);
  figure.panels.push_back(wanted->panels[0]);  // five: three and two
  CHECK(size().first > four.first);
  CHECK(size().second <= four.second);  // a wider legend has fewer lines
}

TEST_CASE("gnuplot: hostile names are drawn, not run", "[report]") {
  need_gnuplot();
  const TemporaryDir folder;
  const quench::Report report = quench::test::hostile_report();
  for (const quench::Figure& figure : report.figures) {
    if (!figure.panels.empty()) {
      const std::string svg = read_file(plot_figure(figure, folder.path(), PlotFormat::kSvg));
      CHECK(svg.find("`date` $(date)") != std::string::npos);
      CHECK(svg.find("<img") == std::string::npos);
    }
  }
}

TEST_CASE("gnuplot: where there is none, the message says what to install", "[report]") {
  const TemporaryDir folder;
  const char* path = getenv("PATH");
  const std::string before = path != nullptr ? path : "";
  setenv("PATH", folder.path().c_str(), 1);
  const quench::Report report = demo_report();
  const std::string message = quench::test::message_of(
      [&] { plot_figure(report.figures[0], folder.path(), PlotFormat::kPdf); });
  setenv("PATH", before.c_str(), 1);
  CHECK(message ==
        "gnuplot: cannot be started: No such file or directory; it draws pdf, svg and png (Debian: "
        "apt-get install gnuplot-nox), html and csv need nothing");
}
