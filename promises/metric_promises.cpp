// What every metric must do, whatever it measures, on a model that can all that a metric may ask.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "promises/candidate.hpp"
#include "promises/kinds.hpp"
#include "promises/measurement.hpp"
#include "promises/scored_model.hpp"
#include "promises/tensors.hpp"
#include "quench/abi/parameter.h"

namespace quench::promises {

namespace {

namespace fs = std::filesystem;

std::vector<std::string> corpora_of(Candidate& candidate) {
  std::vector<std::string> out;
  for (const Parameter& parameter : candidate.parameters()) {
    if (parameter.type == QUENCH_PARAMETER_CORPUS) {
      out.push_back(parameter.name);
    }
  }
  return out;
}

// A task of two questions, for as long as the object lives.
class Questions {
 public:
  Questions() {
    std::string name = (fs::temp_directory_path() / "quench-questions-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw std::runtime_error(name + ": cannot be made");
    }
    folder_ = name;
    fs::create_directory(folder_ / "capitals");
    std::ofstream(folder_ / "task.yaml")
        << R"({"task": "capitals", "splits": ["test"], "scores": ["acc"],
        "data": {"paths": ["capitals"]}, "prompt": "{{q}}", "choices": "{{c}}", "answer": "{{a}}"})";
    std::ofstream(folder_ / "capitals/test.jsonl")
        << "{\"q\": \"France?\", \"c\": [\"Paris\", \"Rome\"], \"a\": 0}\n"
           "{\"q\": \"Italy?\", \"c\": [\"Paris\", \"Rome\"], \"a\": 1}\n";
  }
  ~Questions() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  Questions(const Questions&) = delete;
  Questions& operator=(const Questions&) = delete;
  const fs::path& folder() const { return folder_; }

 private:
  fs::path folder_;
};

// Every corpus parameter set, a task for a metric that wants tasks, all else default.
std::string parameters_for(Candidate& candidate, const Questions& questions) {
  nlohmann::json parameters = nlohmann::json::object();
  for (const std::string& corpus : corpora_of(candidate)) {
    parameters[corpus] = "some_text";
  }
  if (find_parameter(candidate, "tasks") != nullptr) {
    parameters["tasks"] = {"capitals"};
    parameters["files"] = (questions.folder() / "task.yaml").string();
    parameters["data"] = questions.folder().string();
  }
  return complete(candidate, parameters);
}

// Three documents, 6,000 ids below 50 in all.
TokenizedDocuments some_text() {
  TokenizedDocuments text;
  for (uint64_t d = 0; d < 3; ++d) {
    std::vector<int32_t>& ids = text.documents.emplace_back();
    for (const double value : numbers<double>(d + 1, 2000)) {
      ids.push_back(static_cast<int32_t>((value + 1) * 25));
    }
    text.bytes.push_back(6000);
  }
  return text;
}

uint32_t needs_of(const quench_metric_table& table, const std::string& json) {
  quench_metric* metric = nullptr;
  quench_error error{sizeof error, 0, {}};
  const quench_status status = table.create(json.data(), json.size(), &metric, &error);
  expect(status == QUENCH_OK, "create: got the error \"{}\", wanted an instance for {}",
         error.message, json);
  const uint32_t needs = table.needs == nullptr ? 0 : table.needs(metric);
  table.destroy(metric);
  return needs;
}

// The metric on a model whose weights are `shift` off, beside a float model and a trajectory where
// it needs them; the weights are the same ones afterwards.
Measurement measure_shifted(Candidate& candidate, const TokenizedDocuments& text, double shift) {
  const Questions questions;
  ScoredModel model(shift);
  const ScoredModel floating(0);
  const ScoredModel first(-0.5);
  const ScoredModel second(0.125, 2.5);
  const auto& table = table_of<quench_metric_table>(candidate);
  const std::string json = parameters_for(candidate, questions);
  const uint32_t needs = needs_of(table, json);
  std::vector<quench_weights> weights;
  const auto add = [&](const char* name, double step, const ScoredModel& of) {
    weights.push_back({sizeof(quench_weights), name, "", step, NAN, of.source()});
  };
  if ((needs & QUENCH_METRIC_NEEDS_FLOAT) != 0) {
    add("float", NAN, floating);
  }
  if ((needs & QUENCH_METRIC_NEEDS_TRAJECTORY) != 0) {
    add("step1", 1, first);
    add("step2", 2, second);
    add("step3", 3, model);
  }
  const auto before = model.weights;
  Measurement out;
  measure_into(out, table, json, corpora_of(candidate), text, model.subject(), weights);
  expect(model.weights == before, "evaluate: leaves other weights behind");
  return out;
}

