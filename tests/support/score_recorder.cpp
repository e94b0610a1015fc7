#include "tests/support/score_recorder.hpp"

#include "tests/support/plugin_library.hpp"
#include "tests/support/record_host.hpp"

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

Measurement& sink_of(void* context) {
  return *static_cast<Measurement*>(context);
}
quench_status take_value(void* context, const char* name, double value, const char* unit,
                         int32_t direction, double standard_error, quench_error*) noexcept {
  sink_of(context).values.push_back({name, value, unit, direction, standard_error});
  return QUENCH_OK;
}
quench_status take_detail(void* context, const char* name, double value, quench_error*) noexcept {
  sink_of(context).details[name] = value;
  return QUENCH_OK;
}
quench_status take_items(void* context, const char* name, const double* values, uint64_t count,
                         quench_error*) noexcept {
  sink_of(context).items[name].assign(values, values + count);
  return QUENCH_OK;
}
quench_status take_json(void* context, const char* name, const char* text, uint64_t bytes,
                        quench_error*) noexcept {
  sink_of(context).json[name] = nlohmann::json::parse(text, text + bytes);
  return QUENCH_OK;
}

// Every byte an id below 64.
quench_status encode(void* context, const char* text, uint64_t bytes, int32_t, const int32_t** ids,
                     uint64_t* count, quench_error*) noexcept {
  auto& own = *static_cast<std::vector<int32_t>*>(context);
  own.assign(text, text + bytes);
  for (int32_t& id : own) {
    id &= 63;
  }
  *ids = own.data();
  *count = own.size();
  return QUENCH_OK;
}

void measure_into(Measurement& result, const quench_item& item, const nlohmann::json& parameters,
                  const TokenizedDocuments& documents, const quench_subject& subject,
                  const std::vector<quench_weights>& weights) {
  const auto& table = table_of<quench_metric_table>(item);
  const std::string json = complete_parameters(item, parameters);
  quench_error error{sizeof error, 0, {}};
  quench_metric* metric = nullptr;
  result.status = table.create(json.data(), json.size(), &metric, &error);
  if (result.status != QUENCH_OK) {
    result.message = error.message;
    return;
  }
  if (table.wants != nullptr) {
    result.message = hand_records(table, metric);
    if (result.message != "") {
      result.status = QUENCH_FAILED_PRECONDITION;
      table.destroy(metric);
      return;
    }
  }
  std::vector<int32_t> encoded;
  const quench_tokenizer tokenizer = {sizeof tokenizer, &encoded, encode};
  std::vector<int32_t> ids;
  std::vector<uint64_t> offsets = {0};
  for (const std::vector<int32_t>& document : documents.documents) {
    ids.insert(ids.end(), document.begin(), document.end());
    offsets.push_back(ids.size());
  }
  std::vector<quench_tokens> tokens;
  for (uint32_t i = 0; i < item.parameter_count; ++i) {
    if (item.parameters[i].type == QUENCH_PARAMETER_CORPUS) {
      tokens.push_back({sizeof(quench_tokens), item.parameters[i].name, "some_text",
                        documents.documents.size(), ids.data(), offsets.data(),
                        documents.bytes.empty() ? nullptr : documents.bytes.data()});
    }
  }
  const quench_metric_sink sink = {sizeof sink, &result,    take_value,
                                   take_detail, take_items, take_json};
  const quench_evaluate_args args = {
      sizeof args,   0,     &subject,   static_cast<uint32_t>(tokens.size()),
      tokens.data(), &sink, &tokenizer, static_cast<uint32_t>(weights.size()),
      weights.data()};
  result.status = table.evaluate(metric, &args, &error);
  result.message = result.status == QUENCH_OK ? "" : error.message;
  table.destroy(metric);
}

}  // namespace

Measurement measure(const quench_item& item, const nlohmann::json& parameters,
                    const TokenizedDocuments& documents, const ScoreRule& rule) {
  Measurement result;
  Context context{&result, &rule};
  measure_into(result, item, parameters, documents,
               {sizeof(quench_subject), nullptr, nullptr, &context, score}, {});
  return result;
}

Measurement measure(const quench_item& item, const nlohmann::json& parameters,
                    const TokenizedDocuments& documents, const quench_subject& subject,
                    const std::vector<quench_weights>& weights) {
  Measurement result;
  measure_into(result, item, parameters, documents, subject, weights);
  return result;
}

}  // namespace quench::test
