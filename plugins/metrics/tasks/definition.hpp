// A task as its YAML file describes it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "metrics/tasks/expression.hpp"
#include "quench/kit/records.hpp"

namespace quench::tasks {

// Where the splits of a task lie.
struct DataPlace {
  std::vector<std::string> paths;  // folders below the user's data folder, the first that is there
  std::map<std::string, std::vector<std::string>> files;  // of a split, likewise
  std::string hub;                                        // repository of the hub, or empty
  std::string config;                                     // its folder there
};

struct Definition {
  std::string name;
  std::string group;  // or empty
  int64_t version = 0;
  DataPlace data;
  std::vector<std::string> splits;       // that questions come from: the first that is there
  std::vector<std::string> shot_splits;  // that shots come from, likewise
  bool first_shots = false;              // the first of their split, not drawn
  bool fixed_shots = false;              // the user's `shots_from` does not apply
  // One more is drawn than is used, also where shots come from another split.
  bool spare_shot = false;
  std::string description;  // that opens every prompt
  std::optional<Template> prompt;
  std::optional<Template> contexts;      // instead of a prompt: one context for each choice
  std::optional<Template> continuation;  // with contexts: what is scored after each
  std::vector<Template> choices;         // one that yields a list, or one for each choice
  std::optional<Template> answer;        // index of the choice, or its text
  bool acc_norm = false;
};

// A question with its prompt made, without shots.
struct Question {
  bool continues = false;  // contexts, which are the choices, stand in place of a prompt
  std::string prompt;
  std::vector<std::string> choices;  // or contexts
  std::string continuation;          // with contexts
  size_t answer = 0;

  bool operator==(const Question&) const = default;
};

// All tasks of one file: one, or with `each` one for every value. INVALID_ARGUMENT names the file
// and the key.
std::vector<Definition> definitions_of(const kit::Json& json, const std::string& name);

// The question that a record asks.
Question question_of(const Definition& task, const Value& record);
// The question with its right answer, as it stands among the shots.
std::string shot_of(const Question& question);

}  // namespace quench::tasks
