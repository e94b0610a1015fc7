// What a metric measured on: its parameters and the contents that it read, beside the names that a
// manifest has for them. Values of different texts are never paired or averaged.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace quench {

// `parts` and `details` of a record: what the key has of parameters, corpora and other data,
// without names; of a record whose parts do not say so, what the details have. Null if neither
// does.
nlohmann::json metric_text(const nlohmann::json& parts, const nlohmann::json& details);

// Tells the texts of one group (of values that stand side by side) apart in words.
class TextNames {
 public:
  // `details` name the corpora; only the first value of an evaluation has them.
  void add(const std::string& group, const nlohmann::json& text, const nlohmann::json& details);

  // The parameters in which the texts of a group differ, in order; of all groups without a name.
  std::vector<std::string> differing(const std::string& group) const;
  std::vector<std::string> differing() const;
  // What stands for the parameter in this text: "128", or the name of a corpus, and the beginning
  // of its hash where several contents of the group have that name. "" if the text has none.
  std::string value(const std::string& group, const nlohmann::json& text,
                    const std::string& parameter) const;
  // "block 128, text 1a2b3c4d", or "" where the group has one text.
  std::string words(const std::string& group, const nlohmann::json& text) const;

 private:
  std::string name_of(const std::string& parameter, const nlohmann::json& content) const;

  using Contents = std::map<std::string, std::vector<nlohmann::json>>;  // by parameter
  std::map<std::string, Contents> groups_;
  std::map<std::pair<std::string, nlohmann::json>, std::string> names_;  // of a corpus
};

// The texts that the manifest of a run measures on now, as its run.json lists them.
class CurrentTexts {
 public:
  // Adds to such a list.
  static void add(uint64_t job, const std::string& metric, const nlohmann::json& text,
                  nlohmann::json& texts);

  // Only of a list; for other values nothing is known.
  explicit CurrentTexts(const nlohmann::json& texts);

  // Whether the metric of a record (or the metric that a further value belongs to) has texts in
  // this job, and `text` is none of them.
  bool is_other(uint64_t job, const std::string& metric, const nlohmann::json& text) const;
  // How another text differs from the nearest one: "another corpus `text` (1a2b3c4d, now
  // 5e6f7a8b)", "another block (64, now 128)".
  std::string difference(uint64_t job, const std::string& metric, const nlohmann::json& text,
                         const nlohmann::json& details) const;

 private:
  const std::vector<nlohmann::json>* texts_of(uint64_t job, const std::string& metric) const;

  std::map<std::pair<uint64_t, std::string>, std::vector<nlohmann::json>> texts_;
};

}  // namespace quench
