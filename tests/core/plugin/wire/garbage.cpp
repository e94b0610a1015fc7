#include "tests/core/plugin/wire/garbage.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <utility>

#include "core/error.hpp"
#include "core/plugin/wire/crossing.hpp"
#include "core/plugin/wire/services.hpp"
#include "quench/abi/kind/format.h"
#include "tests/core/plugin/wire/fake_plugin.hpp"
#include "tests/core/plugin/wire/two_peers.hpp"

namespace quench::wire {

extern const TableType k_quench_id_sink;
extern const TableType k_quench_linear_op;
extern const TableType k_quench_metric_sink;
extern const TableType k_quench_quantize_sink;
extern const TableType k_quench_source;
extern const TableType k_quench_subject;
extern const TableType k_quench_tokenizer;

}  // namespace quench::wire

namespace quench::test {

namespace {

constexpr quench_dtype kFloat32{QUENCH_DTYPE_FLOAT, 32, 1};
constexpr uint64_t kMostElements = 1 << 16;  // of what these fakes make
constexpr uint8_t kReplies = 128;

volatile uint64_t seen = 0;  // so that reading is not left out

void read_bytes(const void* data, uint64_t bytes) {
  const auto* first = static_cast<const unsigned char*>(data);
  for (uint64_t i = 0; i < bytes && i < kMostElements; ++i) {
    seen = seen + first[i];
  }
}

void read_text(const char* text) {
  read_bytes(text, std::strlen(text));
}

void read_tensor(const quench_tensor& tensor) {
  read_bytes(tensor.shape, static_cast<uint64_t>(tensor.dimensions) * sizeof(int64_t));
  if (tensor.data != nullptr) {
    read_bytes(tensor.data, wire::bytes_of(tensor));
  }
}

// ---- what the host lends ---------------------------------------------------------------------

// The host's side of the border. It believes what crosses to be what the headers promise, as the
// host does, and reads all of it.
struct Lent {
  static Lent& of(void* context) { return *static_cast<Lent*>(context); }

  static quench_status tensor(void* context, const char* name, quench_dtype dtype,
                              int32_t dimensions, const int64_t* shape, quench_tensor* view,
                              quench_error* error) noexcept {
    read_text(name);
    uint64_t bytes = dtype.bits / 8;
    for (int32_t d = 0; d < dimensions; ++d) {
      const int64_t size = shape[d];
      if (dimensions > QUENCH_MAX_DIMENSIONS || size < 0 ||
          static_cast<uint64_t>(size) > kMostElements || bytes > kMostElements) {
        return report_error(error, QUENCH_INVALID_ARGUMENT, "too large");
      }
      bytes *= static_cast<uint64_t>(size);
    }
    Lent& self = of(context);
    self.shapes.emplace_back(shape, shape + dimensions);
    self.memory.emplace_back(bytes + 1);
    *view = {self.memory.back().data(),
             {QUENCH_DEVICE_CPU, 0},
             dimensions,
             dtype,
             self.shapes.back().data(),
             nullptr,
             0};
    return QUENCH_OK;
  }
  static quench_status number(void*, const char* name, double, quench_error*) noexcept {
    read_text(name);
    return QUENCH_OK;
  }
  static quench_status text(void*, const char* name, const char* value, quench_error*) noexcept {
    read_text(name);
    read_text(value);
    return QUENCH_OK;
  }
  static quench_status linear_op(void* context, const quench_linear_op* op,
                                 quench_error*) noexcept {
    of(context).ops.push_back(*op);
    return QUENCH_OK;
  }
  static quench_status cache_op(void* context, const quench_cache_op* op, quench_error*) noexcept {
    of(context).cache_ops.push_back(*op);
    return QUENCH_OK;
  }
  static quench_status value(void*, const char* name, double, const char* unit, int32_t, double,
                             quench_error*) noexcept {
    read_text(name);
    read_text(unit);
    return QUENCH_OK;
  }
  static quench_status items(void*, const char* name, const double* values, uint64_t count,
                             quench_error*) noexcept {
    read_text(name);
    read_bytes(values, count * sizeof(double));
    return QUENCH_OK;
  }
  static quench_status json(void*, const char* name, const char* bytes, uint64_t count,
                            quench_error*) noexcept {
    read_text(name);
    read_bytes(bytes, count);
    return QUENCH_OK;
  }
  static quench_status encode(void* context, const char* bytes, uint64_t count, int32_t,
                              const int32_t** ids, uint64_t* id_count, quench_error*) noexcept {
    read_bytes(bytes, count);
    of(context).ids.assign(3, 7);
    *ids = of(context).ids.data();
    *id_count = 3;
    return QUENCH_OK;
  }
  static quench_status score(void*, const quench_score_args* args, quench_error* error) noexcept {
    const uint64_t ids = args->starts[args->rows];
    if (ids > kMostElements) {
      return report_error(error, QUENCH_INVALID_ARGUMENT, "too many");
    }
    read_bytes(args->starts, (args->rows + 1) * sizeof(uint64_t));
    read_bytes(args->ids, ids * sizeof(int32_t));
    if (args->scored_from != nullptr) {
      read_bytes(args->scored_from, args->rows * sizeof(uint64_t));
    }
    if (args->parents != nullptr) {
      read_bytes(args->parents, args->rows * sizeof(int64_t));
    }
    if (args->nll != nullptr) {
      std::fill_n(args->nll, ids, 0.0);
    }
    if (args->argmax != nullptr) {
      std::fill_n(args->argmax, ids, 0);
    }
    return QUENCH_OK;
  }
  static int32_t* allocate(void* context, const uint64_t* counts, uint64_t count) noexcept {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; ++i) {
      if (counts[i] > kMostElements - sum) {
        return nullptr;
      }
      sum += counts[i];
    }
    of(context).ids.assign(sum + 1, 0);
    return of(context).ids.data();
  }

