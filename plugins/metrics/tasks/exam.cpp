#include "metrics/tasks/exam.hpp"

#include <algorithm>
#include <iterator>
#include <span>

#include "metrics/tasks/python_random.hpp"
#include "metrics/tasks/python_text.hpp"

namespace quench::tasks {

namespace {

Question question_at(const Definition& task, const Records& records, size_t at) {
  try {
    return question_of(task, records[at]);
  } catch (const kit::Error& error) {
    kit::fail(error.code(), "task %s: %s: %s", task.name.c_str(), records.place(at).c_str(),
              error.what());
  }
}

// The shots that precede a question.
class Shots {
 public:
  Shots(const Exam& exam, const ExamSettings& settings)
      : exam_(exam),
        pool_(exam.shot_split.files.empty() ? exam.records : exam.shot_records),
        shots_(settings.shots),
        random_(settings.seed) {
    spare_ = exam.shot_split.files.empty() || exam.task.spare_shot;
    if (shots_ > 0 && pool_.size() < shots_ + (spare_ ? 1 : 0)) {
      too_few(pool_.size(), shots_ + (spare_ ? 1 : 0), "");
    }
  }

  // Call it in the order of the questions: they all share one random generator.
  std::string before(const Value& record) {
    if (shots_ == 0) {
      return "";
    }
    std::vector<size_t> chosen = exam_.task.first_shots
                                     ? others(record)
                                     : random_.sample(pool_.size(), shots_ + (spare_ ? 1 : 0));
    if (spare_) {  // a question is not a shot of its own
      std::erase_if(chosen, [&](size_t at) { return pool_[at] == record; });
    }
    if (chosen.size() < shots_) {  // the record occurs more than once: draw from all others
      const std::vector<size_t> pool = others(record);
      if (pool.size() < shots_) {
        too_few(pool.size(), shots_, " other than the question");
      }
      chosen.clear();
      for (const size_t at : random_.sample(pool.size(), shots_)) {
        chosen.push_back(pool[at]);
      }
    }
    chosen.resize(shots_);
    std::string out;
    for (const size_t at : chosen) {
      out += shot_of(question_at(exam_.task, pool_, at));
    }
    return out;
  }

 private:
  // The records other than the question, or all of them if the question cannot be among them.
  std::vector<size_t> others(const Value& record) const {
    std::vector<size_t> out;
    const size_t enough = exam_.task.first_shots ? shots_ : pool_.size();
    for (size_t at = 0; at < pool_.size() && out.size() < enough; ++at) {
      if (!spare_ || !(pool_[at] == record)) {
        out.push_back(at);
      }
    }
    return out;
  }

  [[noreturn]] void too_few(size_t got, uint64_t wanted, const char* kind) const {
    kit::fail(QUENCH_INVALID_ARGUMENT,
              "task %s: %llu shots: got %zu records%s in split %s, wanted %llu",
              exam_.task.name.c_str(), static_cast<unsigned long long>(shots_), got, kind,
              exam_.shot_split.name.c_str(), static_cast<unsigned long long>(wanted));
  }

  const Exam& exam_;
  const Records& pool_;
  uint64_t shots_;
  bool spare_ = false;  // draw one more, because the question may be among them
  PythonRandom random_;
};

std::vector<Request> requests_of(const Question& question, const std::string& before) {
  std::vector<Request> out;
  for (const std::string& choice : question.choices) {
    Request request;
    if (question.continues) {
      request = {before + choice, " " + question.continuation};
    } else {
      request = {before + question.prompt, " " + choice};
    }
    out.push_back(std::move(request));
  }
  return out;
}

// lm-eval moves white space from the end of the context to the start of the continuation.
std::pair<std::string, std::string> moved(const Request& request) {
  const std::string context = strip_right(request.context);
  return {context, request.context.substr(context.size()) + request.continuation};
}

// Ids with the place of the first one that is scored.
ScoredText text_of(const std::vector<int32_t>& start, std::span<const int32_t> rest) {
  ScoredText out{start, start.size()};
  out.ids.insert(out.ids.end(), rest.begin(), rest.end());
  return out;
}

// Encodes the requests of one exam. Consecutive ones often have their context in common.
class Encoder {
 public:
  Encoder(Exam& exam, const ExamSettings& settings, const kit::Evaluation& evaluation)
      : exam_(exam), settings_(settings), evaluation_(evaluation) {}

