#include "metrics/tasks/definition.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace quench::tasks {

namespace {

// Reads one task file for one value of `each`.
class Reader {
 public:
  Reader(const kit::Json& json, const std::string& name, Value each)
      : json_(json), name_(name), each_(std::move(each)) {}

  Definition read() const {
    Definition out;
    out.name = text("/task");
    out.group = text_or("/group", "");
    out.version = version();
    out.data.paths = texts("/data/paths");
    for (const std::string& split : json_.keys("/data/files")) {
      out.data.files[split] = texts("/data/files/" + split);
    }
    out.data.hub = text_or("/data/hub", "");
    out.data.config = text_or("/data/config", "");
    out.splits = texts("/splits");
    out.shot_splits = texts("/shots/splits");
    const std::string take = text_or("/shots/take", "drawn");
    expect(take == "drawn" || take == "first", "shots.take: wanted drawn or first");
    out.first_shots = take == "first";
    out.fixed_shots = json_.boolean_or("/shots/fixed", false);
    out.spare_shot = json_.boolean_or("/shots/spare", false);
    out.description = text_or("/description", "");
    read_prompt(out);
    out.answer = made("/answer");
    const std::vector<std::string> scores = texts("/scores");
    for (const std::string& score : scores) {
      expect(score == "acc" || score == "acc_norm",
             "scores: got " + score + ", wanted acc, acc_norm");
      out.acc_norm = out.acc_norm || score == "acc_norm";
    }
    expect(!out.splits.empty(), "splits: wanted at least one");
    expect(!out.data.paths.empty() || !out.data.files.empty() || !out.data.hub.empty(),
           "data: wanted paths, files or hub");
    return out;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw kit::Error(QUENCH_INVALID_ARGUMENT, name_ + ": " + what);
  }
  void expect(bool holds, const std::string& what) const {
    if (!holds) {
      refuse(what);
    }
  }

  int64_t version() const {
    try {
      return json_.integer_or("/version", 0);
    } catch (const kit::Error& error) {
      refuse(error.what());
    }
  }

  void read_prompt(Definition& out) const {
    if (json_.has("/contexts")) {
      expect(!json_.has("/prompt") && !json_.has("/choices"),
             "contexts replace prompt and choices");
      out.contexts = made("/contexts");
      out.continuation = made("/continuation");
      return;
    }
    out.prompt = made("/prompt");
    if (json_.type("/choices") == QUENCH_JSON_ARRAY) {
      for (uint64_t i = 0; i < json_.size("/choices"); ++i) {
        out.choices.push_back(made("/choices/" + std::to_string(i)));
      }
    } else {
      out.choices.push_back(made("/choices"));
    }
  }

  // A text of the file, unchanged.
  std::string raw(const std::string& at) const {
    expect(json_.has(at), at.substr(1) + " is missing");
    expect(json_.type(at) == QUENCH_JSON_STRING, at.substr(1) + ": wanted text");
    return json_.string(at);
  }
  // A text of the file, with the value of `each` inserted.
  std::string text(const std::string& at) const {
    const std::string given = raw(at);
    try {
      return Template(given).text(each_);
    } catch (const kit::Error& error) {
      refuse(at.substr(1) + ": " + error.what());
    }
  }
  std::string text_or(const std::string& at, const std::string& otherwise) const {
    return json_.has(at) ? text(at) : otherwise;
  }
  // A list of texts; empty if the key is missing.
  std::vector<std::string> texts(const std::string& at) const {
    std::vector<std::string> out;
    expect(!json_.has(at) || json_.type(at) == QUENCH_JSON_ARRAY, at.substr(1) + ": wanted a list");
    for (uint64_t i = 0; i < json_.size(at); ++i) {
      out.push_back(text(at + "/" + std::to_string(i)));
    }
    return out;
  }
  // A template over the fields of records.
  Template made(const std::string& at) const {
    const std::string given = raw(at);
    try {
      return Template(given);
    } catch (const kit::Error& error) {
      refuse(at.substr(1) + ": " + error.what());
    }
  }

  const kit::Json& json_;
  const std::string& name_;
  Value each_;
};

void check_keys(const kit::Json& json, const std::string& at, const std::set<std::string>& known,
                const std::string& name) {
  for (const std::string& key : json.keys(at)) {
    if (known.count(key) == 0) {
      std::string list;
      for (const std::string& one : known) {
        list += (list.empty() ? "" : ", ") + one;
      }
      throw kit::Error(QUENCH_INVALID_ARGUMENT, name + ": unknown key `" +
                                                    (at.empty() ? "" : at.substr(1) + ".") + key +
                                                    "`; known are " + list);
    }
  }
}

std::vector<std::string> texts_in(const Value& value, const std::string& what) {
  const auto* list = value.as<List>();
  if (list == nullptr) {
    throw kit::Error(QUENCH_INVALID_ARGUMENT,
                     what + ": got " + value.kind() + ", wanted a list of texts");
  }
  std::vector<std::string> out;
  for (const Value& element : *list) {
    out.push_back(element.text());
  }
  return out;
}

}  // namespace

std::vector<Definition> definitions_of(const kit::Json& json, const std::string& name) {
  if (json.type("") != QUENCH_JSON_OBJECT) {
    throw kit::Error(QUENCH_INVALID_ARGUMENT, name + ": wanted a mapping");
  }
  check_keys(json, "",
             {"task", "group", "each", "version", "data", "splits", "shots", "description",
              "prompt", "contexts", "continuation", "choices", "answer", "scores"},
             name);
  check_keys(json, "/data", {"paths", "files", "hub", "config"}, name);
  check_keys(json, "/shots", {"splits", "take", "fixed", "spare"}, name);
  const std::vector<std::string> each = json.keys("/each");
  if (each.empty()) {
    return {Reader(json, name, Object()).read()};
  }
  std::vector<Definition> out;
  for (uint64_t i = 0; i < json.size("/each/" + each[0]); ++i) {
    const std::string value = json.string("/each/" + each[0] + "/" + std::to_string(i));
    out.push_back(Reader(json, name, Object{{each[0], value}}).read());
  }
  return out;
}

Question question_of(const Definition& task, const Value& record) {
  Question out;
  if (task.contexts) {
    out.continues = true;
    out.choices = texts_in(task.contexts->value(record), "contexts");
    out.continuation = task.continuation->text(record);
  } else {
    out.prompt = task.prompt->text(record);
    if (task.choices.size() == 1) {
      out.choices = texts_in(task.choices[0].value(record), "choices");
    } else {
      for (const Template& choice : task.choices) {
        out.choices.push_back(choice.text(record));
      }
    }
  }
  const Value answer = task.answer->value(record);
  if (const auto* index = answer.as<int64_t>()) {
    if (*index >= 0 && *index < static_cast<int64_t>(out.choices.size())) {
      out.answer = static_cast<size_t>(*index);
      return out;
    }
  } else {
    const auto found = std::find(out.choices.begin(), out.choices.end(), answer.text());
    if (found != out.choices.end()) {
      out.answer = static_cast<size_t>(found - out.choices.begin());
      return out;
    }
  }
  throw kit::Error(QUENCH_INVALID_ARGUMENT, "answer: got " + answer.text() + ", there are " +
                                                std::to_string(out.choices.size()) + " choices");
}

std::string shot_of(const Question& question) {
  const std::string& right = question.choices[question.answer];
  return question.continues ? right + " " + question.continuation + "\n\n"
                            : question.prompt + " " + right + "\n\n";
}

}  // namespace quench::tasks
