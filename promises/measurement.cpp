#include "promises/measurement.hpp"

#include "promises/record_host.hpp"

namespace quench::promises {

namespace {

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

}  // namespace

void measure_into(Measurement& result, const quench_metric_table& table,
                  const std::string& parameters, const std::vector<std::string>& corpora,
                  const TokenizedDocuments& documents, const quench_subject& subject,
                  const std::vector<quench_weights>& weights) {
  quench_error error{sizeof error, 0, {}};
  quench_metric* metric = nullptr;
  result.status = table.create(parameters.data(), parameters.size(), &metric, &error);
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
  for (const std::string& corpus : corpora) {
    tokens.push_back({sizeof(quench_tokens), corpus.c_str(), "some_text",
                      documents.documents.size(), ids.data(), offsets.data(),
                      documents.bytes.empty() ? nullptr : documents.bytes.data()});
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

}  // namespace quench::promises
