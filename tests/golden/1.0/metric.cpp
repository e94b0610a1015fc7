// golden_metric: how often the model's most likely next token is the right one.
//
// | parameter | type   | default  | range | meaning                              |
// |-----------|--------|----------|-------|--------------------------------------|
// | corpus    | corpus | required |       | the documents that are predicted     |
// | length    | int    | 256      | >= 2  | ids to score per document            |
//
//   metrics:
//     - golden_metric: {corpus: refinedweb, length: 256}
//
// Each document is its own context; documents with fewer than two ids are left out.
#include <algorithm>
#include <cmath>
#include <vector>

#include "quench/kit/metric.hpp"

namespace kit = quench::kit;

namespace {

class GoldenMetric final : public kit::Metric {
 public:
  struct Params {
    kit::CorpusName corpus;
    int64_t length = 256;
    static void describe(kit::Fields<Params>& f) {
      f.add("corpus", &Params::corpus, "the documents that are predicted").required();
      f.add("length", &Params::length, "ids to score per document").at_least(2);
    }
  };
  explicit GoldenMetric(const Params& params) : length_(static_cast<uint64_t>(params.length)) {}

  void evaluate(const kit::Evaluation& evaluation, kit::MetricSink& sink) override {
    const quench_tokens& tokens = evaluation.tokens("corpus");
    std::vector<int32_t> ids;
    std::vector<uint64_t> starts = {0};
    for (uint64_t d = 0; d < tokens.documents; ++d) {
      const uint64_t begin = tokens.offsets[d];
      const uint64_t count = std::min(length_, tokens.offsets[d + 1] - begin);
      if (count >= 2) {
        ids.insert(ids.end(), tokens.ids + begin, tokens.ids + begin + count);
        starts.push_back(ids.size());
      }
    }
    const uint64_t rows = starts.size() - 1;
    if (rows == 0) {
      kit::fail(QUENCH_FAILED_PRECONDITION, "corpus `%s` has no document of two ids or more",
                tokens.corpus);
    }
    std::vector<double> nll(ids.size());
    std::vector<int32_t> likely(ids.size());
    evaluation.score({sizeof(quench_score_args), 0, rows, ids.data(), starts.data(), nullptr,
                      nll.data(), likely.data(), nullptr});

    std::vector<double> share(rows);  // share of right tokens, per document
    double right = 0;
    for (uint64_t r = 0; r < rows; ++r) {
      for (uint64_t i = starts[r] + 1; i < starts[r + 1]; ++i) {
        share[r] += likely[i] == ids[i] ? 1 : 0;
      }
      right += share[r];
      share[r] /= static_cast<double>(starts[r + 1] - starts[r] - 1);
    }
    const auto scored = static_cast<double>(ids.size() - rows);
    const double rate = right / scored;
    sink.value("accuracy", rate, "share", QUENCH_HIGHER_IS_BETTER,
               std::sqrt(rate * (1 - rate) / scored));
    sink.detail("scored", scored);
    sink.items("document_accuracy", share);
  }

 private:
  uint64_t length_;
};

}  // namespace

QUENCH_MODULE("golden_metric", "0.1.0",
              kit::metric<GoldenMetric>({.id = "golden_metric",
                                         .version = "0.1.0",
                                         .summary = "Share of next tokens that the model ranks "
                                                    "first."}))
