// A task as its YAML file defines it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "metrics/tasks/expression.hpp"
#include "quench/kit/records.hpp"

namespace quench::tasks {

// The locations of a task's splits.
struct DataPlace {
  std::vector<std::string> paths;  // folders below the user's data folder; the first that exists
  std::map<std::string, std::vector<std::string>> files;  // per split; the first that exists
  std::string hub;                                        // repository on the hub, or empty
  std::string config;                                     // folder in that repository
};

struct Definition {
  std::string name;
  std::string group;  // empty if there is none
  int64_t version = 0;
  DataPlace data;
  std::vector<std::string> splits;       // where questions come from: the first that exists
  std::vector<std::string> shot_splits;  // where shots come from, likewise
  bool first_shots = false;              // take the first records of the split, without a draw
  bool fixed_shots = false;              // the user's `shots_from` does not apply
  // Draws one shot more than it uses, even if shots come from another split.
  bool spare_shot = false;
  std::string description;  // opens every prompt
  std::optional<Template> prompt;
  std::optional<Template> contexts;      // in place of a prompt: one context per choice
  std::optional<Template> continuation;  // scored after each of the contexts
  std::vector<Template> choices;         // one that yields a list, or one per choice
  std::optional<Template> answer;        // index of the choice, or its text
  bool acc_norm = false;
};

// A question with its prompt, without shots.
struct Question {
  bool continues = false;  // the choices are contexts, and there is no prompt
  std::string prompt;
  std::vector<std::string> choices;  // or contexts
  std::string continuation;          // with contexts
  size_t answer = 0;

  bool operator==(const Question&) const = default;
};

// All tasks of one file: one task or, with `each`, one per value. Throws INVALID_ARGUMENT that
// names the file and the key.
std::vector<Definition> definitions_of(const kit::Json& json, const std::string& name);

// The question of a record.
Question question_of(const Definition& task, const Value& record);
// The question with its right answer, as it appears among the shots.
std::string shot_of(const Question& question);

}  // namespace quench::tasks