  static uint64_t count(const quench_source*) noexcept { return 1; }
  static quench_status info(const quench_source*, uint64_t index, quench_tensor_info* info,
                            quench_error* error) noexcept {
    static constexpr int64_t kShape[] = {2, 3};
    if (index != 0) {
      return report_error(error, QUENCH_INVALID_ARGUMENT, "no such tensor");
    }
    *info = {sizeof *info, "first", kFloat32, 2, kShape, 0};
    return QUENCH_OK;
  }
  static quench_status find(const quench_source*, const char* name, uint64_t* index,
                            quench_error*) noexcept {
    read_text(name);
    *index = 0;
    return QUENCH_OK;
  }
  static quench_status read(const quench_source*, uint64_t index, uint64_t first, uint64_t elements,
                            void* destination, quench_error* error) noexcept {
    if (index != 0 || first > 6 || elements > 6 - first) {
      return report_error(error, QUENCH_INVALID_ARGUMENT, "beyond the tensor");
    }
    std::memset(destination, 1, elements * sizeof(float));
    return QUENCH_OK;
  }

  static const void* service(const quench_host*, const char* id) noexcept {
    static constexpr quench_log kLog = {
        sizeof(quench_log),
        [](const quench_host*, int32_t, const char* message) noexcept { read_text(message); }};
    return std::strcmp(id, QUENCH_SERVICE_LOG) == 0 ? &kLog : nullptr;  // and no other one
  }
  static const quench_model_table kModelTable;

  quench_quantize_sink sink{sizeof sink, this, tensor, number, text, linear_op, cache_op};
  quench_metric_sink metric_sink{sizeof metric_sink, this, value, number, items, json};
  quench_tokenizer tokenizer{sizeof tokenizer, this, encode};
  quench_subject subject{sizeof subject, &kModelTable, nullptr, this, score};
  quench_id_sink id_sink{sizeof id_sink, this, allocate};
  quench_source source{sizeof source, this, count, info, find, read};
  quench_host host{sizeof host, 0, nullptr, "test", service};

