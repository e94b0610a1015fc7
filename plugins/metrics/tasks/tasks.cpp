// tasks: accuracy on multiple-choice questions, with the prompts, shots and scores of lm-eval.
//
// | parameter  | type   | default  | meaning                                                |
// |------------|--------|----------|--------------------------------------------------------|
// | tasks      | list   | required | names of tasks or groups; study: its twelve            |
// | data       | path   | ""       | folder with the data sets; "": the hub's cache         |
// | files      | path   | ""       | your own task file, or a folder of them                |
// | shots      | int    | 0        | solved questions before each question                  |
// | limit      | int    | 0        | number of questions of each task; 0: all               |
// | max_length | int    | 0        | longest input in ids; 0: the model's positions         |
// | split      | string | ""       | split of the questions, in place of the task's         |
// | shots_from | string | ""       | split of the shots, for tasks that draw them           |
// | rule       | choice | acc      | acc or acc_norm: the main value is its mean over tasks |
// | prefix     | string | ""       | text of the token before an empty prompt; "": left out |
// | seed       | int    | 1234     | seed of the draw of shots (fewshot_random_seed)        |
// | log        | path   | ""       | file to write, one line of JSON per question           |
//
//   - tasks: {tasks: [sciq, piqa], data: data/tasks, shots: 5}
//
// A task is a YAML file (docs/tasks.md); the study's tasks are built in. Every choice of a question
// is a request: a context and its continuation, scored by the continuation's log-likelihood Σ log
// p. The answer is the choice with the largest log-likelihood (acc) or the largest per character
// (acc_norm). Requests with a common prefix share its forward.
//
// The value is the mean of `rule` over tasks; a group (mmlu) counts once. Further values are the
// accuracies of each task. Details: `tasks` {n, acc, acc_stderr, acc_norm, chance, above_chance,
// left_out, split, shot_split, truncated, encoded_alone, version}, `groups`, requests, truncated.
// The items `accuracy` are those of single questions, scaled so that their mean is the value.
//
// A question that cannot be scored is left out: the unit says of how many questions the value is,
// and `left_out` in the details which they are not, and why. A task of which none is left, or whose
// records do not fit it, fails, and with it its group, not the others: the value is then their
// mean, its unit says of how many it is, and `failed` in the details says why.
//
// Reference: Gao et al., A framework for few-shot language model evaluation (lm-eval 0.4).
#include <algorithm>

#include "metrics/tasks/catalogue.hpp"
#include "metrics/tasks/exam.hpp"
#include "metrics/tasks/report.hpp"
#include "quench/kit/records.hpp"

namespace quench::metrics {

namespace {

using namespace quench::tasks;

constexpr const char* kPresets = R"({"study": {"shots": 5, "rule": "acc"}})";

std::string json_text(const std::string& text) {
  return kit::detail::json_text(text);
}

class Tasks final : public kit::RecordMetric {
 public:
  struct Params {
    std::string preset = "none";
    std::vector<std::string> tasks;
    kit::Path data;
    kit::Path files;
    int64_t shots = 0;
    int64_t limit = 0;
    int64_t max_length = 0;
    std::string split;
    std::string shots_from;
    std::string rule = "acc";
    std::string prefix;
    int64_t seed = 1234;
    kit::Path log;
    static void describe(kit::Fields<Params>& f) {
      constexpr double kSeeds = 4294967295.0;
      f.add("preset", &Params::preset, "the study's settings: 5 shots, acc").choices("none|study");
      f.add("tasks", &Params::tasks, "names of tasks or of groups (mmlu); study: its twelve tasks")
          .required();
      f.add("data", &Params::data,
            "folder with the data sets, at the paths that the task files name; empty: the hub's "
            "cache");
      f.add("files", &Params::files, "your own task file, or a folder of them");
      f.add("shots", &Params::shots, "solved questions before each question (num_fewshot)")
          .at_least(0);
      f.add("limit", &Params::limit, "number of questions of each task, from the first on; 0: all")
          .at_least(0);
      f.add("max_length", &Params::max_length,
            "longest input in ids; of a longer text the end is kept; 0: the model's positions")
          .at_least(0);
      f.add("split", &Params::split, "split of the questions; empty: the task's");
      f.add("shots_from", &Params::shots_from,
            "split of the shots, for tasks that draw them; empty: the task's");
      f.add("rule", &Params::rule,
            "the score whose mean over tasks is the value: acc, or acc_norm for tasks that have it")
          .choices("acc|acc_norm");
      f.add("prefix", &Params::prefix,
            "text of the token before a prompt that is empty, for tokenizers that put none there; "
            "lm-eval takes their BOS, else their EOS; empty: such a question is left out");
      f.add("seed", &Params::seed, "seed of the draw of shots (fewshot_random_seed)")
          .range(0, kSeeds);
      f.add("log", &Params::log, "file to write, one line of JSON per question; empty: none");
    }
  };

