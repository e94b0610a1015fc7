// Tables of plugins that are used across a border, both of whose sides are in this process.
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/plugin/wire/crossing.hpp"
#include "core/plugin/wire/lost_answer.hpp"
#include "core/plugin/wire/services.hpp"
#include "tests/core/plugin/wire/fake_plugin.hpp"
#include "tests/core/plugin/wire/two_peers.hpp"

using namespace quench;
using namespace quench::test;

namespace {

constexpr uint64_t kAll = ~uint64_t{0};
constexpr quench_dtype kFloat32{QUENCH_DTYPE_FLOAT, 32, 1};
constexpr quench_dtype kFloat64{QUENCH_DTYPE_FLOAT, 64, 1};

struct RemoteTable final : wire::RemoteItem {
  std::shared_ptr<wire::Peer> peer() override { return to; }
  std::shared_ptr<wire::Peer> to;
};

// The plugin behind the border, as the host sees its tables.
struct Session {
  Session() {
    wire::set_host_peer(two.worker);
    two.host->around = [this](const wire::Header&, const std::function<void()>& serve) {
      const wire::ServedHost serving(&host);
      serve();
    };
    quantizer = add<quench_quantizer_table>("quantizer", kFakeQuantizer);
    metric = add<quench_metric_table>("metric", kFakeMetric);
    corpus = add<quench_corpus_table>("corpus", kFakeCorpus);
    averaging = add<quench_averaging_table>("averaging", kFakeAveraging);
    optimizer = add<quench_optimizer_table>("optimizer", kFakeOptimizer);
    tokenizer = add<quench_tokenizer_table>("tokenizer", kFakeTokenizer);
    worker_exports = two.worker->exports().size();
  }
  ~Session() {
    two.finish();
    end_fakes();
    wire::set_host_peer(nullptr);
  }

  template <typename Table>
  const Table* add(const char* kind, const Table& table) {
    const wire::TableType* type = wire::table_of_kind(kind);
    REQUIRE(type != nullptr);
    two.worker->exports().add_table_as(++tables, *type, &table);
    // Items are never forgotten: the functions without an object keep a place for each.
    static std::map<std::string, RemoteTable> items;
    RemoteTable& item = items[kind];
    item.to = two.host;
    item.target = tables;
    wire::Reader nothing({}, nullptr);
    wire::Receiving in(two.host, nothing, keep, nullptr);
    return static_cast<const Table*>(type->make(type->mask(&table), nullptr, &item, in));
  }
  // Nothing is left of what was lent, on neither side; the connection is as it should be.
  void check_all_given_back() {
    CHECK(two.host->exports().size() == 0);
    CHECK(two.host->channel().own().top() == 0);
    CHECK(two.host->distrusted().empty());
    CHECK(two.finish().empty());
    CHECK(two.worker->exports().size() == worker_exports);
    CHECK(live_fakes() == 0);
  }

  static const void* service(const quench_host*, const char*) noexcept { return nullptr; }

  TwoPeers two;
  wire::Keep keep;
  quench_host host{sizeof(quench_host), 0, nullptr, "test", service};
  uint64_t tables = 0;
  size_t worker_exports = 0;
  const quench_quantizer_table* quantizer = nullptr;
  const quench_metric_table* metric = nullptr;
  const quench_corpus_table* corpus = nullptr;
  const quench_averaging_table* averaging = nullptr;
  const quench_optimizer_table* optimizer = nullptr;
  const quench_tokenizer_table* tokenizer = nullptr;
  quench_error error{sizeof(quench_error), 0, {}};
};

// A tensor that owns its elements.
template <typename T>
struct Owned {
  Owned(quench_dtype dtype, std::vector<int64_t> sizes) : shape(std::move(sizes)) {
    size_t count = 1;
    for (const int64_t size : shape) {
      count *= static_cast<size_t>(size);
    }
    values.resize(count);
    view = {values.data(),
            {QUENCH_DEVICE_CPU, 0},
            static_cast<int32_t>(shape.size()),
            dtype,
            shape.data(),
            nullptr,
            0};
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;

  std::vector<int64_t> shape;
  std::vector<T> values;
  quench_tensor view{};
};

// What a quantizer puts into its sink.
struct Results {
  std::map<std::string, std::unique_ptr<Owned<uint8_t>>> tensors;  // as bytes
  std::map<std::string, double> numbers;
  std::map<std::string, std::string> texts;
  const quench_linear_op* op = nullptr;
  quench_linear_op op_copy{};
  quench_cache_op cache_op{};
  bool refuses_texts = false;

