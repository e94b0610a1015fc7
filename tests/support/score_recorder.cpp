#include "tests/support/score_recorder.hpp"

#include "tests/support/plugin_library.hpp"

namespace quench::test {

namespace {

struct Context {
  Measurement* measurement;
  const ScoreRule* rule;
};

quench_status score(void* context, const quench_score_args* args, quench_error*) noexcept {
  auto* own = static_cast<Context*>(context);
  ++own->measurement->score_calls;
  for (uint64_t r = 0; r < args->rows; ++r) {
    const std::vector<int32_t> row(args->ids + args->starts[r], args->ids + args->starts[r + 1]);
    const uint64_t from = args->scored_from != nullptr ? args->scored_from[r] : 1;
    for (size_t t = 0; t < row.size(); ++t) {
      args->nll[args->starts[r] + t] = t >= from && t > 0 ? (*own->rule)(row, t) : 0.0;
      if (args->argmax != nullptr) {
        args->argmax[args->starts[r] + t] = 0;
      }
    }
    own->measurement->rows.push_back(row);
  }
  return QUENCH_OK;
}

void measure_item(Measurement& result, const quench_item& item, const nlohmann::json& parameters,
                  const TokenizedDocuments& documents, const quench_subject& subject,
                  const std::vector<quench_weights>& weights) {
  std::vector<std::string> corpora;
  for (uint32_t i = 0; i < item.parameter_count; ++i) {
    if (item.parameters[i].type == QUENCH_PARAMETER_CORPUS) {
      corpora.emplace_back(item.parameters[i].name);
    }
  }
  promises::measure_into(result, table_of<quench_metric_table>(item),
                         complete_parameters(item, parameters), corpora, documents, subject,
                         weights);
}

}  // namespace

Measurement measure(const quench_item& item, const nlohmann::json& parameters,
                    const TokenizedDocuments& documents, const ScoreRule& rule) {
  Measurement result;
  Context context{&result, &rule};
  measure_item(result, item, parameters, documents,
               {sizeof(quench_subject), nullptr, nullptr, &context, score}, {});
  return result;
}

Measurement measure(const quench_item& item, const nlohmann::json& parameters,
                    const TokenizedDocuments& documents, const quench_subject& subject,
                    const std::vector<quench_weights>& weights) {
  Measurement result;
  measure_item(result, item, parameters, documents, subject, weights);
  return result;
}

}  // namespace quench::test