  explicit Tasks(const Params& params) : params_(params) {
    settings_.shots = static_cast<uint64_t>(params.shots);
    settings_.limit = static_cast<uint64_t>(params.limit);
    settings_.seed = static_cast<uint32_t>(params.seed);
    if (params.tasks.empty()) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "tasks: wanted at least one");
    }
  }

  uint32_t needs() const override { return QUENCH_METRIC_NEEDS_TOKENIZER; }

  void wants(const kit::RecordHost& host) override {
    for (Definition& task : chosen_tasks(params_.tasks, params_.files.path, host)) {
      Exam& exam = exams_.emplace_back();
      exam.task = std::move(task);
      exam.split =
          find_split(exam.task, names_or(params_.split, exam.task.splits), params_.data.path, host);
      ask_for(exams_.size() - 1, exam.split, false, host);
      if (settings_.shots == 0) {
        continue;
      }
      const std::string forced = exam.task.fixed_shots ? "" : params_.shots_from;
      const std::vector<std::string> shot_splits = names_or(forced, exam.task.shot_splits);
      if (shot_splits.empty()) {
        kit::fail(QUENCH_INVALID_ARGUMENT,
                  "task %s: its file names no split for shots: give `shots_from`, or "
                  "`shots: {splits: [...]}` in the file",
                  exam.task.name.c_str());
      }
      exam.shot_split = find_split(exam.task, shot_splits, params_.data.path, host);
      if (exam.shot_split.name == exam.split.name) {
        exam.shot_split.files.clear();  // shots come from the questions' own records
      } else {
        ask_for(exams_.size() - 1, exam.shot_split, true, host);
      }
    }
  }

  bool take(uint32_t data_set, std::string_view record) override {
    const DataSet& set = data_sets_.at(data_set);
    Exam& exam = exams_[set.exam];
    add_record(exam, set.shots, set.path, record);
    // Records beyond the limit need not be read, unless shots are drawn from among them.
    const bool pool = settings_.shots > 0 && exam.shot_split.files.empty();
    return set.shots || pool || settings_.limit == 0 || exam.records.size() < settings_.limit;
  }

  void evaluate(const kit::Evaluation& evaluation, kit::MetricSink& sink) override {
    for (const DataSet& file : own_files_) {
      for (const std::string& record : json_records(file.path)) {
        add_record(exams_[file.exam], file.shots, file.path, record);
      }
    }
    own_files_.clear();
    settings_.max_length = longest(evaluation);
    settings_.prefix = prefix(evaluation);
    uint64_t fed = 0;
    uint64_t truncated = 0;
    for (Exam& exam : exams_) {
      if (exam.split.name != exam.task.splits.front() && params_.split.empty()) {
        kit::log(QUENCH_LOG_WARNING, "task " + exam.task.name + ": split " +
                                         exam.task.splits.front() + " is missing, " +
                                         exam.split.name + " is measured");
      }
      const std::vector<ScoredText> texts = texts_of(exam, evaluation);
      if (exam.fault.empty()) {
        mark(exam, log_likelihoods(evaluation, texts, &fed));
        truncated += exam.truncated;
      }
    }
    if (truncated > 0) {
      kit::log(QUENCH_LOG_WARNING, std::to_string(truncated) +
                                       " requests are longer than the model's context (" +
                                       std::to_string(settings_.max_length) + " ids); " +
                                       "the start of their text was cut off");
    }
    report(exams_, params_.rule, settings_.shots, fed, sink);
    if (!params_.log.path.empty()) {
      write_log(exams_, params_.log.path);
    }
  }

