// A host of some version of the plugin ABI, that of the headers it is compiled with: reads modules
// with the code of the real one, calls their functions by hand, and prints a number for each item.
//
//   fake_host PLUGIN.so...      a line "KIND ID: NUMBERS" for each item, or "FILE: why it is
//   refused"
//
// Behind each struct that a plugin writes into lies a number that must stay.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/base/json/json_service.hpp"
#include "core/error.hpp"
#include "core/plugin/library/module_reader.hpp"
#include "quench/abi/kind/averaging.h"
#include "quench/abi/kind/corpus.h"
#include "quench/abi/kind/format.h"
#include "quench/abi/kind/metric.h"
#include "quench/abi/kind/optimizer.h"
#include "quench/abi/kind/quantizer.h"
#include "quench/abi/kind/tokenizer.h"
#include "quench/abi/kind/transform.h"
#include "tests/golden/hosts/planned_ways.hpp"

namespace quench::golden {

namespace {

constexpr quench_device kCpu = {QUENCH_DEVICE_CPU, 0};

// ---- the host's services

void* allocate(const quench_host*, uint64_t bytes) noexcept {
  return std::aligned_alloc(64, (bytes + 63) / 64 * 64);
}
void release(const quench_host*, void* memory) noexcept {
  std::free(memory);
}
int32_t requested(const quench_host*) noexcept {
  return 0;
}
uint32_t threads(const quench_host*) noexcept {
  return 1;
}
quench_status parallel_for(const quench_host*, uint64_t count, uint64_t grain,
                           quench_status (*body)(void*, uint64_t, uint64_t) noexcept,
                           void* user) noexcept {
  for (uint64_t begin = 0; begin < count; begin += grain) {
    if (const quench_status status = body(user, begin, std::min(count, begin + grain))) {
      return status;
    }
  }
  return QUENCH_OK;
}
// Counts upwards: what is drawn from it is only to be the same.
void uniform(const quench_host*, const char*, uint64_t counter, uint64_t count,
             uint64_t* values) noexcept {
  for (uint64_t i = 0; i < count; ++i) {
    values[i] = (counter + i) * 0x9E3779B97F4A7C15u;
  }
}

const void* service(const quench_host*, const char* id) noexcept {
  static const auto kServices = [] {
    static quench_memory memory{};
    memory.struct_size = sizeof memory;
    memory.allocate = allocate;
    memory.release = release;
    static quench_cancel cancel{};
    cancel.struct_size = sizeof cancel;
    cancel.requested = requested;
    static quench_tasks tasks{};
    tasks.struct_size = sizeof tasks;
    tasks.threads = threads;
    tasks.parallel_for = parallel_for;
    static quench_random random{};
    random.struct_size = sizeof random;
    random.uniform = uniform;
    return std::map<std::string, const void*>{{QUENCH_SERVICE_MEMORY, &memory},
                                              {QUENCH_SERVICE_CANCEL, &cancel},
                                              {QUENCH_SERVICE_TASKS, &tasks},
                                              {QUENCH_SERVICE_RANDOM, &random},
                                              {QUENCH_SERVICE_JSON, json_service()}};
  }();
  const auto found = kServices.find(id);
  return found == kServices.end() ? nullptr : found->second;
}

const quench_host& the_host() {
  static quench_host host{};
  host.struct_size = sizeof host;
  host.abi_minor = QUENCH_ABI_MINOR;
  host.version = "fake";
  host.service = service;
  return host;
}

// ---- each kind

std::string complete(const quench_item& item) {
  std::string out = "{";
  for (uint32_t i = 0; i < item.parameter_count; ++i) {
    const quench_parameter& one = item.parameters[i];
    out += std::string(i == 0 ? "\"" : ", \"") + one.name + "\": " +
           (one.default_json == nullptr ? "\"v\"" : one.default_json);  // a required one is a name
  }
  return out + "}";
}

// An instance that `create` of the table makes of the item's defaults.
template <typename Object, typename Create>
Object* created(const quench_item& item, Create create) {
  const std::string json = complete(item);
  Object* object = nullptr;
  call(create, json.data(), json.size(), &object);
  return object;
}

std::string quantizer(const quench_item& item) {
  const auto& table = *static_cast<const quench_quantizer_table*>(item.table);
  auto* quantizer = created<quench_quantizer>(item, table.create);
  static constexpr int64_t kIn = 6;
  const quench_linear_info linear = {sizeof linear, 0, "linear", "o", "weight", nullptr, 2, kIn};
  const quench_group_info group = {sizeof group, 1, 0, -1, -1, 1, &linear, 0, nullptr};
  Guarded<quench_group_args> begin;
  begin->info = &group;
  begin->in_features = kIn;
  begin->device = kCpu;
  quench_quantizer_state* state = nullptr;
  call(table.begin, quantizer, begin.get(), &state);
  Values<float> rows({4, kIn});
  Guarded<quench_observe_args> observe;
  observe->x = &rows.view;
  if ((table.needs(quantizer) & (QUENCH_NEEDS_ROWS | QUENCH_USES_ROWS)) != 0) {
    call(table.observe, quantizer, state, observe.get());
  }
  Values<float> weight({2, kIn});
  Values<float> dequantized({2, kIn});
  Sink sink;
  Guarded<quench_quantize_args> args;
  args->weight = &weight.view;
  args->dequantized = &dequantized.view;
  args->sink = sink.table.get();
  call(table.quantize, quantizer, state, args.get());
  std::string out = number(dequantized.sum()) + " at " + number(sink.bits) + " bits" + ways(sink);
  if (table.predict_memory != nullptr) {
    Guarded<quench_group_memory> memory;
    Guarded<quench_group_memory_args> shapes;
    shapes->info = &group;
    shapes->in_features = kIn;
    shapes->row_dtype = shapes->weight_dtype = {QUENCH_DTYPE_FLOAT, 32, 1};
    call(table.predict_memory, quantizer, shapes.get(), memory.get());
    out += ", " + std::to_string(memory->linear) + " bytes";
  }
  table.end(quantizer, state);
  table.destroy(quantizer);
  return out;
}

std::string corpus(const quench_item& item) {
  const auto& table = *static_cast<const quench_corpus_table*>(item.table);
  auto* corpus = created<quench_corpus>(item, table.open);
  uint64_t documents = 0;
  int64_t sum = 0;
  quench_error error{sizeof error, 0, {}};
  for (;; ++documents) {
    Guarded<quench_document> document;
    if (table.next(corpus, document.get(), &error) != QUENCH_OK) {
      break;
    }
    for (uint64_t i = 0; i < document->id_count; ++i) {
      sum += document->ids[i] * static_cast<int64_t>(i + 1);
    }
  }
  table.close(corpus);
  return std::to_string(documents) + " documents, " + std::to_string(sum);
}

std::string tokenizer(const quench_item& item) {
  const auto& table = *static_cast<const quench_tokenizer_table*>(item.table);
  const std::string file = "<unk>\nsome\nwords\n";
  Guarded<quench_file_head> head;
  head->name = "tokenizer.words";
  head->bytes = file.data();
  head->count = head->size = file.size();
  quench_error error{sizeof error, 0, {}};
  std::string out = "probe " + std::to_string(table.probe(head.get(), &error));
  quench_encoder* encoder = nullptr;
  call(table.open, file.data(), file.size(), "tokenizer.words", "{}", 2, &encoder);
  const std::string text = "words some other words";
  const uint64_t offsets[] = {0, text.size()};
  Guarded<quench_text_batch> batch;
  batch->count = 1;
  batch->text = text.data();
  batch->offsets = offsets;
  std::vector<int32_t> ids;
  Guarded<quench_id_sink> sink;
  sink->context = &ids;
  sink->allocate = [](void* context, const uint64_t* counts, uint64_t) noexcept {
    auto& list = *static_cast<std::vector<int32_t>*>(context);
    list.resize(counts[0]);
    return list.data();
  };
  call(table.encode, encoder, batch.get(), sink.get());
  for (const int32_t id : ids) {
    out += " " + std::to_string(id);
  }
  table.close(encoder);
  return out;
}

std::string optimizer(const quench_item& item) {
  const auto& table = *static_cast<const quench_optimizer_table*>(item.table);
  auto* optimizer = created<quench_optimizer>(item, table.create);
  Values<float> weight({3});
  Values<float> gradient({3});
  quench_parameter_info info{};
  info.struct_size = sizeof info;
  info.role = QUENCH_ROLE_MATRIX;
  info.name = "w";
  info.dimensions = 1;
  info.shape = weight.view.shape;
  call(table.begin, optimizer, &info, 1, kCpu);
  for (uint64_t step = 1; step <= 2; ++step) {
    Guarded<quench_step_args> args;
    args->step = step;
    args->lr = args->peak_lr = 0.125;
    args->decays = 1;
    args->weight = &weight.view;
    args->gradient = &gradient.view;
    args->gradient_scale = 1;
    call(table.step, optimizer, args.get());
  }
  Guarded<quench_state_info> state;
  quench_error error{sizeof error, 0, {}};
  const bool has = table.state_info(optimizer, 0, state.get(), &error) == QUENCH_OK;
  const std::string out = number(weight.sum()) + (has ? std::string(", state ") + state->name : "");
  table.destroy(optimizer);
  return out;
}

std::string averaging(const quench_item& item) {
  const auto& table = *static_cast<const quench_averaging_table*>(item.table);
  auto* averaging = created<quench_averaging>(item, table.create);
  const quench_averaging_member members[] = {{sizeof members[0], "a", 1, -1},
                                             {sizeof members[0], "b", 2, -1},
                                             {sizeof members[0], "c", 3, -1}};
  uint64_t selected[3] = {};
  uint64_t count = 0;
  call(table.select, averaging, members, 3, 2, selected, &count);
  call(table.begin, averaging, members, count);
  const double values[] = {1, 2.5};
  for (uint64_t i = 0; i < count; ++i) {
    call(table.accumulate, averaging, i, values, 2);
  }
  double mean[2] = {};
  call(table.finish, averaging, mean, 2);
  table.destroy(averaging);
  return std::to_string(count) + " members, " + number(mean[0] + mean[1]);
}

std::string model(const quench_item& item) {
  const auto& table = *static_cast<const quench_model_table*>(item.table);
  const std::string config = std::string(R"({"model_type": ")") + item.id +
                             R"(", "vocab_size": 5, "hidden_size": 4, "num_hidden_layers": 1})";
  Source source;
  source.add("embed.weight", {5, 4});
  source.add("head.weight", {5, 4});
  source.add("blocks.0.mix.weight", {4, 4});
  Guarded<quench_model_open_args> open;
  open->source = source.table.get();
  open->config_json = config.data();
  open->config_bytes = config.size();
  open->device = kCpu;
  open->dtype = {QUENCH_DTYPE_FLOAT, 32, 1};
  quench_model* model = nullptr;
  call(table.open, open.get(), &model);
  Guarded<quench_model_info> info;
  call(table.info, model, info.get());
  int32_t ids[] = {1, 2, 4};
  const int64_t shape[] = {1, 3};
  const quench_tensor tokens = {ids, kCpu, 2, {QUENCH_DTYPE_INT, 32, 1}, shape, nullptr, 0};
  Guarded<quench_batch> batch;
  batch->tokens = &tokens;
  Values<float> h({3, info->width});
  Guarded<quench_embed_args> embed;
  embed->batch = batch.get();
  embed->h = &h.view;
  call(table.embed, model, embed.get());
  const quench_block_info* block = nullptr;
  call(table.block, model, 0, &block);
  std::vector<Values<float>> between;
  between.emplace_back(std::vector<int64_t>{3, info->width});
  between.emplace_back(std::vector<int64_t>{3, info->width});
  const quench_tensor both[] = {h.view, between[0].view};
  for (uint32_t s = 0; s < block->stage_count; ++s) {
    Guarded<quench_stage_args> stage;
    stage->stage = s;
    stage->batch = batch.get();
    stage->in_count = s == 0 ? 1 : 2;
    stage->out_count = s == 0 ? 2 : 1;
    stage->in = both;
    stage->out = both;
    call(table.stage, model, stage.get());
  }
  Values<float> logits({3, info->vocabulary});
  call(table.logits, model, &h.view, &logits.view, nullptr);
  const std::string out = std::to_string(info->blocks) + " block, " + number(logits.sum()) +
                          ways(table, model, h, logits);
  table.close(model);
  return out;
}