  ScoredText operator()(const Request& request) {
    const auto [context, continuation] = moved(request);
    if (context != last_context_ || start_.empty()) {
      const auto ids = evaluation_.encode(context, true);
      start_.assign(ids.begin(), ids.end());
      last_context_ = context;
    }
    ScoredText text =
        start_.empty() ? behind_prefix(continuation) : behind_context(context, continuation);
    const size_t scored = text.ids.size() - text.scored_from;
    if (scored == 0) {
      refuse("no id is left to score");
    }
    if (scored > settings_.max_length) {
      refuse(std::to_string(text.scored_from) + " ids of context and " + std::to_string(scored) +
             " to score, but the model sees " + std::to_string(settings_.max_length));
    }
    // The last id is only predicted, never read.
    if (text.ids.size() > settings_.max_length + 1) {
      const size_t cut = text.ids.size() - settings_.max_length - 1;
      text.ids.erase(text.ids.begin(), text.ids.begin() + static_cast<ptrdiff_t>(cut));
      text.scored_from -= cut;
      ++exam_.truncated;
    }
    return text;
  }

 private:
  [[noreturn]] static void refuse(const std::string& what) {
    throw kit::Error(QUENCH_INVALID_ARGUMENT, what);
  }

  ScoredText behind_context(const std::string& context, const std::string& continuation) {
    const auto whole = evaluation_.encode(context + continuation, true);
    if (whole.size() > start_.size()) {
      return text_of(start_, whole.subspan(start_.size()));
    }
    ++exam_.encoded_alone;
    return text_of(start_, evaluation_.encode(continuation, false));
  }

  // As lm-eval does: where the continuation begins with the prefix itself, that is what stands
  // before the rest.
  ScoredText behind_prefix(const std::string& continuation) const {
    if (!settings_.prefix) {
      refuse(
          "the prompt is empty and the tokenizer puts no id before it; wanted `prefix`, the "
          "text of the token that stands there (lm-eval: the tokenizer's BOS, else its EOS)");
    }
    const auto ids = evaluation_.encode(continuation, false);
    const bool begins = !ids.empty() && ids.front() == *settings_.prefix;
    return text_of({*settings_.prefix}, ids.subspan(begins ? 1 : 0));
  }

  Exam& exam_;
  const ExamSettings& settings_;
  const kit::Evaluation& evaluation_;
  std::string last_context_;
  std::vector<int32_t> start_;
};

size_t best_of(const std::vector<double>& scores) {
  return static_cast<size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

}  // namespace

void Records::add(const std::string& file, Value record) {
  if (parts_.empty() || parts_.back().file != file) {
    parts_.push_back({file, values_.size()});
  }
  values_.push_back(std::move(record));
}

std::string Records::place(size_t at) const {
  const auto after =
      std::upper_bound(parts_.begin(), parts_.end(), at,
                       [](size_t wanted, const Part& p) { return wanted < p.first; });
  const Part& part = *std::prev(after);
  return part.file + ", record " + std::to_string(at - part.first);
}

void make_items(Exam& exam, const ExamSettings& settings) {
  const size_t count = settings.limit > 0 ? std::min<size_t>(settings.limit, exam.records.size())
                                          : exam.records.size();
  Shots shots(exam, settings);
  for (size_t i = 0; i < count; ++i) {
    Question question = question_at(exam.task, exam.records, i);
    Item item;
    item.number = i;
    item.requests = requests_of(question, exam.task.description + shots.before(exam.records[i]));
    item.choices = std::move(question.choices);
    item.answer = question.answer;
    exam.items.push_back(std::move(item));
  }
}

std::vector<ScoredText> encode(Exam& exam, const ExamSettings& settings,
                               const kit::Evaluation& evaluation) {
  std::vector<ScoredText> out;
  std::vector<Item> kept;
  Encoder ids_of(exam, settings, evaluation);
  for (Item& item : exam.items) {
    kit::check_cancelled();
    const size_t texts = out.size();
    const uint64_t truncated = exam.truncated;
    const uint64_t encoded_alone = exam.encoded_alone;
    try {
      for (const Request& request : item.requests) {
        out.push_back(ids_of(request));
      }
      kept.push_back(std::move(item));
    } catch (const kit::Error& error) {
      if (error.code() != QUENCH_INVALID_ARGUMENT) {
        throw;
      }
      exam.left_out.push_back({item.number, without_torn_end(error.what())});
      out.resize(texts);
      exam.truncated = truncated;
      exam.encoded_alone = encoded_alone;
    }
  }
  exam.items = std::move(kept);
  if (exam.items.empty() && !exam.left_out.empty()) {
    const LeftOut& first = exam.left_out.front();
    const size_t more = exam.left_out.size() - 1;
    kit::fail(
        QUENCH_INVALID_ARGUMENT, "task %s, question %zu: %s%s", exam.task.name.c_str(),
        first.number, first.why.c_str(),
        more == 0 ? "" : (" (nor can the other " + std::to_string(more) + " be scored)").c_str());
  }
  return out;
}

std::string without_torn_end(std::string text) {
  while (!text.empty() && static_cast<signed char>(text.back()) < 0) {
    text.pop_back();
  }
  return text;
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
