#include "cli/report_in_python.hpp"

#include <fmt/format.h>

#include "core/base/json/parse_json.hpp"
#include "core/plugin/services/host_services.hpp"

namespace quench {

namespace fs = std::filesystem;

PythonVerb report_verb(const fs::path& run, std::vector<std::string> options, bool draws,
                       const Context& context) {
  // plotly.js lies beside the package, which in a build is a link to the sources
  options.push_back("--plotly=" +
                    (context.python.package.parent_path() / "plotly.min.js.gz").string());
  options.insert(options.end(), {"--", run.string()});
  PythonVerb verb{"report", std::move(options), {"numpy", "scipy"}};
  if (draws) {
    verb.packages.emplace_back("matplotlib");
  }
  return verb;
}

std::string written_report(const fs::path& run, const Context& context) {
  return python_output(report_verb(run, {"--conclude"}, true, context), context);
}

AskReport report_in_python(const Context& context) {
  return [&context](const nlohmann::json& question) -> nlohmann::json {
    try {
      MemoryFile input;
      input.write(question.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
      return parse_json(python_output({"report.check"}, context, &input), "report.check");
    } catch (const Error& error) {
      if (error.code() == QUENCH_CANCELLED) {
        throw;
      }
      HostServices::instance().log(
          QUENCH_LOG_WARNING, "",
          fmt::format("the section `report` of the manifest is not checked: {}", error.what()));
      return nullptr;
    }
  };
}

}  // namespace quench
