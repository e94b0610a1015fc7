// quench report RUN: the page, the figures and the numbers of a run, by Python
// (python/quench/report).
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/answer.hpp"
#include "cli/command.hpp"
#include "cli/report_in_python.hpp"
#include "cli/run_folder.hpp"
#include "core/base/json/parse_json.hpp"

namespace quench {

namespace {

struct ReportOptions {
  std::string run;
  std::string format = "html";
  std::string out;
  std::string figure;
  bool watch = false;
};

int report(const ReportOptions& options, const Context& context) {
  if (!options.figure.empty() && (options.format == "html" || answers())) {
    throw UsageError(QUENCH_INVALID_ARGUMENT,
                     fmt::format("--figure {}: {} holds all figures; wanted --format pdf, svg, "
                                 "png or csv with it",
                                 printable(options.figure), answers() ? "--json" : "the page"));
  }
  if (options.watch && (options.format != "html" || answers())) {
    throw UsageError(QUENCH_INVALID_ARGUMENT,
                     fmt::format("--watch: got {}, wanted the page alone",
                                 answers() ? "--json" : "--format " + options.format));
  }
  const std::filesystem::path folder = run_folder(options.run);
  if (answers()) {
    const PythonVerb verb = report_verb(folder, {"--json"}, /*draws=*/false, context);
    answer(parse_json(python_output(verb, context), "report"));
    return kExitOk;
  }
  std::vector<std::string> words = {"--format=" + options.format};
  if (!options.out.empty()) {
    words.push_back("--out=" + options.out);
  }
  if (!options.figure.empty()) {
    words.push_back("--figure=" + options.figure);
  }
  if (options.watch) {
    words.emplace_back("--watch");
  }
  return run_python(report_verb(folder, std::move(words), options.format != "csv", context),
                    context);
}

}  // namespace

void add_report(Verb& verb, Context& context) {
  verb.examples({"quench report runs/m", "quench report runs/m --format pdf -o figures"});
  auto options = std::make_shared<ReportOptions>();
  verb.option("run", options->run, "Folder of the run, or its name below runs/").required();
  verb.option("--format", options->format,
              "html: one page; pdf, svg, png: one file per figure, with its data; csv: the data")
      .one_of({"html", "pdf", "svg", "png", "csv"});
  verb.option("-o,--out", options->out,
              "Folder to write to (default: RUN for html, else RUN/figures)")
      .placeholder("DIR");
  verb.option("--figure", options->figure, "Only this figure").placeholder("NAME");
  verb.flag("--watch", options->watch,
            "Write the page again as records arrive, until Ctrl-C; browsers load it anew");
  verb.json("Print contrasts, cells and failures as JSON instead");
  verb.does([&context, options] { return report(*options, context); });
}

}  // namespace quench