 private:
  // Leaves the exam with a fault where its questions cannot be asked; the others go on.
  std::vector<ScoredText> texts_of(Exam& exam, const kit::Evaluation& evaluation) const {
    exam.items.clear();
    exam.left_out.clear();
    exam.truncated = 0;
    exam.encoded_alone = 0;
    exam.fault.clear();
    try {
      make_items(exam, settings_);
      if (exam.items.empty()) {
        kit::fail(QUENCH_INVALID_ARGUMENT, "task %s: split %s has no records",
                  exam.task.name.c_str(), exam.split.name.c_str());
      }
      std::vector<ScoredText> out = encode(exam, settings_, evaluation);
      if (!exam.left_out.empty()) {
        const LeftOut& first = exam.left_out.front();
        kit::log(QUENCH_LOG_WARNING, "task " + exam.task.name + ": leaves out " +
                                         std::to_string(exam.left_out.size()) + " of " +
                                         std::to_string(exam.left_out.size() + exam.items.size()) +
                                         " questions, first question " +
                                         std::to_string(first.number) + ": " + first.why);
      }
      return out;
    } catch (const kit::Error& error) {
      if (error.code() != QUENCH_INVALID_ARGUMENT) {
        throw;
      }
      exam.items.clear();
      exam.fault = without_torn_end(error.what());
      kit::log(QUENCH_LOG_WARNING, exam.fault);
    }
    return {};
  }

  std::optional<int32_t> prefix(const kit::Evaluation& evaluation) const {
    if (params_.prefix.empty()) {
      return std::nullopt;
    }
    const auto ids = evaluation.encode(params_.prefix, false);
    if (ids.size() != 1) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "prefix: \"%s\" is %zu ids, wanted one token",
                params_.prefix.c_str(), ids.size());
    }
    return ids.front();
  }

  struct DataSet {
    size_t exam;
    bool shots;
    std::string path;
  };

  static std::vector<std::string> names_or(const std::string& forced,
                                           const std::vector<std::string>& usual) {
    return forced.empty() ? usual : std::vector<std::string>{forced};
  }

  void ask_for(size_t exam, const Split& split, bool shots, const kit::RecordHost& host) {
    for (const SplitFile& file : split.files) {
      if (file.corpus.empty()) {
        host.want_file(file.path);
        own_files_.push_back({exam, shots, file.path});
      } else {
        host.want(exams_[exam].task.name + " " + split.name, file.corpus,
                  "{\"path\":" + json_text(file.path) + ",\"records\":true}");
        data_sets_.push_back({exam, shots, file.path});
      }
    }
  }

  static void add_record(Exam& exam, bool shots, const std::string& path, std::string_view record) {
    (shots ? exam.shot_records : exam.records)
        .add(path, Value::of(kit::Json(record.data(), record.size())));
  }

  uint64_t longest(const kit::Evaluation& evaluation) const {
    const quench_subject& subject = evaluation.subject();
    quench_model_info info{};
    info.struct_size = sizeof info;
    quench_error error{sizeof error, 0, {}};
    kit::check(subject.table->info(subject.model, &info, &error), error);
    if (params_.max_length > info.max_positions) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "max_length = %lld, but the model has %lld positions",
                static_cast<long long>(params_.max_length),
                static_cast<long long>(info.max_positions));
    }
    return static_cast<uint64_t>(params_.max_length > 0 ? params_.max_length : info.max_positions);
  }

  Params params_;
  ExamSettings settings_;
  std::vector<Exam> exams_;
  std::vector<DataSet> data_sets_;
  std::vector<DataSet> own_files_;  // data sets that no corpus plugin reads
};

}  // namespace

}  // namespace quench::metrics

QUENCH_MODULE("quench.tasks", "0.1.0",
              quench::kit::metric<quench::metrics::Tasks>(
                  {.id = "tasks",
                   .version = "0.1.0",
                   .summary = "Accuracy on multiple-choice questions, with the prompts, shots and "
                              "scores of lm-eval.",
                   .reference = "Gao et al., A framework for few-shot language model evaluation; "
                                "arXiv 2405.14782",
                   .example = "{tasks: [sciq, piqa], data: data/tasks, shots: 5}",
                   .presets_json = quench::metrics::kPresets}))