  std::deque<std::vector<int64_t>> shapes;
  std::deque<std::vector<char>> memory;
  std::vector<int32_t> ids;
  std::vector<quench_linear_op> ops;
  std::vector<quench_cache_op> cache_ops;
};

const quench_model_table Lent::kModelTable = {};

std::vector<std::pair<const wire::TableType*, const void*>> lent_tables(const Lent& lent) {
  return {{&wire::k_quench_quantize_sink, &lent.sink},
          {&wire::k_quench_metric_sink, &lent.metric_sink},
          {&wire::k_quench_tokenizer, &lent.tokenizer},
          {&wire::k_quench_subject, &lent.subject},
          {&wire::k_quench_id_sink, &lent.id_sink},
          {&wire::k_quench_source, &lent.source},
          {&wire::kServices, nullptr}};
}

// ---- both sides of one connection ------------------------------------------------------------

// A peer that sends to itself, on one thread: what it waits for is written before it waits.
class Mirror final : public wire::Peer, public wire::Patience {
 public:
  Mirror() {
    Sockets sockets;
    auto own = std::make_unique<wire::OwnMemory>(false);
    own->limit(wire::kKeptBytes);
    Descriptor again(::dup(own->descriptor()));
    end_ = std::move(sockets.worker);
    channel_ = std::make_unique<wire::Channel>(
        std::move(sockets.host), std::move(own), std::move(again),
        [](wire::Channel&, const wire::Header&, wire::Reader&, wire::Writer&) {}, *this);
  }

  // Replies with these in turn, then with nothing at all.
  void answer_with(std::vector<std::vector<std::byte>> replies) {
    replies_.assign(replies.begin(), replies.end());
  }
  // Serves its own calls, and keeps them and the replies.
  struct Exchange {
    const wire::TableType* type;
    uint16_t function;
    std::vector<std::byte> call;
    std::vector<std::byte> reply;
    bool outer;  // not within another one
  };
  std::vector<Exchange>* record = nullptr;

  wire::Channel& channel() override { return *channel_; }
  std::unique_lock<std::recursive_mutex> turn(wire::Channel&) override { return {}; }
  std::string name() const override { return "the mirror"; }
  void distrust(const char*) noexcept override {}
  void broken(const char* why) override { fail(QUENCH_UNAVAILABLE, "{}", why); }

  void begin() override {
    wire::Header header;
    read_all(&header, sizeof header);
    std::vector<std::byte> call(header.bytes);
    read_all(call.data(), call.size());
    std::vector<std::byte> reply;
    if (record != nullptr) {
      reply = served(header, call);
    } else if (!replies_.empty()) {
      reply = std::move(replies_.front());
      replies_.pop_front();
    }
    header.kind = wire::kReplyMessage;
    header.bytes = static_cast<uint32_t>(reply.size());
    write_all(&header, sizeof header);
    write_all(reply.data(), reply.size());
  }

 private:
  std::vector<std::byte> served(const wire::Header& header, const std::vector<std::byte>& call) {
    const wire::TableType* type =
        header.target == 0 ? &wire::kServices : exports().table(header.target).type;
    const bool outer = depth_ == 0;
    ++depth_;
    wire::Reader in(call, &channel_->theirs());
    wire::Writer out(channel_->own());
    serve(*channel_, header, in, out);
    --depth_;
    std::vector<std::byte> reply(out.bytes().begin(), out.bytes().end());
    record->push_back({type, header.function, call, reply, outer});
    return reply;
  }
  void read_all(void* to, size_t bytes) {
    if (bytes > 0 && ::recv(end_.get(), to, bytes, MSG_WAITALL) != static_cast<ssize_t>(bytes)) {
      fail(QUENCH_INTERNAL, "the mirror's socket gave less than a message");
    }
  }
  void write_all(const void* from, size_t bytes) {
    if (bytes > 0 && ::send(end_.get(), from, bytes, MSG_NOSIGNAL) != static_cast<ssize_t>(bytes)) {
      fail(QUENCH_INTERNAL, "the mirror's socket took less than a message");
    }
  }

