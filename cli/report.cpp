// quench report RUN.
#include <fmt/format.h>

#include <algorithm>

#include "cli/answer.hpp"
#include "cli/command.hpp"
#include "cli/run_folder.hpp"
#include "core/io/atomic_file.hpp"
#include "report/csv.hpp"
#include "report/gnuplot.hpp"
#include "report/page.hpp"
#include "report/report.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

struct ReportOptions {
  std::string run;
  std::string format = "html";
  std::string out;
  std::string figure;
  bool json = false;
};

std::vector<const Figure*> chosen_figures(const Report& report, const std::string& name) {
  std::vector<const Figure*> out;
  std::vector<std::string> names;
  for (const Figure& figure : report.figures) {
    names.push_back(figure.name);
    if (name.empty() || figure.name == name) {
      out.push_back(&figure);
    }
  }
  if (out.empty()) {
    const std::string near = nearest(name, names);
    throw UsageError(QUENCH_NOT_FOUND,
                     fmt::format("--figure {}: there {}; {}", printable(name),
                                 names.empty() ? "is no figure" : "is none of that name",
                                 near.empty() ? fmt::format("there are {}", fmt::join(names, ", "))
                                              : fmt::format("did you mean {}?", near)));
  }
  return out;
}

fs::path write_csv(const Report& report, const Figure& figure, const fs::path& folder) {
  const fs::path file = folder / (figure.name + ".csv");
  write_file_atomically(
      file, figure.kind == FigureKind::kTable ? table_csv(report.cells) : figure_csv(figure));
  return file;
}

void write_figures(const Report& report, const ReportOptions& options, const fs::path& folder) {
  const std::vector<const Figure*> figures = chosen_figures(report, options.figure);
  fs::create_directories(folder);
  for (const Figure* figure : figures) {
    if (options.format == "csv") {
      fmt::print("{}\n", write_csv(report, *figure, folder).string());
    } else if (figure->panels.empty()) {
      if (figures.size() == 1) {
        fail(QUENCH_FAILED_PRECONDITION, "figure {}: {}", figure->name,
             figure->kind == FigureKind::kTable ? "a table cannot be drawn; --format csv writes it"
                                                : "there is nothing to draw");
      }
    } else {
      const PlotFormat format = options.format == "pdf"   ? PlotFormat::kPdf
                                : options.format == "svg" ? PlotFormat::kSvg
                                                          : PlotFormat::kPng;
      fmt::print("{}\n", plot_figure(*figure, folder, format).string());
    }
  }
}

int report(const ReportOptions& options) {
  if (!options.figure.empty() && (options.format == "html" || options.json)) {
    throw UsageError(QUENCH_INVALID_ARGUMENT,
                     fmt::format("--figure {}: {} holds all figures; wanted --format pdf, svg, "
                                 "png or csv with it",
                                 printable(options.figure), options.json ? "--json" : "the page"));
  }
  const fs::path folder = run_folder(options.run);
  const Report made = read_report_of(folder);
  if (options.json) {
    answer(to_json(made));
    return kExitOk;
  }
  if (options.format == "html") {
    const fs::path out = options.out.empty() ? folder : fs::path(options.out);
    fs::create_directories(out);
    write_file_atomically(out / "report.html", page_of(made));
    fmt::print("{}\n", (out / "report.html").string());
    return kExitOk;
  }
  write_figures(made, options, options.out.empty() ? folder / "figures" : fs::path(options.out));
  return kExitOk;
}

}  // namespace

void add_report(Verb& verb, Context& /*context*/) {
  verb.examples({"quench report runs/m", "quench report runs/m --format pdf -o figures"});
  auto options = std::make_shared<ReportOptions>();
  verb.option("run", options->run, "Folder of the run, or its name below runs/").required();
  verb.option("--format", options->format,
              "html: one page; pdf, svg, png: one file per figure (gnuplot), with script and "
              "data; csv: the data")
      .one_of({"html", "pdf", "svg", "png", "csv"});
  verb.option("-o,--out", options->out,
              "Folder to write to (default: RUN for html, else RUN/figures)")
      .placeholder("DIR");
  verb.option("--figure", options->figure, "Only this figure").placeholder("NAME");
  verb.flag("--json", options->json, "Print contrasts, cells and failures as JSON instead");
  verb.does([options] { return report(*options); });
}

}  // namespace quench
