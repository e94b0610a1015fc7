#include "tests/run/manifest/wrong_manifests.hpp"

#include <regex>
#include <sstream>

#include "tests/support/fixtures.hpp"

namespace quench::test {

namespace {

const std::string kRest =
    "metrics: [template_metric: {corpus: v}]\ncorpora: {v: {template_corpus: {}}}\n";

std::string repeated(const std::string& text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) {
    out += text;
  }
  return out;
}

std::string counted(int count, int from) {
  std::string out = std::to_string(from);
  for (int i = 1; i < count; ++i) {
    out += ", " + std::to_string(from + i);
  }
  return out;
}

// One line of the table's manifests with what it stands for.
std::string expanded(const std::string& line) {
  static const std::regex kRepeat(R"(\{repeat (\d+) ([^}]*)\})");
  static const std::regex kCount(R"(\{count (\d+)(?: (\d+))?\})");
  if (line == "{sound}") {
    return "checkpoints: {model: run}\n" + kRest;
  }
  if (line == "{trajectory}") {
    return "checkpoints: {model: run, revisions: \"step{step}\"}\n" + kRest;
  }
  std::smatch found;
  if (std::regex_search(line, found, kRepeat)) {
    return found.prefix().str() + repeated(found[2], std::stoi(found[1])) +
           expanded(found.suffix().str());
  }
  if (std::regex_search(line, found, kCount)) {
    const int from = found[2].matched ? std::stoi(found[2]) : 0;
    return found.prefix().str() + counted(std::stoi(found[1]), from) +
           expanded(found.suffix().str());
  }
  return line + "\n";
}

}  // namespace

std::vector<WrongManifest> wrong_manifests() {
  std::vector<WrongManifest> table;
  std::istringstream lines(read_file(source_dir() / "tests/run/manifest/wrong_manifests.txt"));
  const std::string schema = " [schema]";
  const std::string set = "$ --set ";
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("## ")) {
      table.push_back({line.substr(3), line.ends_with(schema), {}, "", ""});
    } else if (line.starts_with("=> ")) {
      WrongManifest& last = table.back();
      last.message += (last.message.empty() ? "" : "\n") + line.substr(3);
    } else if (line.starts_with(set)) {
      table.back().sets.push_back(line.substr(set.size()));
    } else if (!line.empty()) {
      table.back().text += expanded(line);
    }
  }
  return table;
}

void add_models_of_table(const ManifestFolder& here) {
  here.add_revisions("run", {"step1", "step2", "step3"});
  std::vector<std::string> names;
  for (int step = 1; step <= 1000; ++step) {
    names.push_back("step" + std::to_string(step));
  }
  here.add_revisions("many", names);
}

}  // namespace quench::test
