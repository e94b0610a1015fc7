#include "report/gnuplot.hpp"

#include <stdlib.h>

#include <catch2/catch.hpp>
#include <filesystem>

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
