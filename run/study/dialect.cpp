#include "run/study/dialect.hpp"

#include "core/config/yaml.hpp"

namespace quench {

namespace {

std::vector<std::string> names_in(const YamlNode& root, const char* section) {
  std::vector<std::string> out;
  for (const YamlNode& item : root.find(section)->items) {
    out.push_back(item.scalar);
  }
  return out;
}

std::map<std::string, std::string> texts_in(const YamlNode& root, const char* section) {
  std::map<std::string, std::string> out;
  for (const YamlNode::Member& member : root.find(section)->members) {
    out[member.key] = member.value.scalar;
  }
  return out;
}

StudyDialect read_dialect() {
  const YamlNode root = parse_yaml(kStudyDialectText, "run/study/dialect.yaml");
  StudyDialect out;
  out.sweep = names_in(root, "sweep");
  out.landscape = names_in(root, "landscape_files");
  for (const YamlNode::Member& member : root.find("used")->members) {
    for (const YamlNode& word : member.value.items) {
      out.used[member.key].insert(word.scalar);
    }
  }
  out.without_counterpart = texts_in(root, "without_counterpart");
  for (const auto& [tokenizer, id] : texts_in(root, "pads")) {
    out.pads[tokenizer] = std::stoll(id);
  }
  out.pieces = texts_in(root, "pieces");
  return out;
}

}  // namespace

bool StudyDialect::is(const std::string& key, const std::string& word) const {
  const auto found = used.find(key);
  return found != used.end() && found->second.contains(word);
}

std::string StudyDialect::piece(const std::string& name,
                                const std::map<std::string, std::string>& values) const {
  std::string out = pieces.at(name);
  for (const auto& [key, value] : values) {
    const std::string mark = "@" + key + "@";
    for (size_t at = out.find(mark); at != std::string::npos;
         at = out.find(mark, at + value.size())) {
      out.replace(at, mark.size(), value);
    }
  }
  return out;
}

const StudyDialect& study_dialect() {
  static const StudyDialect kDialect = read_dialect();
  return kDialect;
}

}  // namespace quench