  Descriptor end_;
  std::unique_ptr<wire::Channel> channel_;
  std::deque<std::vector<std::byte>> replies_;
  int depth_ = 0;
};

Mirror& mirror() {
  static const auto one = std::make_shared<Mirror>();
  return *one;
}

// An item whose calls go to the mirror.
struct Item final : wire::RemoteItem {
  std::shared_ptr<wire::Peer> peer() override { return mirror().shared_from_this(); }
};

template <typename Table>
const Table& item_table(const char* kind, uint64_t target) {
  static Item item;
  static wire::Keep keep;
  item.target = target;
  wire::Reader nothing({}, nullptr);
  wire::Receiving in(item.peer(), nothing, keep, nullptr);
  static const void* const table =
      wire::table_of_kind(kind)->make(~uint64_t{0}, nullptr, &item, in);
  return *static_cast<const Table*>(table);
}

// ---- what the host calls ---------------------------------------------------------------------

quench_error no_error() {
  return {sizeof(quench_error), 0, {}};
}

void use_quantizer(Lent& lent) {
  const auto& table = item_table<quench_quantizer_table>("quantizer", 1);
  quench_error error = no_error();
  quench_quantizer* quantizer = nullptr;
  if (table.create("{}", 2, &quantizer, &error) != QUENCH_OK) {
    return;
  }
  table.needs(quantizer);
  const quench_linear_info linear{sizeof linear, 0, "layer", "q", "w", nullptr, 2, 3};
  const quench_group_info group{sizeof group, 0, 0, -1, -1, 1, &linear, 0, nullptr};
  const quench_group_args args{sizeof args, 0, 0, 0, &group, 3, {QUENCH_DEVICE_CPU, 0}};
  quench_quantizer_state* state = nullptr;
  if (table.begin(quantizer, &args, &state, &error) == QUENCH_OK) {
    float numbers[6] = {1, 2, 3, 4, 5, 6};
    float rounded[6] = {};
    const int64_t shape[] = {2, 3};
    const quench_tensor x{numbers, {QUENCH_DEVICE_CPU, 0}, 2, kFloat32, shape, nullptr, 0};
    const quench_tensor to{rounded, {QUENCH_DEVICE_CPU, 0}, 2, kFloat32, shape, nullptr, 0};
    const quench_observe_args rows{sizeof rows, 0, &x, nullptr, nullptr, nullptr, nullptr};
    table.observe(quantizer, state, &rows, &error);
    quench_tensor view{};
    double count = 0;
    if (table.gram_get != nullptr &&
        table.gram_get(quantizer, state, &view, &count, &error) == QUENCH_OK) {
      read_tensor(view);
    }
    const quench_quantize_args linear_args{sizeof linear_args, 0, 0, &x, &to, &lent.sink, nullptr};
    table.quantize(quantizer, state, &linear_args, &error);
    table.end(quantizer, state);
  }
  table.destroy(quantizer);
}

void read_group(const quench_group_info& group) {
  for (uint32_t i = 0; i < group.linear_count; ++i) {
    read_text(group.linears[i].name);
    read_text(group.linears[i].weight);
  }
}

void use_model(Lent& lent) {
  const auto& table = item_table<quench_model_table>("model", 2);
  quench_error error = no_error();
  const quench_model_open_args args{sizeof args, 0, &lent.source, "{}", 2, {QUENCH_DEVICE_CPU, 0},
                                    kFloat32};
  quench_model* model = nullptr;
  if (table.open(&args, &model, &error) != QUENCH_OK) {
    return;
  }
  quench_model_info info{};
  info.struct_size = sizeof info;
  table.info(model, &info, &error);
  const quench_parameter_info* parameters = nullptr;
  uint64_t count = 0;
  if (table.parameters(model, &parameters, &count, &error) == QUENCH_OK) {
    for (uint64_t i = 0; i < count; ++i) {
      read_text(parameters[i].name);
      read_bytes(parameters[i].shape,
                 static_cast<uint64_t>(parameters[i].dimensions) * sizeof(int64_t));
      for (uint32_t a = 0; a < parameters[i].alias_count; ++a) {
        read_text(parameters[i].aliases[a]);
      }
    }
  }
  const quench_block_info* block = nullptr;
  if (table.block(model, 0, &block, &error) == QUENCH_OK) {
    for (uint32_t g = 0; g < block->group_count; ++g) {
      read_group(block->groups[g]);
    }
  }
  const quench_carry_info* carried = nullptr;
  uint32_t tensors = 0;
  if (table.carry(model, 0, 0, &carried, &tensors, &error) == QUENCH_OK) {
    for (uint32_t i = 0; i < tensors; ++i) {
      read_text(carried[i].name);
    }
  }
  table.close(model);
}

void use_corpus(Lent&) {
  const auto& table = item_table<quench_corpus_table>("corpus", 3);
  quench_error error = no_error();
  quench_corpus* corpus = nullptr;
  if (table.open("{}", 2, &corpus, &error) != QUENCH_OK) {
    return;
  }
  for (int i = 0; i < 4; ++i) {
    quench_document document{};
    document.struct_size = sizeof document;
    if (table.next(corpus, &document, &error) == QUENCH_OK) {
      read_bytes(document.text, document.text == nullptr ? 0 : document.text_bytes);
      read_bytes(document.ids, document.ids == nullptr ? 0 : document.id_count * sizeof(int32_t));
      read_bytes(document.record, document.record == nullptr ? 0 : document.record_bytes);
    }
  }
  char hex[65] = {};
  table.fingerprint(corpus, hex, &error);
  table.close(corpus);
}

void use_tokenizer(Lent& lent) {
  const auto& table = item_table<quench_tokenizer_table>("tokenizer", 4);
  quench_error error = no_error();
  quench_encoder* encoder = nullptr;
  if (table.open("b", 1, "bytes.txt", "{}", 2, &encoder, &error) != QUENCH_OK) {
    return;
  }
  table.vocabulary_size(encoder);
  const uint64_t offsets[] = {0, 2, 3};
  const quench_text_batch batch{sizeof batch, 0, 2, "abc", offsets};
  table.encode(encoder, &batch, &lent.id_sink, &error);
  table.close(encoder);
}

void use_format(Lent&) {
  const auto& table = item_table<quench_format_table>("format", 5);
  quench_error error = no_error();
  quench_place place{};
  place.struct_size = sizeof place;
  place.path = "folder";
  place.config_json = "{}";
  place.config_bytes = 2;
  quench_checkpoint* checkpoint = nullptr;
  if (table.open(&place, "{}", 2, &checkpoint, &error) != QUENCH_OK) {
    return;
  }
  quench_checkpoint_contents contents{};
  contents.struct_size = sizeof contents;
  if (table.contents(checkpoint, &contents, &error) == QUENCH_OK) {
    read_bytes(contents.config_json, contents.config_json == nullptr ? 0 : contents.config_bytes);
    const quench_source* source = contents.tensors;
    if (source != nullptr && source->count != nullptr && source->info != nullptr &&
        source->read != nullptr) {
      source->count(source);
      quench_tensor_info info{};
      info.struct_size = sizeof info;
      if (source->info(source, 0, &info, &error) == QUENCH_OK) {
        read_text(info.name);
        read_bytes(info.shape, static_cast<uint64_t>(info.dimensions) * sizeof(int64_t));
      }
      char bytes[64] = {};
      if (info.dtype.bits <= 64) {
        source->read(source, 0, 0, 4, bytes, &error);
      }
    }
  }
  table.close(checkpoint);
}

constexpr void (*kUses[])(Lent&) = {use_quantizer, use_model, use_corpus, use_tokenizer,
                                    use_format};

void release_ops(Lent& lent) {
  for (const quench_linear_op& op : lent.ops) {
    op.release(op.context);
  }
  lent.ops.clear();
  for (const quench_cache_op& op : lent.cache_ops) {
    op.release(op.context);
  }
  lent.cache_ops.clear();
}

std::vector<std::byte> bytes_of_input(std::span<const uint8_t> input) {
  const auto* first = reinterpret_cast<const std::byte*>(input.data());
  return {first, first + input.size() / 8 * 8};
}

void take_call(uint8_t what, std::span<const uint8_t> input, Lent& lent) {
  const auto tables = lent_tables(lent);
  size_t function = what;
  size_t table = 0;
  while (function >= tables[table].first->functions) {
    function -= tables[table].first->functions;
    table = (table + 1) % tables.size();
  }
  const auto& [type, at] = tables[table];
  wire::Exports& exports = mirror().exports();
  std::vector<wire::HandedOut> handed_out;
  const uint64_t target = at == nullptr ? 0 : exports.add_interface(*type, at, false, &handed_out);
  const std::vector<std::byte> body = bytes_of_input(input);
  const wire::Header header{static_cast<uint32_t>(body.size()),
                            wire::kCallMessage,
                            static_cast<uint16_t>(function),
                            target,
                            1,
                            0};
  wire::Channel& channel = mirror().channel();
  try {
    wire::Reader in(body, &channel.theirs());
    wire::Writer out(channel.own());
    mirror().serve(channel, header, in, out);
  } catch (const Error&) {
  }
  release_ops(lent);
  exports.drop_table(target);
}

void take_replies(uint8_t what, std::span<const uint8_t> input, Lent& lent) {
  std::vector<std::vector<std::byte>> replies;
  while (!input.empty()) {
    const size_t bytes = std::min<size_t>(size_t{input[0]} * 8, input.size() - 1);
    replies.push_back(bytes_of_input(input.subspan(1, bytes)));
    input = input.subspan(1 + bytes);
  }
  mirror().answer_with(std::move(replies));
  kUses[what % std::size(kUses)](lent);
  release_ops(lent);
  mirror().answer_with({});
}

}  // namespace

