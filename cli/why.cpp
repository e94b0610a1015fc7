// quench why M CELL: what a cell's value depends on, and why it is computed or reused.
#include <fmt/format.h>

#include "cli/answer.hpp"
#include "cli/manifest_options.hpp"
#include "cli/standard_streams.hpp"
#include "cli/table.hpp"
#include "core/base/json/or_null.hpp"
#include "core/store/difference.hpp"

namespace quench {

namespace {

struct WhyOptions {
  ManifestOptions manifest;
  std::string cell;
  bool parts = false;
};

// The cells whose name contains every word of `wanted`, or whose key begins with it.
std::vector<size_t> matching(const LoadedRun& run, const std::vector<Cell>& cells,
                             const std::string& wanted) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : wanted + " ") {
    if (c != ' ' && c != ',') {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::exchange(word, ""));
    }
  }
  std::vector<size_t> found;
  for (size_t i = 0; i < cells.size(); ++i) {
    const std::string name = cell_name(run.experiments[cells[i].job], cells[i]);
    if (name == wanted) {
      return {i};
    }
    const bool all_words = std::all_of(words.begin(), words.end(), [&](const std::string& part) {
      return name.find(part) != std::string::npos;
    });
    if (all_words || (wanted.size() >= 6 && cells[i].key.rfind(wanted, 0) == 0)) {
      found.push_back(i);
    }
  }
  return found;
}

void print_parts(const nlohmann::json& value, const std::string& path) {
  if (value.is_object() && !value.empty()) {
    for (const auto& [name, inner] : value.items()) {
      print_parts(inner, path.empty() ? name : fmt::format("{}.{}", path, name));
    }
  } else {
    fmt::print(results(), "  {} = {}\n", path, value.dump());
  }
}

bool has_record(const Cell& cell) {
  return cell.state == CellState::kDone || cell.state == CellState::kReused;
}

nlohmann::json explained(const LoadedRun& run, const Cell& cell, RunKnowledge& knowledge) {
  const Experiment& experiment = run.experiments[cell.job];
  const std::string name = cell_name(experiment, cell);
  std::string missing;
  const auto parts =
      evaluation_parts(knowledge.identities, parts_of(experiment, cell), false, missing);
  const nlohmann::json* near = knowledge.finished.nearest(name);
  nlohmann::json differences = nlohmann::json::array();
  if (parts && near != nullptr && !has_record(cell) && !is_of_earlier_version(*near)) {
    for (const Difference& one : explain_difference(*near, *parts)) {
      differences.push_back({{"path", one.path}, {"was", one.was}, {"is", one.is}});
    }
  }
  return {{"cell", name},
          {"job", experiment.job},
          {"state", to_text(cell.state)},
          {"reason", parts ? cell.reason : missing},
          {"key", or_null(cell.key)},
          {"parts", or_null(parts)},
          {"differences", differences}};
}

// A value of a difference; of a hash what tells it from others.
std::string shown_value(const nlohmann::json& value) {
  constexpr size_t kShown = 12;
  const std::string text = value.dump();
  const bool is_hash = text.size() >= 40 && text.find_first_not_of("0123456789abcdef", 1) ==
                                                text.size() - 1;  // between quotes
  return is_hash ? text.substr(0, kShown + 1) + "…\"" : text;
}

void explain(const LoadedRun& run, const Cell& cell, RunKnowledge& knowledge, bool with_parts) {
  const nlohmann::json about = explained(run, cell, knowledge);
  const auto name = about.at("cell").get<std::string>();
  const nlohmann::json* near = knowledge.finished.nearest(name);
  fmt::print(results(), "{}\n", name);
  if (about.at("parts").is_null()) {
    fmt::print(results(), "to do: {}; its key is known when it runs\n",
               about.at("reason").get<std::string>());
    return;
  }
  std::string reason = cell.reason;
  if (cell.state == CellState::kDone) {
    reason = run.folder.string() + " has a record of this key";
  } else if (cell.state == CellState::kReused) {
    const std::string cached = knowledge.finished.find(cell.key).front().cached;
    reason = "measured before" + (cached.empty() ? "" : " by " + cached);
  } else if (cell.state == CellState::kToDo && near == nullptr) {
    reason = "this cell has no record";
  }
  fmt::print(results(), "{}: {}\n", to_text(cell.state), reason);
  if (near != nullptr && !has_record(cell)) {
    if (is_of_earlier_version(*near)) {
      fmt::print(results(),
                 "the nearest record is an earlier version's, whose key had other parts\n");
    } else if (!about.at("differences").empty()) {
      fmt::print(results(), "the nearest record differs in\n");
    }
    for (const nlohmann::json& difference : about.at("differences")) {
      fmt::print(results(), "  {}: was {}, is {}\n", difference.at("path").get<std::string>(),
                 shown_value(difference.at("was")), shown_value(difference.at("is")));
    }
  }
  fmt::print(results(), "key {}{}\n", cell.key,
             with_parts ? " of" : "; --parts shows what it is made of");
  if (with_parts) {
    print_parts(about.at("parts"), "");
  }
}

int why(const WhyOptions& options, Context& context) {
  const LoadedRun run = load_run(options.manifest, context);
  RunKnowledge knowledge = knowledge_of(run, context);
  const std::vector<Cell> cells = knowledge.survey(run.experiments);
  const std::vector<size_t> found = matching(run, cells, options.cell);
  if (found.empty()) {
    throw UsageError(
        QUENCH_NOT_FOUND,
        fmt::format("no cell of {} is called \"{}\"; `quench plan {} --all` lists them",
                    run.manifest.name, printable(options.cell), options.manifest.manifest));
  }
  if (answers()) {
    nlohmann::json list = nlohmann::json::array();
    for (const size_t i : found) {
      list.push_back(explained(run, cells[i], knowledge));
    }
    answer({{"cells", list}});
    return kExitOk;
  }
  constexpr size_t kExplained = 4;
  const bool few = found.size() <= kExplained;
  if (found.size() > 1) {
    fmt::print(results(), "{} cells match \"{}\"{}:\n", found.size(), printable(options.cell),
               few ? "" : "; more words, or a whole name, explain one");
    for (const size_t i : found) {
      fmt::print(results(), "  {}\n", cell_name(run.experiments[cells[i].job], cells[i]));
    }
  }
  if (!few) {
    return kExitOk;
  }
  for (size_t i = 0; i < found.size(); ++i) {
    fmt::print(results(), "{}", found.size() == 1 ? "" : "\n");
    explain(run, cells[found[i]], knowledge, options.parts);
  }
  return kExitOk;
}

}  // namespace

void add_why(Verb& verb, Context& context) {
  verb.examples({"quench why m.yaml \"step600 gptq bits=3\""});
  auto options = std::make_shared<WhyOptions>();
  add_manifest_options(verb, context, options->manifest);
  verb.option("cell", options->cell,
              "Words of its name (see `quench plan --all`), or the first digits of its key")
      .required();
  verb.flag("--parts", options->parts, "Also print all that the key is made of");
  verb.does([&context, options] { return why(*options, context); });
}

}  // namespace quench
