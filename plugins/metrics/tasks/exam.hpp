// One task with its data: prompts, requests, scores.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "metrics/tasks/data_files.hpp"
#include "metrics/tasks/definition.hpp"
#include "metrics/tasks/prefix_tree.hpp"

namespace quench::tasks {

struct Request {
  std::string context;
  std::string continuation;
  double log_likelihood = 0;
};

// A question as the model got it, and its result.
struct Item {
  size_t number = 0;  // of the question in its split
  std::vector<Request> requests;
  std::vector<std::string> choices;
  size_t answer = 0;
  double acc = 0;
  double acc_norm = 0;
};

// A question that cannot be scored.
struct LeftOut {
  size_t number = 0;
  std::string why;
};

struct ExamSettings {
  uint64_t shots = 0;
  uint64_t limit = 0;       // number of questions; 0: all
  uint64_t max_length = 0;  // ids that the model sees at once
  uint32_t seed = 1234;
  // The id that stands before a prompt of which no id is left; nothing: such a question is left
  // out.
  std::optional<int32_t> prefix = {};
};

// The records of a split, from one or more files.
class Records {
 public:
  void add(const std::string& file, Value record);
  size_t size() const { return values_.size(); }
  const Value& operator[](size_t at) const { return values_[at]; }
  // "FILE, record 3", counted from 0 in its file.
  std::string place(size_t at) const;

 private:
  struct Part {
    std::string file;
    size_t first;
  };
  std::vector<Value> values_;
  std::vector<Part> parts_;
};

struct Exam {
  Definition task;
  Split split;
  Split shot_split;  // has no files if no shots are needed or `split` has them
  Records records;
  Records shot_records;

  // The results.
  std::vector<Item> items;
  std::vector<LeftOut> left_out;  // in order; not among the items
  uint64_t truncated = 0;         // requests longer than the model's context
  uint64_t encoded_alone = 0;     // requests whose continuation was encoded alone
  std::string fault;              // why there are none; items are empty then
};

// Makes the prompts of the first questions, with shots drawn the way lm-eval draws them. Throws
// INVALID_ARGUMENT that names the file and the record if a record does not fit the task.
void make_items(Exam& exam, const ExamSettings& settings);

// The ids of all requests, item by item. Keeps the end of a text that is longer than the model's
// context, and counts such texts. Where a token spans context and continuation, so that no id of
// the latter is left, it is encoded alone, and counted. Moves a question that cannot be scored from
// the items to `left_out`; throws INVALID_ARGUMENT that names task and question where none is left.
std::vector<ScoredText> encode(Exam& exam, const ExamSettings& settings,
                               const kit::Evaluation& evaluation);

// A message of the host, which may be long, without the character that its end has cut.
std::string without_torn_end(std::string text);

// Stores the log-likelihoods of encode()'s texts and marks the answers that are right.
void mark(Exam& exam, const std::vector<double>& log_likelihoods);

}  // namespace quench::tasks