  static Results& of(void* context) { return *static_cast<Results*>(context); }
  static quench_status tensor(void* context, const char* name, quench_dtype dtype,
                              int32_t dimensions, const int64_t* shape, quench_tensor* view,
                              quench_error* error) noexcept {
    return guarded(error, [&] {
      std::vector<int64_t> sizes(shape, shape + dimensions);
      sizes.back() *= dtype.bits / 8;
      auto made = std::make_unique<Owned<uint8_t>>(dtype, sizes);
      made->shape.assign(shape, shape + dimensions);
      *view = made->view;
      of(context).tensors[name] = std::move(made);
    });
  }
  static quench_status number(void* context, const char* name, double value,
                              quench_error*) noexcept {
    of(context).numbers[name] = value;
    return QUENCH_OK;
  }
  static quench_status text(void* context, const char* name, const char* value,
                            quench_error* error) noexcept {
    if (of(context).refuses_texts) {
      return report_error(error, QUENCH_UNSUPPORTED, "no texts here");
    }
    of(context).texts[name] = value;
    return QUENCH_OK;
  }
  static quench_status linear_op(void* context, const quench_linear_op* op,
                                 quench_error* error) noexcept {
    if (of(context).numbers.contains("refuse op")) {
      return report_error(error, QUENCH_UNSUPPORTED, "no ops here");
    }
    of(context).op_copy = *op;  // the host's own from now on
    of(context).op = &of(context).op_copy;
    return QUENCH_OK;
  }
  static quench_status take_cache_op(void* context, const quench_cache_op* op,
                                     quench_error*) noexcept {
    of(context).cache_op = *op;
    return QUENCH_OK;
  }
  quench_quantize_sink sink{
      sizeof(quench_quantize_sink), this, tensor, number, text, linear_op, take_cache_op};
};

// A group of two linears, described by what does not outlive the call that it is passed to.
struct Group {
  Group() {
    for (const std::string& name : names) {
      linears.push_back({sizeof(quench_linear_info), 0, name.c_str(), "q", "w", nullptr, 4, 3});
    }
    info = {sizeof info, 0, 0, -1, -1, 2, linears.data(), 0, nullptr};
    args = {sizeof args, 0, 2, 1, &info, 3, {QUENCH_DEVICE_CPU, 0}};
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  std::vector<std::string> names{"layer.0", "layer.1"};
  std::vector<quench_linear_info> linears;
  quench_group_info info{};
  quench_group_args args{};
};

quench_quantizer* create(Session& s, const std::string& parameters) {
  quench_quantizer* made = nullptr;
  REQUIRE(s.quantizer->create(parameters.data(), parameters.size(), &made, &s.error) == QUENCH_OK);
  REQUIRE(made != nullptr);
  return made;
}

quench_quantizer_state* begin(Session& s, quench_quantizer* quantizer) {
  const Group group;
  quench_quantizer_state* state = nullptr;
  REQUIRE(s.quantizer->begin(quantizer, &group.args, &state, &s.error) == QUENCH_OK);
  REQUIRE(state != nullptr);
  return state;
}

quench_status observe(Session& s, quench_quantizer* quantizer, quench_quantizer_state* state,
                      const quench_tensor& x) {
  const quench_observe_args args{sizeof args, 0, &x, nullptr, nullptr, nullptr, nullptr};
  return s.quantizer->observe(quantizer, state, &args, &s.error);
}

quench_status quantize(Session& s, quench_quantizer* quantizer, quench_quantizer_state* state,
                       uint32_t linear, const quench_tensor& weight, const quench_tensor& out,
                       Results& results) {
  const quench_quantize_args args{sizeof args, 0, linear, &weight, &out, &results.sink, nullptr};
  return s.quantizer->quantize(quantizer, state, &args, &s.error);
}

// All that the plugin does for one linear; afterwards only its op is left, which has no state.
void quantize_and_end(Session& s, const std::string& parameters, uint32_t linear,
                      Results& results) {
  quench_quantizer* quantizer = create(s, parameters);
  quench_quantizer_state* state = begin(s, quantizer);
  Owned<float> weight(kFloat32, {4, 3});
  Owned<float> dequantized(kFloat32, {4, 3});
  REQUIRE(quantize(s, quantizer, state, linear, weight.view, dequantized.view, results) ==
          QUENCH_OK);
  s.quantizer->end(quantizer, state);
  s.quantizer->destroy(quantizer);
}

}  // namespace

TEST_CASE("wire tables: a quantizer does across a border what it does without", "[wire]") {
  Session s;
  const int64_t out = GENERATE(4, 900);  // rows: in messages, in shared memory
  quench_quantizer* quantizer = create(s, "{\"bits\": 8}");
  CHECK(s.quantizer->needs(quantizer) == (QUENCH_NEEDS_ROWS | QUENCH_MAKES_LINEAR_OP));
  quench_quantizer_state* state = begin(s, quantizer);
  Owned<float> rows(kFloat32, {2, 3});
  rows.values = {1, 2, 3, 4, 5, 6};
  REQUIRE(observe(s, quantizer, state, rows.view) == QUENCH_OK);

  Owned<float> weight(kFloat32, {out, 3});
  Owned<float> dequantized(kFloat32, {3, out});  // to be written column by column
  for (size_t i = 0; i < weight.values.size(); ++i) {
    weight.values[i] = static_cast<float>(i % 200) + 0.25F;
  }
  const int64_t shape[] = {out, 3};
  const int64_t strides[] = {1, out};
  dequantized.view.shape = shape;
  dequantized.view.strides = strides;
  Results results;
  REQUIRE(quantize(s, quantizer, state, 0, weight.view, dequantized.view, results) == QUENCH_OK);
  CHECK(results.op == nullptr);
  CHECK(results.numbers == std::map<std::string, double>{{"bits_per_weight", 8}});
  CHECK(results.texts == std::map<std::string, std::string>{{"layer.0", "{\"bits\": 8}"}});
  const Owned<uint8_t>& codes = *results.tensors.at("codes");
  REQUIRE(codes.values.size() == weight.values.size());
  for (size_t i = 0; i < codes.values.size(); ++i) {
    CAPTURE(i);
    REQUIRE(codes.values[i] == i % 200);
    REQUIRE(dequantized.values[i % 3 * static_cast<size_t>(out) + i / 3] ==
            static_cast<float>(i % 200));
  }
  const Owned<uint8_t>& scales = *results.tensors.at("scales");
  REQUIRE(scales.values.size() == static_cast<size_t>(out) * sizeof(double));
  double last = 0;
  std::memcpy(&last, scales.values.data() + scales.values.size() - sizeof last, sizeof last);
  CHECK(last == 0.5);
  s.quantizer->end(quantizer, state);
  s.quantizer->destroy(quantizer);
  s.check_all_given_back();
}

TEST_CASE("wire tables: an op is the host's until it releases it, once", "[wire]") {
  Session s;
  Results results;
  quantize_and_end(s, "{}", 1, results);
  REQUIRE(results.op != nullptr);
  CHECK(live_fakes() == 1);

  Owned<float> x(kFloat32, {300, 3});
  Owned<float> y(kFloat32, {300, 3});
  x.values.back() = 41;
  CHECK(results.op->apply(results.op->context, &x.view, &y.view, nullptr, &s.error) == QUENCH_OK);
  CHECK(y.values.front() == 1);
  CHECK(y.values.back() == 42);
  Owned<float> none(kFloat32, {0, 3});
  CHECK(results.op->apply(results.op->context, &none.view, &none.view, nullptr, &s.error) ==
        QUENCH_INVALID_ARGUMENT);
  CHECK(std::string(s.error.message) == "x: no rows");
  REQUIRE(results.op->inputs != nullptr);
  x.values.front() = 1.75F;
  CHECK(results.op->inputs(results.op->context, &x.view, &y.view, nullptr, &s.error) == QUENCH_OK);
  CHECK(y.values.front() == 2);
  CHECK(y.values.back() == 41);
  results.op->release(results.op->context);
  s.check_all_given_back();
}

TEST_CASE("wire tables: an op that does not tell its inputs does not across a border", "[wire]") {
  Session s;
  Results results;
  quantize_and_end(s, "silent", 1, results);
  REQUIRE(results.op != nullptr);
  CHECK(results.op->apply != nullptr);
  CHECK(results.op->inputs == nullptr);
  results.op->release(results.op->context);
  s.check_all_given_back();
}

TEST_CASE("wire tables: an op on keys and values changes those of the caller", "[wire]") {
  Session s;
  Results results;
  quantize_and_end(s, "cache", 0, results);
  const quench_cache_op& op = results.cache_op;
  REQUIRE(op.apply != nullptr);
  CHECK(live_fakes() == 1);

  const int64_t length = GENERATE(2, 700);  // in messages, in shared memory
  Owned<float> keys(kFloat32, {length, 2, 3});
  Owned<float> values(kFloat32, {length, 2, 4});
  Owned<int32_t> tokens({QUENCH_DTYPE_INT, 32, 1}, {1, length});
  keys.values.back() = 21;
  tokens.values.front() = 5;
  tokens.values.back() = 7;
  quench_batch batch{sizeof batch, 0, &tokens.view, nullptr, nullptr};
  const quench_cache_args args{sizeof args, 0, &keys.view, &values.view, &batch, nullptr};
  CHECK(op.apply(op.context, &args, &s.error) == QUENCH_OK);
  CHECK(keys.values.back() == 42);
  CHECK(values.values.front() == 5);
  CHECK(values.values.back() == 7);
  batch.segments = &tokens.view;
  CHECK(op.apply(op.context, &args, &s.error) == QUENCH_UNSUPPORTED);
  CHECK(std::string(s.error.message) == "segments: not here");
  op.release(op.context);
  s.check_all_given_back();
}

TEST_CASE("wire tables: an op that the host does not take stays the plugin's", "[wire]") {
  Session s;
  quench_quantizer* quantizer = create(s, "{}");
  quench_quantizer_state* state = begin(s, quantizer);
  Owned<float> weight(kFloat32, {4, 3});
  Owned<float> dequantized(kFloat32, {4, 3});
  Results results;
  results.numbers["refuse op"] = 1;
  CHECK(quantize(s, quantizer, state, 1, weight.view, dequantized.view, results) ==
        QUENCH_UNSUPPORTED);
  CHECK(std::string(s.error.message) == "no ops here");
  s.quantizer->end(quantizer, state);
  s.quantizer->destroy(quantizer);
  s.check_all_given_back();
}

TEST_CASE("wire tables: failures come with their messages", "[wire]") {
  Session s;
  quench_quantizer* none = nullptr;
  CHECK(s.quantizer->create("bad", 3, &none, &s.error) == QUENCH_INVALID_ARGUMENT);
  CHECK(std::string(s.error.message) == "parameters: got bad");
  CHECK(none == nullptr);
  quench_quantizer* quantizer = create(s, "{}");
  Group group;
  group.args.in_features = 0;
  quench_quantizer_state* no_state = nullptr;
  CHECK(s.quantizer->begin(quantizer, &group.args, &no_state, &s.error) == QUENCH_INVALID_ARGUMENT);
  quench_quantizer_state* state = begin(s, quantizer);
  Owned<float> wide(kFloat32, {2, 4});
  CHECK(observe(s, quantizer, state, wide.view) == QUENCH_INVALID_ARGUMENT);
  CHECK(std::string(s.error.message) == "x: another width");
  Owned<float> weight(kFloat32, {4, 3});
  Owned<float> dequantized(kFloat32, {4, 3});
  Results results;
  CHECK(quantize(s, quantizer, state, 9, weight.view, dequantized.view, results) ==
        QUENCH_NUMERICAL);
  results.refuses_texts = true;  // the sink's failure is the quantizer's
  CHECK(quantize(s, quantizer, state, 0, weight.view, dequantized.view, results) ==
        QUENCH_UNSUPPORTED);
  CHECK(std::string(s.error.message) == "no texts here");
  s.quantizer->end(quantizer, state);
  s.quantizer->destroy(quantizer);
  s.check_all_given_back();
}

TEST_CASE("wire tables: optional functions are those of the plugin", "[wire]") {
  Session s;
  quench_quantizer* quantizer = create(s, "{}");
  CHECK(s.quantizer->prepare == nullptr);
  CHECK(s.quantizer->predict_memory == nullptr);
  CHECK(s.quantizer->apply_plan == nullptr);
  REQUIRE(s.quantizer->rule_fits != nullptr);
  CHECK(s.quantizer->rule_fits(quantizer, 1, "layer.1") == 1);
  CHECK(s.quantizer->rule_fits(quantizer, 0, "layer.1") == 0);
  REQUIRE(s.quantizer->accepts != nullptr);
  quench_quantizer* same = create(s, "{}");
  quench_quantizer* other = create(s, "{\"bits\": 2}");
  CHECK(s.quantizer->accepts(quantizer, same) == 1);
  CHECK(s.quantizer->accepts(quantizer, other) == 0);
  for (quench_quantizer* one : {quantizer, same, other}) {
    s.quantizer->destroy(one);
  }
  CHECK(s.two.host->exports().size() == 0);
  CHECK(live_fakes() == 0);
  CHECK(s.two.host->distrusted().empty());
}

TEST_CASE("wire tables: a Gram matrix is seen and set", "[wire]") {
  Session s;
  quench_quantizer* quantizer = create(s, "{}");
  quench_quantizer_state* state = begin(s, quantizer);
  quench_tensor view{};
  double count = 0;
  CHECK(s.quantizer->gram_get(quantizer, state, &view, &count, &s.error) ==
        QUENCH_FAILED_PRECONDITION);
  CHECK(std::string(s.error.message) == "no rows were observed");
  Owned<float> rows(kFloat32, {2, 3});
  rows.values = {1, 2, 3, 4, 5, 6};
  REQUIRE(observe(s, quantizer, state, rows.view) == QUENCH_OK);
  REQUIRE(s.quantizer->gram_get(quantizer, state, &view, &count, &s.error) == QUENCH_OK);
  CHECK(count == 2);
  REQUIRE(view.dimensions == 2);
  const auto* first = static_cast<const double*>(view.data);
  CHECK(std::vector<double>(first, first + 9) ==
        std::vector<double>{17, 22, 27, 22, 29, 36, 27, 36, 45});
  Owned<double> identity(kFloat64, {3, 3});
  identity.values = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  REQUIRE(s.quantizer->gram_set(quantizer, state, &identity.view, 7, &s.error) == QUENCH_OK);
  CHECK(first[1] == 22);  // the first view stays readable
  REQUIRE(s.quantizer->gram_get(quantizer, state, &view, &count, &s.error) == QUENCH_OK);
  CHECK(count == 7);
  CHECK(static_cast<const double*>(view.data)[1] == 0);
  Owned<float> weight(kFloat32, {4, 3});
  double squared = 0;
  double reference = 0;
  REQUIRE(s.quantizer->output_error(quantizer, state, &weight.view, &weight.view, &squared,
                                    &reference, &s.error) == QUENCH_OK);
  CHECK(squared == 7);
  CHECK(reference == 4);
  s.quantizer->end(quantizer, state);
  s.quantizer->destroy(quantizer);
  CHECK(s.two.host->distrusted().empty());
}

TEST_CASE("wire tables: objects of another kind, and of nobody, are refused", "[wire][bad]") {
  Session s;
  quench_quantizer* quantizer = create(s, "{}");
  SECTION("a state that is a quantizer") {
    Owned<float> rows(kFloat32, {2, 3});
    CHECK(observe(s, quantizer, reinterpret_cast<quench_quantizer_state*>(quantizer), rows.view) !=
          QUENCH_OK);
    CHECK_THAT(s.two.finish(), Catch::Contains("there is no such object 1"));
  }
  SECTION("an object that was never given") {
    wire::Remote nobody(s.two.host, 99, wire::remote(quantizer)->item_target(), nullptr);
    CHECK(s.quantizer->needs(reinterpret_cast<const quench_quantizer*>(&nobody)) == 0);
    CHECK_THAT(s.two.finish(), Catch::Contains("there is no such object 99"));
  }
  SECTION("a table that was never given") {
    wire::Remote nobody(s.two.host, 1, 77, nullptr);
    CHECK(s.quantizer->needs(reinterpret_cast<const quench_quantizer*>(&nobody)) == 0);
    CHECK_THAT(s.two.finish(), Catch::Contains("there is no table 77"));
  }
  s.quantizer->destroy(quantizer);  // of a plugin that has ended
}

TEST_CASE("wire tables: an object of another process is refused without a call", "[wire][bad]") {
  Session s;
  quench_quantizer* quantizer = create(s, "{}");
  const auto elsewhere = std::make_shared<SidePeer>("elsewhere");
  wire::Remote stranger(elsewhere, 1, 1, nullptr);
  CHECK(s.quantizer->accepts(quantizer, reinterpret_cast<const quench_quantizer*>(&stranger)) == 0);
  CHECK(s.quantizer->needs(quantizer) != 0);  // and the connection is as it was
  s.quantizer->destroy(quantizer);
}

// ---- the other kinds -------------------------------------------------------------------------

namespace {

// What a metric is given and writes.
struct Subject {
  std::vector<std::string> lines;
  std::vector<int32_t> encoded;
  uint64_t scored = 0;

