#include "cli/cluster_status.hpp"

#include "cli/python_verb.hpp"
#include "cli/run_folder.hpp"
#include "core/base/json/canonical_json.hpp"
#include "core/base/json/parse_json.hpp"

namespace quench {

namespace {

constexpr std::chrono::seconds kBetweenQuestions{15};

}  // namespace

nlohmann::json cluster_answer(const std::string& question, const nlohmann::json& request,
                              const Context& context) {
  PythonVerb verb{"cluster", {question}};
  verb.keeps_environment = true;
  MemoryFile input;
  input.write(canonical_json(request));
  return parse_json(python_output(verb, context, &input), question);
}

ClusterStatus ClusterWatcher::ask() const {
  ClusterStatus out;
  std::error_code unreadable;
  if (!std::filesystem::exists(run_ / kSubmissions, unreadable)) {
    return out;
  }
  try {
    const nlohmann::json said = cluster_answer("watch", {{"folder", run_.string()}}, context_);
    out.text = said.at("text");
    out.jobs = said.at("jobs");
    out.active = said.at("active");
  } catch (const Error& error) {
    if (error.code() == QUENCH_CANCELLED) {
      throw;
    }
    out.text = fmt::format("cluster: {}\n", error.what());
  }
  return out;
}

const ClusterStatus& ClusterWatcher::look() {
  const auto now = std::chrono::steady_clock::now();
  if (!last_ || now - asked_ >= kBetweenQuestions) {
    last_ = ask();
    asked_ = now;
  }
  return *last_;
}

}  // namespace quench
