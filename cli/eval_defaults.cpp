#include "cli/eval_defaults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/answer.hpp"
#include "cli/terminal_text.hpp"
#include "core/base/io/file.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/plugin/services/host_services.hpp"
#include "run/grid/estimate.hpp"
#include "run/manifest/described_model.hpp"

namespace quench {

namespace {

constexpr uint64_t kMostBytes = 1 << 16;
constexpr const char* kFile = "eval.json";

std::filesystem::path defaults_folder(const Context& context) {
  return context.python.package.parent_path() / "configs";
}

void replace_all(std::string& text, const std::string& word, const std::string& by) {
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + by.size())) {
    text.replace(at, word.size(), by);
  }
}

}  // namespace

std::vector<std::string> default_quantizers(Context& context) {
  const std::filesystem::path file = defaults_folder(context) / kFile;
  std::vector<std::string> out;
  if (std::error_code error; !std::filesystem::exists(file, error)) {
    return out;
  }
  const nlohmann::json given = parse_json(read_file(file, kMostBytes), file.string());
  const std::vector<const PluginDescription*> there = context.catalog().of_kind("quantizer");
  for (const nlohmann::json& spec : given.at("quantizers")) {
    const auto text = spec.get<std::string>();
    const std::string id = text.substr(0, text.find(':'));
    const bool is_there = std::any_of(there.begin(), there.end(),
                                      [&](const PluginDescription* one) { return one->id == id; });
    if (is_there && std::find(out.begin(), out.end(), id) == out.end()) {
      out.push_back(id);
    }
  }
  return out;
}

EvalDefaults eval_defaults(const std::vector<Experiment>& experiments, Context& context,
                           int64_t longest) {
  const std::filesystem::path folder = defaults_folder(context);
  const std::filesystem::path file = folder / kFile;
  if (std::error_code error; !std::filesystem::exists(file, error)) {
    fail(QUENCH_FAILED_PRECONDITION,
         "{}: is not there, so what to measure by default is not known; name a --metric",
         printable(file.string(), 400));
  }
  int64_t length = longest;
  for (const Experiment& one : experiments) {
    const DescribedModels described = describe_models(context.catalog(), one, context.hub());
    if (!described.models.empty() && described.models.front().model.info().max_positions > 0) {
      length = std::min<int64_t>(length, described.models.front().model.info().max_positions);
    }
  }
  std::string text = read_file(file, kMostBytes);
  replace_all(text, "{length}", std::to_string(length));
  const nlohmann::json given = parse_json(text, file.string());
  const auto in_folder = [&](std::string spec) {
    replace_all(spec, "{folder}", folder.string());
    return spec;
  };
  EvalDefaults out;
  out.about = given.at("about").get<std::string>();
  for (const nlohmann::json& metric : given.at("metrics")) {
    out.metrics.push_back(in_folder(metric.get<std::string>()));
  }
  out.quantizers = given.at("quantizers").get<std::vector<std::string>>();
  out.calibration = in_folder(given.at("calibration").get<std::string>());
  return out;
}

void tell_defaults(const EvalDefaults& defaults) {
  const std::string line =
      fmt::format("text: {}; --metric and --calibration name others", defaults.about);
  if (answers()) {
    answer_warning(line);
  } else {
    print_line("{}", line);
  }
}

EvalTime eval_time(const Experiment& experiment, Context& context) {
  const Fingerprints fingerprints(context.home());
  Identities identities(context.catalog(), fingerprints, context.hub());
  MetricMemory sizes;
  sizes.peaks.resize(experiment.metrics.size());
  const DescribedModels described = describe_models(context.catalog(), experiment, context.hub());
  if (!described.models.empty()) {
    sizes.parameters = parameter_count(described.models.front().model);
  }
  const std::vector<Experiment> all = {experiment};
  const Cost cost = estimate(all, cells_of(all), identities, Rates(context.home()),
                             HostServices::instance().threads(), {sizes}, {})
                        .total;
  return {cost.seconds, to_text(cost.basis)};
}

}  // namespace quench