  static Subject& of(void* context) { return *static_cast<Subject*>(context); }
  static quench_status score(void* context, const quench_score_args* args,
                             quench_error* error) noexcept {
    if (args->ids[0] < 0) {
      return report_error(error, QUENCH_INVALID_ARGUMENT, "an id below 0");
    }
    of(context).scored += args->rows;
    for (uint64_t i = 0; i < args->starts[args->rows]; ++i) {
      args->nll[i] = args->ids[i] * 0.5;
      args->argmax[i] = 1;
    }
    return QUENCH_OK;
  }
  static quench_status value(void* context, const char* name, double value, const char* unit,
                             int32_t direction, double standard_error, quench_error*) noexcept {
    of(context).lines.push_back(
        fmt::format("{} {} {} {} {}", name, value, unit, direction, std::isnan(standard_error)));
    return QUENCH_OK;
  }
  static quench_status detail(void* context, const char* name, double value,
                              quench_error*) noexcept {
    of(context).lines.push_back(fmt::format("{} {}", name, value));
    return QUENCH_OK;
  }
  static quench_status items(void* context, const char* name, const double* values, uint64_t count,
                             quench_error*) noexcept {
    of(context).lines.push_back(fmt::format("{}: {} to {}", name, count, values[count - 1]));
    return QUENCH_OK;
  }
  static quench_status json(void* context, const char* name, const char* text, uint64_t bytes,
                            quench_error*) noexcept {
    of(context).lines.push_back(fmt::format("{} {}", name, std::string_view(text, bytes)));
    return QUENCH_OK;
  }
  static quench_status encode(void* context, const char*, uint64_t bytes, int32_t special,
                              const int32_t** ids, uint64_t* count, quench_error*) noexcept {
    of(context).encoded.assign(bytes + static_cast<uint64_t>(special), 7);
    *ids = of(context).encoded.data();
    *count = of(context).encoded.size();
    return QUENCH_OK;
  }
  quench_subject subject{sizeof(quench_subject), &model_table, nullptr, this, score};
  quench_metric_sink sink{sizeof(quench_metric_sink), this, value, detail, items, json};
  quench_tokenizer tokenizer{sizeof(quench_tokenizer), this, encode};
  static const quench_model_table model_table;
};

const quench_model_table Subject::model_table = {};

// Tensors "first" and "second", the second one of 500 numbers from 0.
struct Numbers {
  static uint64_t count(const quench_source*) noexcept { return 2; }
  static quench_status info(const quench_source*, uint64_t index, quench_tensor_info* info,
                            quench_error* error) noexcept {
    static const int64_t shape[] = {500};
    if (index > 1) {
      return report_error(error, QUENCH_INVALID_ARGUMENT, "no such tensor");
    }
    *info = {sizeof *info, index == 0 ? "first" : "second", kFloat64, 1, shape, index};
    return QUENCH_OK;
  }
  static quench_status find(const quench_source*, const char* name, uint64_t* index,
                            quench_error* error) noexcept {
    if (std::string(name) != "second") {
      return report_error(error, QUENCH_NOT_FOUND, "no such name");
    }
    *index = 1;
    return QUENCH_OK;
  }
  static quench_status read(const quench_source*, uint64_t, uint64_t first, uint64_t elements,
                            void* destination, quench_error*) noexcept {
    for (uint64_t i = 0; i < elements; ++i) {
      static_cast<double*>(destination)[i] = static_cast<double>(first + i);
    }
    return QUENCH_OK;
  }
  quench_source source{sizeof(quench_source), this, count, info, find, read};
};

}  // namespace

TEST_CASE("wire tables: a metric scores, encodes, reads weights and writes", "[wire]") {
  Session s;
  CHECK(s.metric->needs == nullptr);
  CHECK(s.metric->needs == nullptr);
  quench_metric* metric = nullptr;
  REQUIRE(s.metric->create("{}", 2, &metric, &s.error) == QUENCH_OK);
  Subject subject;
  const Numbers numbers;
  std::vector<int32_t> ids(600, 2);
  const uint64_t offsets[] = {0, 100, 100, 600};
  const quench_tokens tokens{sizeof tokens, "corpus", "wiki", 3, ids.data(), offsets, nullptr};
  const quench_weights weights[] = {{sizeof(quench_weights), "float", "", 1, 2, &numbers.source},
                                    {sizeof(quench_weights), "again", "", 1, 2, &numbers.source}};
  quench_evaluate_args args{sizeof args,        0, &subject.subject, 1, &tokens, &subject.sink,
                            &subject.tokenizer, 2, weights};
  REQUIRE(s.metric->evaluate(metric, &args, &s.error) == QUENCH_OK);
  CHECK(subject.scored == 3);
  CHECK(subject.lines == std::vector<std::string>{"sum 1200 nats -1 true", "wiki: 600 to 1",
                                                  "last id 7", "second 1", "second 1", "facts {}"});
  subject.lines.clear();
  args.tokens_count = args.weights_count = 0;
  args.tokenizer = nullptr;
  REQUIRE(s.metric->evaluate(metric, &args, &s.error) == QUENCH_OK);
  CHECK(subject.lines == std::vector<std::string>{"facts {}"});
  ids[0] = -1;
  args.tokens_count = 1;
  CHECK(s.metric->evaluate(metric, &args, &s.error) == QUENCH_INVALID_ARGUMENT);
  CHECK(std::string(s.error.message) == "an id below 0");
  s.metric->destroy(metric);
  CHECK(s.two.host->exports().size() == 1);  // the model's table, which stays
  CHECK(s.two.host->distrusted().empty());
  CHECK(s.two.finish().empty());
  CHECK(live_fakes() == 0);
}

TEST_CASE("wire tables: a corpus is read to its end", "[wire]") {
  Session s;
  quench_corpus* corpus = nullptr;
  CHECK(s.corpus->open("", 0, &corpus, &s.error) == QUENCH_NOT_FOUND);
  CHECK(std::strlen(s.error.message) == sizeof s.error.message - 1);
  const std::string hash(64, 'a');
  REQUIRE(s.corpus->open(hash.data(), hash.size(), &corpus, &s.error) == QUENCH_OK);
  char hex[65];
  REQUIRE(s.corpus->fingerprint(corpus, hex, &s.error) == QUENCH_OK);
  CHECK(std::string(hex) == hash);
  for (const uint64_t bytes : {0, 5, 5000}) {
    quench_document document{};
    document.struct_size = sizeof document;
    REQUIRE(s.corpus->next(corpus, &document, &s.error) == QUENCH_OK);
    REQUIRE(document.text != nullptr);
    CHECK(document.text_bytes == bytes);
    CHECK(std::string(document.text) == (bytes == 5 ? "small" : std::string(bytes, 'l')));
    CHECK(document.ids == nullptr);
  }
  quench_document document{};
  document.struct_size = sizeof document;
  CHECK(s.corpus->next(corpus, &document, &s.error) == QUENCH_END);
  s.corpus->close(corpus);
  s.check_all_given_back();
}

TEST_CASE("wire tables: an optimizer evaluates the host's closure wherever it likes", "[wire]") {
  Session s;
  quench_optimizer* optimizer = nullptr;
  REQUIRE(s.optimizer->create("{}", 2, &optimizer, &s.error) == QUENCH_OK);
  const int64_t size = GENERATE(3, 70'000);  // in messages, in shared memory
  Owned<float> weights(kFloat32, {size});
  Owned<float> gradient(kFloat32, {size});
  for (size_t i = 0; i < weights.values.size(); ++i) {
    weights.values[i] = static_cast<float>(i % 100);
  }
  // The loss is 5 at every point, its gradient three times the weights.
  struct Tripled {
    int left = 100;
    static quench_status evaluate(void* context, const quench_tensor* at, const quench_tensor* to,
                                  double* loss, quench_error* error) noexcept {
      if (static_cast<Tripled*>(context)->left-- == 0) {
        return report_error(error, QUENCH_CANCELLED, "asked to stop");
      }
      for (int64_t i = 0; i < at->shape[0]; ++i) {
        static_cast<float*>(to->data)[i] = 3 * static_cast<const float*>(at->data)[i];
      }
      *loss = 5;
      return QUENCH_OK;
    }
  } tripled;
  const quench_closure closure = {sizeof closure, &tripled, Tripled::evaluate};
  const quench_closure_args args = {sizeof args, 0, 2, &weights.view, &closure, &gradient.view};
  REQUIRE(s.optimizer->gradient(optimizer, &args, &s.error) == QUENCH_OK);
  CHECK(tripled.left == 97);
  for (size_t i = 0; i < gradient.values.size(); ++i) {
    CAPTURE(i);
    REQUIRE(gradient.values[i] == 15 * weights.values[i] + 10);  // 3w + 2·(6w + 5)
  }
  tripled.left = 1;
  CHECK(s.optimizer->gradient(optimizer, &args, &s.error) == QUENCH_CANCELLED);
  CHECK(std::string(s.error.message) == "asked to stop");
  s.optimizer->destroy(optimizer);
  CHECK(s.two.host->exports().size() == 0);
  CHECK(s.two.host->distrusted().empty());
  CHECK(live_fakes() == 0);
}

TEST_CASE("wire tables: an averaging selects, sums and searches", "[wire]") {
  Session s;
  quench_averaging* averaging = nullptr;
  REQUIRE(s.averaging->create("{}", 2, &averaging, &s.error) == QUENCH_OK);
  CHECK(s.averaging->needs(averaging) == QUENCH_AVERAGING_ANY_ORDER);
  {
    const std::string names[] = {"step1", "step2", "step3"};
    const quench_averaging_member members[] = {
        {sizeof(quench_averaging_member), names[0].c_str(), 1, -1},
        {sizeof(quench_averaging_member), names[1].c_str(), 2, -1},
        {sizeof(quench_averaging_member), names[2].c_str(), 3, -1}};
    uint64_t selected[3] = {};
    uint64_t count = 0;
    CHECK(s.averaging->select(averaging, members, 3, 0, selected, &count, &s.error) ==
          QUENCH_FAILED_PRECONDITION);
    CHECK(std::string(s.error.message) == "too few members before step1");
    REQUIRE(s.averaging->select(averaging, members, 3, 2, selected, &count, &s.error) == QUENCH_OK);
    CHECK(count == 2);
    CHECK(selected[0] == 1);
    CHECK(selected[1] == 2);
    REQUIRE(s.averaging->begin(averaging, members + 1, 2, &s.error) == QUENCH_OK);
  }
  std::vector<double> values(700, 2);
  REQUIRE(s.averaging->accumulate(averaging, 0, values.data(), 700, &s.error) == QUENCH_OK);
  values.back() = 3;
  REQUIRE(s.averaging->accumulate(averaging, 1, values.data(), 700, &s.error) == QUENCH_OK);
  std::vector<double> mean(700);
  REQUIRE(s.averaging->finish(averaging, mean.data(), 700, &s.error) == QUENCH_OK);
  CHECK(mean.front() == 2);
  CHECK(mean.back() == 2.5);
  // What `begin` was given is the plugin's until the next one.
  CHECK(s.averaging->accumulate(averaging, 2, values.data(), 700, &s.error) ==
        QUENCH_INVALID_ARGUMENT);
  CHECK(std::string(s.error.message) == "no member after step3");

  CHECK(s.averaging->begin_weighted == nullptr);
  const auto score = [](void* context, const double* weights, uint64_t count, double* value,
                        quench_error* error) noexcept -> quench_status {
    int& left = *static_cast<int*>(context);
    if (left-- == 0) {
      return report_error(error, QUENCH_CANCELLED, "asked to stop");
    }
    *value = 0;
    for (uint64_t i = 0; i < count; ++i) {
      *value += weights[i] * (i == 1 ? 0.5 : 1);
    }
    return QUENCH_OK;
  };
  const quench_averaging_member members[] = {{sizeof(quench_averaging_member), "a", 1, -1},
                                             {sizeof(quench_averaging_member), "b", 2, -1}};
  double weights[2] = {};
  int left = 5;
  REQUIRE(s.averaging->search(averaging, members, 2, score, &left, weights, &s.error) == QUENCH_OK);
  CHECK(left == 3);
  CHECK(weights[0] == 0);
  CHECK(weights[1] == 1);
  left = 1;
  CHECK(s.averaging->search(averaging, members, 2, score, &left, weights, &s.error) ==
        QUENCH_CANCELLED);
  CHECK(std::string(s.error.message) == "asked to stop");
  s.averaging->destroy(averaging);
  CHECK(s.two.host->exports().size() == 0);
  CHECK(s.two.finish().empty());
  CHECK(live_fakes() == 0);
}

TEST_CASE("wire tables: a tokenizer fills the memory that its sink gives", "[wire]") {
  Session s;
  const quench_file_head head{sizeof head, "bytes.txt", "b", 1, 1};
  CHECK(s.tokenizer->probe(&head, &s.error) == 100);
  quench_encoder* encoder = nullptr;
  REQUIRE(s.tokenizer->open("b", 1, "bytes.txt", "{}", 2, &encoder, &s.error) == QUENCH_OK);
  CHECK(s.tokenizer->vocabulary_size(encoder) == 256);
  struct Ids {
    std::vector<uint64_t> counts;
    std::vector<int32_t> ids;
    bool refuses = false;
    static int32_t* allocate(void* context, const uint64_t* counts, uint64_t count) noexcept {
      Ids& self = *static_cast<Ids*>(context);
      if (self.refuses) {
        return nullptr;
      }
      self.counts.assign(counts, counts + count);
      uint64_t sum = 0;
      for (uint64_t i = 0; i < count; ++i) {
        sum += counts[i];
      }
      self.ids.assign(sum, -1);
      return self.ids.data();
    }
  } ids;
  const quench_id_sink sink{sizeof sink, &ids, Ids::allocate};
  const std::string text = std::string("ab") + std::string(3000, 'c');
  const uint64_t offsets[] = {0, 2, 2, text.size()};
  const quench_text_batch batch{sizeof batch, 0, 3, text.data(), offsets};
  REQUIRE(s.tokenizer->encode(encoder, &batch, &sink, &s.error) == QUENCH_OK);
  CHECK(ids.counts == std::vector<uint64_t>{2, 0, 3000});
  CHECK(ids.ids == std::vector<int32_t>(text.begin(), text.end()));
  ids.refuses = true;
  CHECK(s.tokenizer->encode(encoder, &batch, &sink, &s.error) == QUENCH_RESOURCE_EXHAUSTED);
  CHECK(std::string(s.error.message) == "no memory for ids");
  s.tokenizer->close(encoder);
  s.check_all_given_back();
}

TEST_CASE("wire tables: a plugin that has ended fails all calls and closes all objects",
          "[wire][bad]") {
  Session s;
  quench_corpus* corpus = nullptr;
  REQUIRE(s.corpus->open("{}", 2, &corpus, &s.error) == QUENCH_OK);
  s.two.finish();
  quench_document document{};
  document.struct_size = sizeof document;
  CHECK(s.corpus->next(corpus, &document, &s.error) == QUENCH_UNAVAILABLE);
  CHECK(std::string(s.error.message) == "the worker: the connection is closed");
  s.corpus->close(corpus);
}

TEST_CASE("wire tables: a value that a plugin ended in is not taken for one", "[wire][bad]") {
  Session s;
  quench_encoder* encoder = nullptr;
  REQUIRE(s.tokenizer->open("b", 1, "bytes.txt", "{}", 2, &encoder, &s.error) == QUENCH_OK);
  s.two.finish();
  CHECK(s.tokenizer->vocabulary_size(encoder) == 0);
  CHECK_THROWS_WITH(wire::throw_lost_answer(), "the worker: the connection is closed");
  CHECK_NOTHROW(wire::throw_lost_answer());
  s.tokenizer->close(encoder);
  CHECK_NOTHROW(wire::throw_lost_answer());
}

TEST_CASE("tables: an object of a message that is not whole ends with the message", "[wire][bad]") {
  Session session;
  std::array<uint64_t, 1> number = {7};
  wire::Reader reader(std::as_bytes(std::span(number)), nullptr);
  const long before = session.two.host.use_count();
  const auto receive = [&](bool whole) {
    wire::Reader message = reader;
    wire::Receiving in(session.two.host, message, session.keep, nullptr);
    auto* made = static_cast<wire::Remote*>(in.new_object(*wire::table_of_kind("corpus"), 1, {}));
    if (whole) {
      in.give_made();
    }
    return made;
  };
  receive(false);
  CHECK(session.two.host.use_count() == before);
  const std::unique_ptr<wire::Remote> given(receive(true));
  CHECK(session.two.host.use_count() == before + 1);
  CHECK(given->number() == 7);
}
