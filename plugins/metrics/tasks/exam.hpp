// One task with its data: prompts, requests, scores.
#pragma once

#include <cstdint>
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

// A question as it was put, with what came of it.
struct Item {
  std::vector<Request> requests;
  std::vector<std::string> choices;
  size_t answer = 0;
  double acc = 0;
  double acc_norm = 0;
};

struct ExamSettings {
  uint64_t shots = 0;
  uint64_t limit = 0;       // questions, 0: all
  uint64_t max_length = 0;  // ids that the model sees at once
  uint32_t seed = 1234;
};

// The records of a split, which may lie in several files.
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
  Split shot_split;  // without files where no shots are asked for, or `split` has them
  Records records;
  Records shot_records;

  // What came of it.
  std::vector<Item> items;
  uint64_t truncated = 0;  // requests that were longer than the model sees
};

// Makes the prompts of the first questions, with shots drawn as lm-eval draws them.
// INVALID_ARGUMENT names the file and the record that does not fit the task.
void make_items(Exam& exam, const ExamSettings& settings);

// The ids of all requests, item by item. Of a text that is longer than the model sees, the end
// stays; those are counted.
std::vector<ScoredText> encode(Exam& exam, const ExamSettings& settings,
                               const kit::Evaluation& evaluation);

// Puts the log-likelihoods of encode()'s texts in their places, and says which answers are right.
void mark(Exam& exam, const std::vector<double>& log_likelihoods);

}  // namespace quench::tasks