std::string format(const quench_item& item) {
  const auto& table = *static_cast<const quench_format_table*>(item.table);
  Guarded<quench_code_scheme> scheme;
  scheme->bits = 4;
  scheme->group_size = -1;
  call(table.fits, "{}", 2, scheme.get(), 1, 2);
  quench_format_writer* writer = nullptr;
  call(table.begin, "{}", 2, &writer);
  const uint8_t codes[] = {1, 9};
  const double scale[] = {0.25};
  const double zero[] = {8};
  const int32_t g_idx[] = {0, 0};
  Guarded<quench_coded_linear> linear;
  linear->name = "linear";
  linear->out = 1;
  linear->in = 2;
  linear->groups = 1;
  linear->bits = 4;
  linear->codes = codes;
  linear->scales = scale;
  linear->zeros = zero;
  linear->g_idx = g_idx;
  float weight[] = {-1.75F, 0.25F};
  FormatSink sink;
  Guarded<quench_stored_linear> stored;
  call(table.store, writer, linear.get(), sink.table.get(), weight, stored.get());
  std::string out = std::to_string(sink.tensors) + " tensors of " + std::to_string(sink.bytes) +
                    " bytes, " + std::to_string(stored->scales) + " scales, " +
                    number(weight[0] + weight[1]) + ways(table, writer, *linear, sink, weight);
  table.end(writer);
  return out;
}

