#include "metrics/tasks/prefix_tree.hpp"

#include <catch2/catch.hpp>
#include <random>

#include "quench/kit/metric.hpp"

using quench::tasks::ScoredText;

namespace {

// Scores like a model whose nll of an id depends on all ids before it; remembers what it was asked.
struct Model {
  uint64_t ids = 0;
  uint64_t scored = 0;
  uint64_t rows = 0;

  static double nll(const std::vector<int32_t>& text, size_t t) {
    double sum = 0;
    for (size_t i = 0; i <= t; ++i) {
      sum = 0.9 * sum + 0.01 * text[i];
    }
    return sum;
  }

  static quench_status score(void* context, const quench_score_args* args, quench_error*) noexcept {
    auto& self = *static_cast<Model*>(context);
    self.ids = args->starts[args->rows];
    self.rows = args->rows;
    std::vector<std::vector<int32_t>> paths;
    for (uint64_t r = 0; r < args->rows; ++r) {
      std::vector<int32_t> path;
      if (args->parents[r] >= 0) {
        path = paths.at(static_cast<size_t>(args->parents[r]));
      }
      const size_t before = path.size();
      path.insert(path.end(), args->ids + args->starts[r], args->ids + args->starts[r + 1]);
      for (size_t t = 0; before + t < path.size(); ++t) {
        const bool asked = t >= args->scored_from[r] && before + t > 0;
        args->nll[args->starts[r] + t] = asked ? nll(path, before + t) : 0.0;
        self.scored += asked ? 1 : 0;
      }
      paths.push_back(std::move(path));
    }
    return QUENCH_OK;
  }
};

std::vector<double> likelihoods(Model& model, const std::vector<ScoredText>& texts, uint64_t& fed) {
  const quench_subject subject = {sizeof subject, nullptr, nullptr, &model, Model::score};
  const quench_evaluate_args args = {sizeof args, 0,       &subject, 0,      nullptr,
                                     nullptr,     nullptr, 0,        nullptr};
  return quench::tasks::log_likelihoods(quench::kit::Evaluation(args), texts, &fed);
}

}  // namespace

TEST_CASE("prefix tree: texts are scored as if each stood alone", "[metrics][tasks]") {
  std::mt19937 random(3);
  std::vector<ScoredText> texts;
  for (int i = 0; i < 300; ++i) {
    ScoredText text;
    for (uint32_t t = 0; t < 2 + random() % 9; ++t) {
      text.ids.push_back(static_cast<int32_t>(random() % 3));  // few ids: much is shared
    }
    text.scored_from = 1 + random() % (text.ids.size() - 1);
    texts.push_back(text);
  }
  Model model;
  uint64_t fed = 0;
  const std::vector<double> found = likelihoods(model, texts, fed);
  REQUIRE(found.size() == texts.size());
  uint64_t all = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    double expected = 0;
    for (size_t t = texts[i].scored_from; t < texts[i].ids.size(); ++t) {
      expected -= Model::nll(texts[i].ids, t);
    }
    CHECK(found[i] == Approx(expected).epsilon(1e-12));
    all += texts[i].ids.size();
  }
  CHECK(fed == model.ids);
  CHECK(fed * 3 < all);
}

TEST_CASE("prefix tree: the choices of a question share its context", "[metrics][tasks]") {
  const std::vector<ScoredText> texts = {
      {{5, 6, 7, 1}, 3}, {{5, 6, 7, 2, 2}, 3}, {{5, 6, 7, 1}, 3}, {{5, 6, 7}, 2}};
  Model model;
  uint64_t fed = 0;
  const std::vector<double> found = likelihoods(model, texts, fed);
  CHECK(model.ids == 6);  // 5 6 7, 1, 2 2
  CHECK(model.rows == 3);
  CHECK(model.scored == 4);  // 7 for the last text, 1, 2, 2
  CHECK(found[0] == found[2]);
  CHECK(found[3] == Approx(-Model::nll({5, 6, 7}, 2)));
}

TEST_CASE("prefix tree: no texts are no request", "[metrics][tasks]") {
  Model model;
  uint64_t fed = 0;
  CHECK(likelihoods(model, {}, fed).empty());
  CHECK(model.rows == 0);
}
