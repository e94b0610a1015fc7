// The page in a real browser: what it has drawn is what the records say.
#include <stdlib.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <regex>

#include "report/page.hpp"
#include "report/report.hpp"
#include "tests/report/demo_run.hpp"
#include "tests/report/hostile_run.hpp"
#include "tests/support/skip.hpp"
#include "tests/support/subprocess.hpp"
#include "tests/support/temporary.hpp"

using quench::Panel;
using quench::Report;
using quench::Trace;

namespace {

constexpr double kPixel = 0.51;  // positions are rounded to hundredths, tick labels to the tick

std::string browser() {
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
    if (quench::test::has_program(name)) {
      return name;
    }
  }
  quench::test::skip("there is no chromium to draw the page in");
}

// The document as it is after its scripts have run.
std::string drawn(const Report& report) {
  const std::string program = browser();
  const quench::test::TemporaryDir folder;
  folder.write("report.html", page_of(report));
  const std::string at = folder.path().string();
  const auto ended = quench::test::run_shell(
      "HOME=" + at + " timeout 200 " + program +
      " --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir=" + at +
      "/profile --window-size=1400,1000 --virtual-time-budget=10000 --dump-dom file://" + at +
      "/report.html > " + at + "/dom.html");
  INFO(ended.out);
  REQUIRE(ended.code == 0);
  return quench::test::read_file(folder / "dom.html");
}

// The piece of `dom` that holds one panel's drawing.
std::string panel_of(const std::string& dom, size_t figure, size_t panel) {
  const std::string mark =
      "data-figure=\"" + std::to_string(figure) + "\" data-panel=\"" + std::to_string(panel) + "\"";
  const size_t begin = dom.find(mark);
  REQUIRE(begin != std::string::npos);
  const size_t end = dom.find("data-panel=\"", begin + mark.size());
  return dom.substr(begin, std::min(end, dom.find("<figcaption", begin)) - begin);
}

// Of each trace that has markers, where these are: pixels from the left, from the top.
std::vector<std::vector<std::pair<double, double>>> points_of(const std::string& panel) {
  static const std::regex point(
      R"re(<path class="point[^"]*" transform="translate\(([-0-9.e]+),([-0-9.e]+)\))re");
  std::vector<std::vector<std::pair<double, double>>> out;
  size_t at = panel.find("<g class=\"trace scatter");
  while (at != std::string::npos) {
    const size_t next = panel.find("<g class=\"trace scatter", at + 1);
    const std::string piece = panel.substr(at, next - at);
    std::vector<std::pair<double, double>> points;
    for (std::sregex_iterator it(piece.begin(), piece.end(), point), end; it != end; ++it) {
      points.emplace_back(std::stod((*it)[1]), std::stod((*it)[2]));
    }
    if (!points.empty()) {
      out.push_back(std::move(points));
    }
    at = next;
  }
  return out;
}

// pixel = offset + scale · value, through the two points that are furthest apart.
struct Scale {
  double offset = 0;
  double scale = 0;
  double at(double value) const { return offset + scale * value; }
};

Scale scale_of(const std::vector<std::pair<double, double>>& value_and_pixel) {
  const auto [low, high] = std::minmax_element(value_and_pixel.begin(), value_and_pixel.end());
  Scale out;
  out.scale = (high->second - low->second) / (high->first - low->first);
  out.offset = low->second - out.scale * low->first;
  return out;
}

// The labels of one axis: value and position, in the drawing's own pixels.
std::vector<double> ticks_of(const std::string& panel, const std::string& axis) {
  const std::regex tick("class=\"" + axis + R"re("><text[^>]*data-unformatted="([0-9.]+)")re");
  std::vector<double> out;
  for (std::sregex_iterator it(panel.begin(), panel.end(), tick), end; it != end; ++it) {
    out.push_back(std::stod((*it)[1]));
  }
  return out;
}

bool has_markers(const Trace& trace) {
  return trace.kind == Trace::Kind::kLine || trace.kind == Trace::Kind::kInterval;
}

}  // namespace

TEST_CASE("page in a browser: every point stands where its record says", "[report][browser]") {
  quench::RunRecords run;
  run.records = quench::test::demo_records();
  const Report report = make_report(quench::test::demo_documents(), std::move(run));
  const std::string dom = drawn(report);
  CHECK(dom.find("<body data-ready=\"yes\">") != std::string::npos);
  for (const size_t figure : {0, 1}) {
    for (size_t p = 0; p < report.figures[figure].panels.size(); ++p) {
      const Panel& panel = report.figures[figure].panels[p];
      CAPTURE(report.figures[figure].name, panel.title);
      const std::string piece = panel_of(dom, figure, p);
      CHECK(piece.find(">" + panel.x_title + "<") != std::string::npos);
      CHECK(piece.find(">" + panel.y_title + "<") != std::string::npos);
      CHECK(piece.find(">learning rate<") != std::string::npos);
      CHECK(ticks_of(piece, "ytick").size() >= 3);
      const auto traces = points_of(piece);
      std::vector<const Trace*> expected;
      for (const Trace& trace : panel.traces) {
        if (has_markers(trace)) {
          expected.push_back(&trace);
        }
      }
      REQUIRE(traces.size() == expected.size());
      std::vector<std::pair<double, double>> xs, ys;
      for (size_t t = 0; t < traces.size(); ++t) {
        REQUIRE(traces[t].size() == expected[t]->x.size());
        for (size_t i = 0; i < traces[t].size(); ++i) {
          xs.emplace_back(expected[t]->x[i], traces[t][i].first);
          ys.emplace_back(expected[t]->y[i], traces[t][i].second);
        }
      }
      const Scale x = scale_of(xs);
      const Scale y = scale_of(ys);
      CHECK(x.scale > 0);
      CHECK(y.scale < 0);  // larger is higher
      for (size_t i = 0; i < xs.size(); ++i) {
        CHECK(std::abs(x.at(xs[i].first) - xs[i].second) < kPixel);
        CHECK(std::abs(y.at(ys[i].first) - ys[i].second) < kPixel);
      }
    }
  }
  // Bars: as many as there are values, each with a height.
  const std::string bars = panel_of(dom, 3, 0);
  const std::regex bar(R"re(<g class="point"><path d="M)re");
  CHECK(std::distance(std::sregex_iterator(bars.begin(), bars.end(), bar),
                      std::sregex_iterator()) == 8);
}

TEST_CASE("page in a browser: hostile names are shown as they are", "[report][browser]") {
  const Report report = quench::test::hostile_report();
  const std::string dom = drawn(report);
  CHECK(dom.find("<body data-ready=\"yes\">") != std::string::npos);
  CHECK(dom.find("<img") == std::string::npos);
  CHECK(dom.find("onerror=\"") == std::string::npos);
  CHECK(dom.find("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;") != std::string::npos);
}
