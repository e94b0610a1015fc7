#include "tests/core/plugin/wire/fake_plugin.hpp"

#include <cmath>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"

namespace {

struct Alive {
  Alive();
  virtual ~Alive();
  Alive(const Alive&) = delete;
  Alive& operator=(const Alive&) = delete;
};

std::mutex all_mutex;
std::set<Alive*> all;

Alive::Alive() {
  const std::lock_guard lock(all_mutex);
  all.insert(this);
}

Alive::~Alive() {
  const std::lock_guard lock(all_mutex);
  all.erase(this);
}

}  // namespace

struct quench_quantizer : Alive {
  std::string parameters;
};
struct quench_quantizer_state : Alive {
  const quench_group_info* info = nullptr;  // borrowed
  int64_t width = 0;
  std::vector<double> gram;
  double rows = 0;
};
struct quench_metric : Alive {};
struct quench_corpus : Alive {
  std::string parameters;
  uint64_t next = 0;
  std::string text;
};
struct quench_averaging : Alive {
  const quench_averaging_member* members = nullptr;  // borrowed
  uint64_t count = 0;
  std::vector<double> sum;
};
struct quench_optimizer : Alive {};
struct quench_encoder : Alive {};

namespace quench::test {

namespace {

constexpr quench_dtype kFloat64{QUENCH_DTYPE_FLOAT, 64, 1};
constexpr quench_dtype kUint8{QUENCH_DTYPE_UINT, 8, 1};

template <typename T>
T* data_of(const quench_tensor& tensor) {
  return reinterpret_cast<T*>(static_cast<char*>(tensor.data) + tensor.byte_offset);
}

// ---- quantizer -------------------------------------------------------------------------------

quench_status create(const char* parameters, uint64_t bytes, quench_quantizer** out,
                     quench_error* error) noexcept {
  const std::string text(parameters, bytes);
  if (text == "bad") {
    return report_error(error, QUENCH_INVALID_ARGUMENT, "parameters: got bad");
  }
  *out = new quench_quantizer;
  (*out)->parameters = text;
  return QUENCH_OK;
}

void destroy(quench_quantizer* self) noexcept {
  delete self;
}

uint32_t needs(const quench_quantizer*) noexcept {
  return QUENCH_NEEDS_ROWS | QUENCH_MAKES_LINEAR_OP;
}

quench_status begin(quench_quantizer*, const quench_group_args* args, quench_quantizer_state** out,
                    quench_error* error) noexcept {
  if (args->in_features <= 0) {
    return report_error(error, QUENCH_INVALID_ARGUMENT, "in_features: got none");
  }
  const auto width = static_cast<size_t>(args->in_features);
  *out = new quench_quantizer_state;
  (*out)->info = args->info;
  (*out)->width = args->in_features;
  (*out)->gram.resize(width * width);
  return QUENCH_OK;
}

quench_status observe(quench_quantizer*, quench_quantizer_state* state,
                      const quench_observe_args* args, quench_error* error) noexcept {
  if (args->x == nullptr || args->x->shape[1] != state->width) {
    return report_error(error, QUENCH_INVALID_ARGUMENT, "x: another width");
  }
  const auto width = static_cast<size_t>(state->width);
  for (int64_t row = 0; row < args->x->shape[0]; ++row) {
    const float* x = data_of<float>(*args->x) + row * args->x->strides[0];
    for (size_t i = 0; i < width; ++i) {
      for (size_t j = 0; j < width; ++j) {
        state->gram[i * width + j] += double{x[i]} * double{x[j]};
      }
    }
    state->rows += args->row_weight == nullptr ? 1 : data_of<double>(*args->row_weight)[row];
  }
  return QUENCH_OK;
}

struct AddOne : Alive {};

quench_status apply_op(void*, const quench_tensor* x, const quench_tensor* y, void*,
                       quench_error* error) noexcept {
  if (x->shape[0] == 0) {
    return report_error(error, QUENCH_INVALID_ARGUMENT, "x: no rows");
  }
  for (int64_t i = 0; i < x->shape[0] * x->shape[1]; ++i) {
    data_of<float>(*y)[i] = data_of<float>(*x)[i] + 1;
  }
  return QUENCH_OK;
}

quench_status inputs_of_op(void*, const quench_tensor* x, const quench_tensor* rounded, void*,
                           quench_error*) noexcept {
  for (int64_t i = 0; i < x->shape[0] * x->shape[1]; ++i) {
    data_of<float>(*rounded)[i] = std::round(data_of<float>(*x)[i]);
  }
  return QUENCH_OK;
}

void release_op(void* context) noexcept {
  delete static_cast<AddOne*>(context);
}

// Doubles keys, and adds to each value its token.
quench_status apply_cache_op(void*, const quench_cache_args* args, quench_error* error) noexcept {
  if (args->batch->segments != nullptr) {
    return report_error(error, QUENCH_UNSUPPORTED, "segments: not here");
  }
  const int64_t width = args->values->shape[1] * args->values->shape[2];
  for (int64_t i = 0; i < args->keys->shape[0] * args->keys->shape[1] * args->keys->shape[2]; ++i) {
    data_of<float>(*args->keys)[i] *= 2;
  }
  for (int64_t i = 0; i < args->values->shape[0] * width; ++i) {
    data_of<float>(*args->values)[i] +=
        static_cast<float>(data_of<int32_t>(*args->batch->tokens)[i / width]);
  }
  return QUENCH_OK;
}

quench_status quantize(quench_quantizer* self, quench_quantizer_state* state,
                       const quench_quantize_args* args, quench_error* error) noexcept {
  if (args->linear == 9) {
    return report_error(error, QUENCH_NUMERICAL, "linear 9: not finite");
  }
  const quench_quantize_sink& sink = *args->sink;
  const int64_t* shape = args->weight->shape;
  quench_tensor codes{};
  quench_tensor scales{};
  const int64_t scale_shape[] = {shape[0], 1};
  quench_status status = sink.tensor(sink.context, "codes", kUint8, 2, shape, &codes, error);
  if (status == QUENCH_OK) {
    status = sink.tensor(sink.context, "scales", kFloat64, 2, scale_shape, &scales, error);
  }
  if (status == QUENCH_OK) {
    status = sink.number(sink.context, "bits_per_weight", 8, error);
  }
  if (status == QUENCH_OK) {
    status = sink.text(sink.context, state->info->linears[args->linear].name,
                       self->parameters.c_str(), error);
  }
  if (status != QUENCH_OK) {
    return status;
  }
  for (int64_t i = 0; i < shape[0] * shape[1]; ++i) {
    const float value = std::round(data_of<float>(*args->weight)[i]);
    data_of<uint8_t>(codes)[i] = static_cast<uint8_t>(value);
    data_of<float>(*args->dequantized)[i] = value;
  }
  for (int64_t row = 0; row < shape[0]; ++row) {
    data_of<double>(scales)[row] = 0.5;
  }
  if (args->linear == 1) {
    auto* op = new AddOne;
    const quench_linear_op table = {sizeof table, op, apply_op, release_op,
                                    self->parameters == "silent" ? nullptr : inputs_of_op};
    status = sink.linear_op(sink.context, &table, error);
    if (status != QUENCH_OK) {
      release_op(op);
    }
  }
  if (status == QUENCH_OK && self->parameters == "cache") {
    auto* op = new AddOne;
    const quench_cache_op table = {sizeof table, op, apply_cache_op, release_op};
    status = sink.cache_op(sink.context, &table, error);
    if (status != QUENCH_OK) {
      release_op(op);
    }
  }
  return status;
}

void end(quench_quantizer*, quench_quantizer_state* state) noexcept {
  delete state;
}

quench_status gram_get(quench_quantizer*, quench_quantizer_state* state, quench_tensor* gram,
                       double* rows, quench_error* error) noexcept {
  if (state->rows == 0) {
    return report_error(error, QUENCH_FAILED_PRECONDITION, "no rows were observed");
  }
  static thread_local int64_t shape[2];
  static thread_local int64_t strides[2];
  shape[0] = shape[1] = strides[0] = state->width;
  strides[1] = 1;
  *gram = {state->gram.data(), {QUENCH_DEVICE_CPU, 0}, 2, kFloat64, shape, strides, 0};
  *rows = state->rows;
  return QUENCH_OK;
}

quench_status gram_set(quench_quantizer*, quench_quantizer_state* state, const quench_tensor* gram,
                       double rows, quench_error*) noexcept {
  const double* first = data_of<double>(*gram);
  state->gram.assign(first, first + state->gram.size());
  state->rows = rows;
  return QUENCH_OK;
}

quench_status output_error(quench_quantizer*, quench_quantizer_state* state,
                           const quench_tensor* weight, const quench_tensor*, double* squared,
                           double* reference, quench_error*) noexcept {
  *squared = state->rows;
  *reference = static_cast<double>(weight->shape[0]);
  return QUENCH_OK;
}

int32_t fits(const quench_quantizer*, uint64_t rule, const char* module) noexcept {
  return rule == 1 && std::string_view(module) == "layer.1" ? 1 : 0;
}

int32_t accepts(const quench_quantizer* self, const quench_quantizer* other) noexcept {
  return self->parameters == other->parameters ? 1 : 0;
}

// ---- metric ----------------------------------------------------------------------------------

quench_status create_metric(const char*, uint64_t, quench_metric** out, quench_error*) noexcept {
  *out = new quench_metric;
  return QUENCH_OK;
}

void destroy_metric(quench_metric* self) noexcept {
  delete self;
}

quench_status evaluate(quench_metric*, const quench_evaluate_args* args,
                       quench_error* error) noexcept {
  return guarded(error, [&] {
    const auto check = [&](quench_status status) {
      if (status != QUENCH_OK) {
        fail(status, "{}", error->message);
      }
    };
    const quench_metric_sink& sink = *args->sink;
    if (args->tokens_count > 0) {
      const quench_tokens& tokens = args->tokens[0];
      const uint64_t ids = tokens.offsets[tokens.documents];
      std::vector<double> nll(ids);
      std::vector<int32_t> argmax(ids);
      const quench_score_args score = {sizeof score,   0,       tokens.documents, tokens.ids,
                                       tokens.offsets, nullptr, nll.data(),       argmax.data(),
                                       nullptr};
      check(args->subject->score(args->subject->context, &score, error));
      double sum = 0;
      for (size_t i = 0; i < ids; ++i) {
        sum += nll[i] + argmax[i];
      }
      check(sink.value(sink.context, "sum", sum, "nats", QUENCH_LOWER_IS_BETTER, std::nan(""),
                       error));
      check(sink.items(sink.context, tokens.corpus, nll.data(), ids, error));
    }
    if (args->tokenizer != nullptr) {
      const int32_t* found = nullptr;
      uint64_t count = 0;
      check(args->tokenizer->encode(args->tokenizer->context, "abc", 3, 1, &found, &count, error));
      check(sink.detail(sink.context, "last id", count == 0 ? -1 : found[count - 1], error));
    }
    for (uint32_t i = 0; i < args->weights_count; ++i) {
      const quench_source& source = *args->weights[i].source;
      uint64_t index = 0;
      check(source.find(&source, "second", &index, error));
      quench_tensor_info info{};
      info.struct_size = sizeof info;
      check(source.info(&source, index, &info, error));
      std::vector<double> values(static_cast<size_t>(info.shape[0]));
      check(source.read(&source, index, 1, values.size() - 1, values.data(), error));
      check(sink.detail(sink.context, info.name, values[0], error));
    }
    check(sink.json(sink.context, "facts", "{}", 2, error));
  });
}

// ---- corpus ----------------------------------------------------------------------------------

quench_status open_corpus(const char* parameters, uint64_t bytes, quench_corpus** out,
                          quench_error* error) noexcept {
  if (bytes == 0) {
    return report_error(error, QUENCH_NOT_FOUND, std::string(600, 'n'));
  }
  *out = new quench_corpus;
  (*out)->parameters.assign(parameters, bytes);
  return QUENCH_OK;
}

void close_corpus(quench_corpus* self) noexcept {
  delete self;
}

quench_status next(quench_corpus* self, quench_document* out, quench_error*) noexcept {
  if (self->next == 3) {
    return QUENCH_END;
  }
  self->text = self->next == 0 ? "" : self->next == 1 ? "small" : std::string(5000, 'l');
  *out = {};
  out->struct_size = sizeof *out;
  out->text = self->text.c_str();
  out->text_bytes = self->text.size();
  out->index = self->next++;
  return QUENCH_OK;
}

quench_status fingerprint(quench_corpus* self, char hex[65], quench_error*) noexcept {
  std::memset(hex, 0, 65);
  std::memcpy(hex, self->parameters.data(), std::min<size_t>(self->parameters.size(), 64));
  return QUENCH_OK;
}

// ---- averaging -------------------------------------------------------------------------------

quench_status create_averaging(const char*, uint64_t, quench_averaging** out,
                               quench_error*) noexcept {
  *out = new quench_averaging;
  return QUENCH_OK;
}

void destroy_averaging(quench_averaging* self) noexcept {
  delete self;
}

uint32_t averaging_needs(const quench_averaging*) noexcept {
  return QUENCH_AVERAGING_ANY_ORDER;
}

quench_status select(quench_averaging*, const quench_averaging_member* members, uint64_t count,
                     uint64_t last, uint64_t* selected, uint64_t* selected_count,
                     quench_error* error) noexcept {
  if (last == 0 || last >= count) {
    return report_error(error, QUENCH_FAILED_PRECONDITION,
                        std::string("too few members before ") + members[0].name);
  }
  selected[0] = last - 1;
  selected[1] = last;
  *selected_count = 2;
  return QUENCH_OK;
}

quench_status begin_averaging(quench_averaging* self, const quench_averaging_member* members,
                              uint64_t count, quench_error*) noexcept {
  self->members = members;
  self->count = count;
  return QUENCH_OK;
}

quench_status accumulate(quench_averaging* self, uint64_t member, const double* values,
                         uint64_t count, quench_error* error) noexcept {
  if (member >= self->count) {
    return report_error(error, QUENCH_INVALID_ARGUMENT,
                        std::string("no member after ") + self->members[self->count - 1].name);
  }
  if (member == 0) {
    self->sum.assign(count, 0);
  }
  for (uint64_t i = 0; i < count; ++i) {
    self->sum[i] += values[i];
  }
  return QUENCH_OK;
}

quench_status finish(quench_averaging* self, double* values, uint64_t count,
                     quench_error*) noexcept {
  for (uint64_t i = 0; i < count; ++i) {
    values[i] = self->sum[i] / static_cast<double>(self->count);
  }
  return QUENCH_OK;
}

quench_status search(quench_averaging*, const quench_averaging_member*, uint64_t count,
                     quench_status (*score)(void*, const double*, uint64_t, double*,
                                            quench_error*) noexcept,
                     void* context, double* weights, quench_error* error) noexcept {
  double best = 0;
  std::vector<double> tried(count);
  for (uint64_t i = 0; i < count; ++i) {
    tried.assign(count, 0);
    tried[i] = 1;
    double value = 0;
    if (const quench_status status = score(context, tried.data(), count, &value, error);
        status != QUENCH_OK) {
      return status;
    }
    if (i == 0 || value < best) {
      best = value;
      std::memcpy(weights, tried.data(), count * sizeof(double));
    }
  }
  return QUENCH_OK;
}

// ---- optimizer -------------------------------------------------------------------------------

quench_status create_optimizer(const char*, uint64_t, quench_optimizer** out,
                               quench_error*) noexcept {
  *out = new quench_optimizer;
  return QUENCH_OK;
}

void destroy_optimizer(quench_optimizer* self) noexcept {
  delete self;
}

quench_status gradient_by_closure(quench_optimizer*, const quench_closure_args* args,
                                  quench_error* error) noexcept {
  const auto count = static_cast<size_t>(args->weights->shape[0]);
  const auto* weights = static_cast<const float*>(args->weights->data);
  auto* sum = static_cast<float*>(args->gradient->data);
  std::vector<float> doubled(count);
  std::vector<float> there(count);
  for (size_t i = 0; i < count; ++i) {
    doubled[i] = 2 * weights[i];
  }
  quench_tensor at = *args->weights;
  at.data = doubled.data();
  quench_tensor to = *args->gradient;
  to.data = there.data();
  double loss = 0;
  const quench_closure& closure = *args->closure;
  quench_status status =
      closure.evaluate(closure.context, args->weights, args->gradient, &loss, error);
  for (uint64_t s = 0; s < args->step && status == QUENCH_OK; ++s) {
    status = closure.evaluate(closure.context, &at, &to, &loss, error);
    for (size_t i = 0; i < count; ++i) {
      sum[i] += there[i] + static_cast<float>(loss);
    }
  }
  return status;
}

// ---- tokenizer -------------------------------------------------------------------------------

int32_t probe(const quench_file_head* file, quench_error*) noexcept {
  return std::string_view(file->name) == "bytes.txt" ? 100 : 0;
}

quench_status open_encoder(const char*, uint64_t, const char*, const char*, uint64_t,
                           quench_encoder** out, quench_error*) noexcept {
  *out = new quench_encoder;
  return QUENCH_OK;
}

void close_encoder(quench_encoder* self) noexcept {
  delete self;
}

uint64_t vocabulary_size(const quench_encoder*) noexcept {
  return 256;
}

quench_status encode(quench_encoder*, const quench_text_batch* batch, const quench_id_sink* sink,
                     quench_error* error) noexcept {
  std::vector<uint64_t> counts;
  for (uint64_t d = 0; d < batch->count; ++d) {
    counts.push_back(batch->offsets[d + 1] - batch->offsets[d]);
  }
  int32_t* ids = sink->allocate(sink->context, counts.data(), batch->count);
  if (ids == nullptr) {
    return report_error(error, QUENCH_RESOURCE_EXHAUSTED, "no memory for ids");
  }
  for (uint64_t i = 0; i < batch->offsets[batch->count]; ++i) {
    ids[i] = static_cast<unsigned char>(batch->text[i]);
  }
  return QUENCH_OK;
}

}  // namespace

const quench_quantizer_table kFakeQuantizer = {.struct_size = sizeof(quench_quantizer_table),
                                               .create = create,
                                               .destroy = destroy,
                                               .needs = needs,
                                               .begin = begin,
                                               .observe = observe,
                                               .quantize = quantize,
                                               .end = end,
                                               .gram_get = gram_get,
                                               .gram_set = gram_set,
                                               .output_error = output_error,
                                               .accepts = accepts,
                                               .prepare = nullptr,
                                               .rule_fits = fits,
                                               .predict_memory = nullptr,
                                               .apply_plan = nullptr,
                                               .begin_pass = nullptr};
const quench_metric_table kFakeMetric = [] {
  quench_metric_table table{};
  table.struct_size = sizeof table;
  table.create = create_metric;
  table.destroy = destroy_metric;
  table.evaluate = evaluate;
  return table;
}();
const quench_corpus_table kFakeCorpus = {sizeof(quench_corpus_table), open_corpus, close_corpus,
                                         next, fingerprint};
const quench_averaging_table kFakeAveraging = {.struct_size = sizeof(quench_averaging_table),
                                               .create = create_averaging,
                                               .destroy = destroy_averaging,
                                               .needs = averaging_needs,
                                               .select = select,
                                               .begin = begin_averaging,
                                               .accumulate = accumulate,
                                               .finish = finish,
                                               .search = search,
                                               .begin_weighted = nullptr,
                                               .sums_size = nullptr,
                                               .sums_get = nullptr,
                                               .sums_set = nullptr};
const quench_optimizer_table kFakeOptimizer = [] {
  quench_optimizer_table table{};
  table.struct_size = sizeof table;
  table.create = create_optimizer;
  table.destroy = destroy_optimizer;
  table.gradient = gradient_by_closure;
  return table;
}();
const quench_tokenizer_table kFakeTokenizer = {
    sizeof(quench_tokenizer_table), probe, open_encoder, close_encoder, vocabulary_size, encode};

size_t live_fakes() {
  const std::lock_guard lock(all_mutex);
  return all.size();
}

void end_fakes() {
  while (live_fakes() > 0) {
    delete *all.begin();
  }
}

}  // namespace quench::test
