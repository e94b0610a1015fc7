// last_token: the loss of the last id of each document, given all before it.
#include <vector>

#include "quench/kit/metric.hpp"

namespace kit = quench::kit;

namespace {

class LastToken final : public kit::Metric {
 public:
  struct Params {
    kit::CorpusName corpus;
    static void describe(kit::Fields<Params>& f) {
      f.add("corpus", &Params::corpus, "documents whose last id is predicted").required();
    }
  };
  explicit LastToken(const Params&) {}

  void evaluate(const kit::Evaluation& evaluation, kit::MetricSink& sink) override {
    const quench_tokens& tokens = evaluation.tokens("corpus");
    const uint64_t count = tokens.offsets[tokens.documents];
    std::vector<double> nll(count);
    if (count == 0) {
      kit::fail(QUENCH_FAILED_PRECONDITION, "corpus `%s` is empty", tokens.corpus);
    }
    evaluation.score({sizeof(quench_score_args), 0, tokens.documents, tokens.ids, tokens.offsets,
                      nullptr, nll.data(), nullptr, nullptr});
    std::vector<double> last;
    double sum = 0;
    for (uint64_t d = 0; d < tokens.documents; ++d) {
      if (tokens.offsets[d + 1] - tokens.offsets[d] >= 2) {
        last.push_back(nll[tokens.offsets[d + 1] - 1]);
        sum += last.back();
      }
    }
    if (last.empty()) {
      kit::fail(QUENCH_FAILED_PRECONDITION, "corpus `%s` has no document of two ids",
                tokens.corpus);
    }
    sink.value("last_token", sum / static_cast<double>(last.size()), "nats",
               QUENCH_LOWER_IS_BETTER);
    sink.items("document_nll", last);
  }
};

}  // namespace

QUENCH_MODULE("last_token", "0.1.0",
              kit::metric<LastToken>({.id = "last_token",
                                      .version = "0.1.0",
                                      .summary = "Loss of the last id of each document."}))