Measurement measured(Candidate& candidate, double shift) {
  Measurement out = measure_shifted(candidate, some_text(), shift);
  expect(out.message.empty(), "evaluate: got the error \"{}\"", out.message);
  return out;
}

void expect_same_measurement(const Measurement& got, const Measurement& wanted, const char* as) {
  expect(got.values.size() == wanted.values.size(), "{} values {}, wanted {}", got.values.size(),
         as, wanted.values.size());
  for (size_t i = 0; i < wanted.values.size(); ++i) {
    expect(same_bits(got.values[i].value, wanted.values[i].value), "{} is {} {}, wanted {}",
           wanted.values[i].name, got.values[i].value, as, wanted.values[i].value);
  }
  expect(got.items == wanted.items, "its items are others {}", as);
  expect(got.details == wanted.details, "its details are others {}", as);
  expect(got.json == wanted.json, "its JSON is another {}", as);
}

void values_are_complete(Candidate& candidate) {
  const Measurement one = measured(candidate, 0.25);
  expect(!one.values.empty(), "evaluate: gives no value");
  for (const MeasuredValue& value : one.values) {
    expect(std::isfinite(value.value), "{} is {}, wanted a finite number", value.name, value.value);
    expect(!value.name.empty() && !value.unit.empty(),
           "a value has the name '{}' and the unit '{}'", value.name, value.unit);
    expect(std::abs(value.direction) <= 1, "{} has the direction {}, wanted -1, 0 or 1", value.name,
           value.direction);
    expect(std::isnan(value.standard_error) || value.standard_error >= 0,
           "{} has the standard error {}", value.name, value.standard_error);
  }
}

void equal_models_measure_equal(Candidate& candidate) {
  const Measurement one = measured(candidate, 0.25);
  expect_same_measurement(measured(candidate, 0.25), one, "the second time");
  candidate.set_threads(3);
  const Measurement many = measured(candidate, 0.25);
  candidate.set_threads(1);
  expect_same_measurement(many, one, "on 3 threads");
  if (candidate.start_afresh()) {
    expect_same_measurement(measured(candidate, 0.25), one, "in another process");
  }
}

void items_pair(Candidate& candidate) {
  const Measurement one = measured(candidate, 0.25);
  const Measurement two = measured(candidate, 0.75);
  expect(one.items.size() == two.items.size(), "{} lists of items, and {} for another model",
         one.items.size(), two.items.size());
  for (const auto& [name, values] : one.items) {
    const auto other = two.items.find(name);
    expect(other != two.items.end() && other->second.size() == values.size(),
           "{} has {} items, and others for another model", name, values.size());
  }
}

void an_empty_corpus_is_an_error(Candidate& candidate) {
  if (corpora_of(candidate).empty()) {
    skip("it takes no corpus");
  }
  const Measurement empty = measure_shifted(candidate, {{{}}, {0}}, 0.25);
  expect(empty.status == QUENCH_FAILED_PRECONDITION &&
             empty.message.find("some_text") != std::string::npos && empty.values.empty(),
         "evaluate: got status {} (\"{}\") and {} values, wanted FAILED_PRECONDITION with the "
         "corpus's name",
         empty.status, empty.message, empty.values.size());
}

constexpr Promise kPromises[] = {
    {"values are finite and complete", values_are_complete, true},
    {"equal models measure equal", equal_models_measure_equal},
    {"items pair with those of another model", items_pair},
    {"a corpus without ids is refused, by name", an_empty_corpus_is_an_error},
};

}  // namespace

std::span<const Promise> metric_promises() {
  return kPromises;
}

}  // namespace quench::promises