void take_garbage(std::span<const uint8_t> input) {
  if (input.empty()) {
    return;
  }
  Lent lent;
  const wire::ServedHost serving(&lent.host);
  if (input[0] < kReplies) {
    take_call(input[0], input.subspan(1), lent);
  } else {
    take_replies(static_cast<uint8_t>(input[0] - kReplies), input.subspan(1), lent);
  }
  mirror().channel().own().reset(0);
  // Messages point anywhere, and what is read exists from then on.
  if (mirror().channel().theirs().written() > wire::kKeptBytes) {
    fallocate(mirror().channel().own().descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
              static_cast<off_t>(wire::kMemoryBytes));
  }
}

namespace {

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The first byte of a call of this function.
int place_of(const wire::TableType* type, uint16_t function) {
  int place = 0;
  for (const auto& [lent, at] : lent_tables({})) {
    if (lent == type) {
      return place + function;
    }
    place += lent->functions;
  }
  return -1;
}

}  // namespace

std::vector<std::string> recorded_sessions() {
  std::vector<std::string> out;
  Lent lent;
  const wire::ServedHost serving(&lent.host);
  wire::Exports& exports = mirror().exports();
  exports.add_table_as(1, *wire::table_of_kind("quantizer"), &kFakeQuantizer);
  exports.add_table_as(3, *wire::table_of_kind("corpus"), &kFakeCorpus);
  exports.add_table_as(4, *wire::table_of_kind("tokenizer"), &kFakeTokenizer);
  for (const size_t use : {size_t{0}, size_t{2}, size_t{3}}) {
    std::vector<Mirror::Exchange> exchanges;
    mirror().record = &exchanges;
    kUses[use](lent);
    mirror().record = nullptr;
    std::string replies(1, static_cast<char>(kReplies + use));
    for (const Mirror::Exchange& exchange : exchanges) {
      if (exchange.outer) {
        replies += static_cast<char>(exchange.reply.size() / 8);
        replies += text_of(exchange.reply);
      } else if (const int place = place_of(exchange.type, exchange.function); place >= 0) {
        out.push_back(std::string(1, static_cast<char>(place)) + text_of(exchange.call));
      }
    }
    out.push_back(replies);
  }
  // Functions that these plugins do not call.
  const auto call = [&](const wire::TableType& type, uint16_t function, auto put) {
    wire::Writer writer(mirror().channel().own());
    put(writer);
    out.push_back(std::string(1, static_cast<char>(place_of(&type, function))) +
                  text_of({writer.bytes().begin(), writer.bytes().end()}));
  };
  for (const uint16_t kind : {3, 4}) {  // of a linear, of keys and values
    call(wire::k_quench_quantize_sink, kind, [](wire::Writer& w) {
      w.u64(77);  // an op
      w.u64(3);   // apply, release
    });
  }
  call(wire::k_quench_metric_sink, 2, [](wire::Writer& w) {
    const double values[] = {1, 2};
    w.text("losses");
    w.blob(values, sizeof values);
    w.u64(2);
  });
  call(wire::k_quench_metric_sink, 0, [](wire::Writer& w) {
    w.text("loss");
    w.f64(1);
    w.text("nats");
    w.i64(-1);
    w.f64(std::nan(""));
  });
  call(wire::k_quench_tokenizer, 0, [](wire::Writer& w) {
    w.blob("abc", 3);
    w.u64(3);
    w.i64(1);
  });
  call(wire::k_quench_subject, 0, [](wire::Writer& w) {
    const int32_t ids[] = {1, 2, 3, 4};
    const uint64_t starts[] = {0, 1, 4};
    const uint64_t from[] = {1, 1};
    w.u64(1);
    w.u64(0);
    w.u64(2);
    w.blob(ids, sizeof ids);
    w.blob(starts, sizeof starts);
    w.blob(from, sizeof from);
    w.u64(1);  // nll
    w.u64(1);  // argmax
    w.blob(nullptr, 0);
  });
  call(wire::k_quench_source, 1, [](wire::Writer& w) { w.u64(0); });
  call(wire::k_quench_source, 2, [](wire::Writer& w) { w.text("first"); });
  call(wire::k_quench_source, 3, [](wire::Writer& w) {
    w.u64(0);
    w.u64(1);
    w.u64(2);
  });
  call(wire::kServices, 0, [](wire::Writer& w) {
    w.i64(1);
    w.text("a line");
  });
  for (const uint64_t target : {1, 3, 4}) {
    exports.drop_table(target);
  }
  mirror().channel().own().reset(0);
  end_fakes();
  return out;
}

namespace {

constexpr uint64_t kNumbers[] = {0,
                                 1,
                                 2,
                                 8,
                                 9,
                                 1024,
                                 1025,
                                 uint64_t{1} << 20,
                                 uint64_t{1} << 31,
                                 uint64_t{1} << 32,
                                 uint64_t{1} << 36,
                                 uint64_t{1} << 40,
                                 uint64_t{1} << 61,
                                 uint64_t{1} << 63,
                                 ~uint64_t{0},
                                 ~uint64_t{1}};

}  // namespace

std::string with_changes(std::string input, std::mt19937_64& random) {
  for (uint64_t changes = random() % 4 + 1; changes > 0; --changes) {
    const size_t words = (input.size() - 1) / 8;
    switch (random() % 6) {
      case 0:
        input[1 + random() % (input.size() - 1)] = static_cast<char>(random());
        break;
      case 1:
        input.resize(1 + random() % words * 8 + 8);
        break;
      case 2:
        input.append(8, static_cast<char>(random() % 2));
        break;
      default:
        std::memcpy(input.data() + 1 + random() % words * 8,
                    &kNumbers[random() % std::size(kNumbers)], 8);
    }
  }
  return input;
}

}  // namespace quench::test