// Instances of these are used with an open model; here they are only made.
template <typename Object, typename Table>
std::string made(const quench_item& item) {
  const auto& table = *static_cast<const Table*>(item.table);
  table.destroy(created<Object>(item, table.create));
  return "made";
}

void report(const std::filesystem::path& file) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    fail(QUENCH_NOT_FOUND, "{}", dlerror());
  }
  using Entry = const quench_module*();
  const quench_module& module = *reinterpret_cast<Entry*>(dlsym(library, QUENCH_ENTRY_SYMBOL))();
  read_module(module);
  call(module.init, &the_host());
  static const std::map<std::string, std::function<std::string(const quench_item&)>> kKinds = {
      {QUENCH_KIND_QUANTIZER, quantizer},
      {QUENCH_KIND_CORPUS, corpus},
      {QUENCH_KIND_TOKENIZER, tokenizer},
      {QUENCH_KIND_OPTIMIZER, optimizer},
      {QUENCH_KIND_AVERAGING, averaging},
      {QUENCH_KIND_MODEL, model},
      {QUENCH_KIND_FORMAT, format},
      {QUENCH_KIND_METRIC, made<quench_metric, quench_metric_table>},
      {QUENCH_KIND_TRANSFORM, made<quench_transform, quench_transform_table>}};
  for (uint32_t i = 0; i < module.item_count; ++i) {
    const quench_item& item = item_of(module, i);
    std::printf("%s %s: %s\n", item.kind, item.id, kKinds.at(item.kind)(item).c_str());
  }
}

}  // namespace

}  // namespace quench::golden

int main(int count, char** words) {
  for (int i = 1; i < count; ++i) {
    try {
      quench::golden::report(words[i]);
    } catch (const std::exception& failure) {
      std::printf("%s: %s\n", std::filesystem::path(words[i]).filename().c_str(), failure.what());
    }
  }
}
