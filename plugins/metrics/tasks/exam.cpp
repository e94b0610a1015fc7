#include "metrics/tasks/exam.hpp"

#include <algorithm>

#include "metrics/tasks/python_random.hpp"
#include "metrics/tasks/python_text.hpp"

namespace quench::tasks {

namespace {

// The shots that stand before a question.
class Shots {
 public:
  Shots(const Exam& exam, const ExamSettings& settings)
      : exam_(exam),
        pool_(exam.shot_split.files.empty() ? exam.records : exam.shot_records),
        shots_(settings.shots),
        random_(settings.seed) {
    const bool same = exam.shot_split.files.empty();
    drawn_ = shots_ + (same || exam.task.spare_shot ? 1 : 0);
    if (shots_ > 0 && pool_.size() < drawn_) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "task %s: %llu shots asked, split %s has %zu records",
                exam.task.name.c_str(), static_cast<unsigned long long>(shots_),
                exam.shot_split.name.c_str(), pool_.size());
    }
  }

  // In the order of the questions: one source of random numbers serves all of them.
  std::string before(const Value& record) {
    if (shots_ == 0) {
      return "";
    }
    std::vector<size_t> chosen;
    if (exam_.task.first_shots) {
      for (size_t i = 0; i < drawn_; ++i) {
        chosen.push_back(i);
      }
    } else {
      chosen = random_.sample(pool_.size(), drawn_);
    }
    std::string out;
    uint64_t used = 0;
    for (const size_t at : chosen) {
      if (used < shots_ && !(pool_[at] == record)) {  // a question is no shot of its own
        out += shot_of(question_of(exam_.task, pool_[at]));
        ++used;
      }
    }
    return out;
  }

 private:
  const Exam& exam_;
  const std::vector<Value>& pool_;
  uint64_t shots_;
  uint64_t drawn_ = 0;
  PythonRandom random_;
};

std::vector<Request> requests_of(const Question& question, const std::string& before) {
  std::vector<Request> out;
  for (const std::string& choice : question.choices) {
    Request request;
    if (question.prompt.empty()) {
      request = {before + choice, " " + question.continuation};
    } else {
      request = {before + question.prompt, " " + choice};
    }
    out.push_back(std::move(request));
  }
  return out;
}

// lm-eval moves white space from the end of the context to the continuation.
std::pair<std::string, std::string> moved(const Request& request) {
  const std::string context = strip_right(request.context);
  return {context, request.context.substr(context.size()) + request.continuation};
}

size_t best_of(const std::vector<double>& scores) {
  return static_cast<size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

}  // namespace

void make_items(Exam& exam, const ExamSettings& settings) {
  const size_t count = settings.limit > 0 ? std::min<size_t>(settings.limit, exam.records.size())
                                          : exam.records.size();
  Shots shots(exam, settings);
  for (size_t i = 0; i < count; ++i) {
    try {
      Question question = question_of(exam.task, exam.records[i]);
      Item item;
      item.requests = requests_of(question, exam.task.description + shots.before(exam.records[i]));
      item.choices = std::move(question.choices);
      item.answer = question.answer;
      exam.items.push_back(std::move(item));
    } catch (const kit::Error& error) {
      kit::fail(error.code(), "task %s, split %s, record %zu: %s", exam.task.name.c_str(),
                exam.split.name.c_str(), i, error.what());
    }
  }
}

std::vector<ScoredText> encode(Exam& exam, const ExamSettings& settings,
                               const kit::Evaluation& evaluation) {
  std::vector<ScoredText> out;
  std::string last_context;
  std::vector<int32_t> start;
  for (size_t i = 0; i < exam.items.size(); ++i) {
    kit::check_cancelled();
    for (const Request& request : exam.items[i].requests) {
      const auto [context, continuation] = moved(request);
      if (context != last_context || start.empty()) {
        const auto ids = evaluation.encode(context, true);
        start.assign(ids.begin(), ids.end());
        last_context = context;
      }
      const auto whole = evaluation.encode(context + continuation, true);
      const size_t scored = whole.size() - std::min(whole.size(), start.size());
      if (start.empty() || scored == 0 || scored > settings.max_length) {
        kit::fail(QUENCH_INVALID_ARGUMENT,
                  "task %s, question %zu: %zu ids of context and %zu to be scored, the model sees "
                  "%llu",
                  exam.task.name.c_str(), i, start.size(), scored,
                  static_cast<unsigned long long>(settings.max_length));
      }
      ScoredText text{start, start.size()};
      text.ids.insert(text.ids.end(), whole.begin() + static_cast<ptrdiff_t>(start.size()),
                      whole.end());
      // The last id is predicted, not seen.
      if (text.ids.size() > settings.max_length + 1) {
        const size_t cut = text.ids.size() - settings.max_length - 1;
        text.ids.erase(text.ids.begin(), text.ids.begin() + static_cast<ptrdiff_t>(cut));
        text.scored_from -= cut;
        ++exam.truncated;
      }
      out.push_back(std::move(text));
    }
  }
  return out;
}

void mark(Exam& exam, const std::vector<double>& log_likelihoods) {
  size_t at = 0;
  for (Item& item : exam.items) {
    std::vector<double> plain;
    std::vector<double> per_character;
    for (size_t c = 0; c < item.requests.size(); ++c) {
      const double value = log_likelihoods[at++];
      item.requests[c].log_likelihood = value;
      plain.push_back(value);
      per_character.push_back(value /
                              static_cast<double>(std::max<size_t>(1, length_of(item.choices[c]))));
    }
    item.acc = best_of(plain) == item.answer ? 1 : 0;
    item.acc_norm = best_of(per_character) == item.answer ? 1 : 0;
  }
}

}  // namespace quench::tasks
