// A quantizer that rounds to 4 bits by rows, right in every respect but the one that the
// environment variable QUENCH_BROKEN names.
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <cfenv>
#include <clocale>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "quench/abi/kind/quantizer.h"
#include "quench/abi/module.h"
#include "tests/promises/attacks.hpp"

namespace {

bool is(const char* fault) {
  const char* chosen = std::getenv("QUENCH_BROKEN");
  return chosen != nullptr && std::strcmp(chosen, fault) == 0;
}

[[maybe_unused]] const bool kAtLoading = [] {
  if (is("ctor_exit")) {
    std::exit(0);
  }
  if (is("ctor_segv")) {
    std::raise(SIGSEGV);
  }
  return true;
}();

const quench_host* the_host = nullptr;
int passes = 0;

quench_status refuse(quench_error* error, quench_status status, const char* text) {
  std::snprintf(error->message, sizeof error->message, "%s", text);
  return status;
}

quench_status create(const char*, uint64_t, quench_quantizer** out, quench_error*) {
  if (is("create_segv")) {
    std::raise(SIGSEGV);
  }
  if (is("create_throw")) {
    throw std::runtime_error("thrown in create");
  }
  *out = reinterpret_cast<quench_quantizer*>(new int(0));
  return QUENCH_OK;
}
void destroy(quench_quantizer* quantizer) noexcept {
  delete reinterpret_cast<int*>(quantizer);
}
uint32_t needs(const quench_quantizer*) noexcept {
  return QUENCH_USES_ROWS | (is("needs_unknown") ? 1U << 30 : 0) |
         (is("needs_two") ? QUENCH_NEEDS_SEQUENTIAL | QUENCH_NEEDS_FLOAT_ROWS : 0);
}

struct Group {
  std::vector<double> gram;
  double rows = 0;
  int64_t in = 0;
  int64_t strides[2];
  int64_t shape[2];
};

quench_status begin(quench_quantizer*, const quench_group_args* args,
                    quench_quantizer_state** state, quench_error*) {
  if (is("begin_null")) {
    return QUENCH_OK;
  }
  auto* group = new Group;
  group->in = args->in_features;
  group->gram.resize(static_cast<size_t>(group->in * group->in));
  *state = reinterpret_cast<quench_quantizer_state*>(group);
  return QUENCH_OK;
}
void end(quench_quantizer*, quench_quantizer_state* state) noexcept {
  delete reinterpret_cast<Group*>(state);
}

quench_status observe(quench_quantizer*, quench_quantizer_state* state,
                      const quench_observe_args* args, quench_error* error) {
  auto& group = *reinterpret_cast<Group*>(state);
  auto* x = static_cast<float*>(args->x->data);
  while (is("observe_hang")) {
    sleep(1);
  }
  if (is("observe_write")) {
    x[0] += 1;
  }
  if (is("observe_throw")) {
    throw std::runtime_error("thrown in observe");
  }
  const int64_t rows = args->x->shape[0];
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < group.in; ++c) {
      if (!std::isfinite(x[r * group.in + c]) && !is("rows_unchecked")) {
        char text[80];
        std::snprintf(text, sizeof text, "x: row %d, column %d is not finite", static_cast<int>(r),
                      static_cast<int>(c));
        return refuse(error, QUENCH_NUMERICAL, text);
      }
    }
  }
  for (int64_t i = 0; group.in <= 64 && i < group.in; ++i) {
    for (int64_t j = 0; j < group.in; ++j) {
      for (int64_t r = 0; r < rows; ++r) {
        group.gram[static_cast<size_t>(i * group.in + j)] +=
            static_cast<double>(x[r * group.in + i]) * x[r * group.in + j];
      }
    }
  }
  group.rows += static_cast<double>(rows);
  return QUENCH_OK;
}

quench_status gram_get(quench_quantizer*, quench_quantizer_state* state, quench_tensor* gram,
                       double* rows, quench_error*) {
  auto& group = *reinterpret_cast<Group*>(state);
  group.shape[0] = group.shape[1] = group.strides[0] = group.in;
  group.strides[1] = 1;
  if (is("gram_garbage")) {
    group.gram[3] = 1e9;
  }
  *gram = {group.gram.data(), {QUENCH_DEVICE_CPU, 0}, 2, {QUENCH_DTYPE_FLOAT, 64, 1},
           group.shape,       group.strides,          0};
  *rows = is("gram_rows") ? 1 : group.rows;
  return QUENCH_OK;
}
quench_status gram_set(quench_quantizer*, quench_quantizer_state*, const quench_tensor*, double,
                       quench_error*) {
  return QUENCH_OK;
}
quench_status output_error(quench_quantizer*, quench_quantizer_state*, const quench_tensor*,
                           const quench_tensor*, double* squared, double* reference,
                           quench_error*) {
  *squared = 0;
  *reference = 1;
  return QUENCH_OK;
}

// What ends the process, or leaves it changed.
void misbehave() {
  if (is("exit0")) {
    std::exit(0);
  }
  if (is("exit_now")) {
    _exit(0);
  }
  if (is("segv")) {
    std::raise(SIGSEGV);
  }
  if (is("abort")) {
    std::abort();
  }
  if (is("stack")) {
    struct Deep {
      static int down(volatile char* from) {
        volatile char room[4096];
        room[0] = from[0];
        if (room[0] == 127) {
          return 0;
        }
        return down(room) + room[0];
      }
    };
    volatile char first = 0;
    std::printf("%d\n", Deep::down(&first));
  }
  if (is("out_of_bounds")) {
    void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(page, 4096);
    static_cast<volatile char*>(page)[0] = 1;
  }
  if (is("rounding")) {
    std::fesetround(FE_UPWARD);
  }
  if (is("locale")) {
    std::setlocale(LC_ALL, "C.UTF-8");
  }
  if (is("chdir") && chdir("/") != 0) {
    std::abort();
  }
  if (is("sigaction")) {
    std::signal(SIGTERM, SIG_IGN);
  }
  if (is("closefd")) {
    for (int fd = 0; fd < 64; ++fd) {
      close(fd);
    }
  }
  if (is("throws")) {
    throw std::runtime_error("thrown in quantize");
  }
  if (is("throws_int")) {
    throw 5;
  }
  if (is("huge_vector")) {
    const std::vector<char> huge(size_t{1} << 46);
  }
  if (is("leak")) {
    void* lost = std::malloc(size_t{1} << 19);
    std::memset(lost, 1, size_t{1} << 19);
  }
  if (is("thread")) {
    std::thread([] { pause(); }).detach();
  }
  if (is("stdout")) {
    std::printf("a line\n");
    std::fflush(stdout);
  }
}

// What is added to the first element of the weight.
float disturbance() {
  ++passes;
  const auto* tasks =
      static_cast<const quench_tasks*>(the_host->service(the_host, QUENCH_SERVICE_TASKS));
  unsigned char byte = 0;
  if (is("random") && getrandom(&byte, 1, 0) == 1) {
    return static_cast<float>(byte) / 1000;
  }
  return is("threads")     ? static_cast<float>(tasks->threads(the_host)) / 100
         : is("order")     ? static_cast<float>(passes) / 1000
         : is("process")   ? static_cast<float>(getpid() % 10000) / 1000
         : is("arguments") ? 0.5F
                           : 0.0F;
}

quench_status quantize(quench_quantizer*, quench_quantizer_state*, const quench_quantize_args* args,
                       quench_error* error) {
  misbehave();
  if (is("attack")) {
    return refuse(error, QUENCH_INTERNAL,
                  ("its attacks came to " + quench::test::attacks_that_succeed()).c_str());
  }
  const int64_t out = args->weight->shape[0];
  const int64_t in = args->weight->shape[1];
  auto* weight = static_cast<float*>(args->weight->data);
  auto* dequantized = static_cast<float*>(args->dequantized->data);
  if (is("write_input")) {
    weight[0] = 1;
  }
  for (int64_t i = 0; i < out * in; ++i) {
    if (!std::isfinite(weight[i]) && !is("weights_unchecked")) {
      return refuse(error, QUENCH_NUMERICAL,
                    is("unnamed") ? "a weight is not finite"
                                  : "block.0.some_linear.weight: an element is not finite");
    }
  }
  const quench_quantize_sink& sink = *args->sink;
  const auto ask = [&](const char* name, quench_dtype dtype, std::vector<int64_t> shape,
                       quench_tensor& view) {
    return sink.tensor(sink.context, name, dtype, static_cast<int32_t>(shape.size()), shape.data(),
                       &view, error);
  };
  constexpr quench_dtype kByte{QUENCH_DTYPE_UINT, 8, 1};
  constexpr quench_dtype kDouble{QUENCH_DTYPE_FLOAT, 64, 1};
  quench_tensor codes{};
  quench_tensor scales{};
  quench_tensor zeros{};
  for (const auto& [fault, shape] : {std::pair{"huge_sink", std::vector<int64_t>{int64_t{1} << 40}},
                                     {"negative_sink", {-5, 8}},
                                     {"overflow_sink", {int64_t{1} << 40, int64_t{1} << 40}}}) {
    if (is(fault)) {
      quench_tensor none{};
      if (const quench_status status = ask("extra", kByte, shape, none); status != QUENCH_OK) {
        return status;
      }
    }
  }
  const int64_t code_out = is("shape") ? out - 1 : out;
  if (ask("codes", kByte, {code_out, in}, codes) != QUENCH_OK ||
      ask("scales", kDouble, {out, 1}, scales) != QUENCH_OK ||
      ask("zeros", kDouble, {is("zeros_shape") ? out + 1 : out, 1}, zeros) != QUENCH_OK) {
    return QUENCH_INTERNAL;
  }
  auto* code = static_cast<uint8_t*>(codes.data);
  auto* scale = static_cast<double*>(scales.data);
  auto* zero = static_cast<double*>(zeros.data);
  for (int64_t r = 0; r < out; ++r) {
    double most = 0;
    for (int64_t c = 0; c < in; ++c) {
      most = std::max(most, std::fabs(static_cast<double>(weight[r * in + c])));
    }
    scale[r] = most / 7;
    zero[r] = 8;
    for (int64_t c = 0; c < in; ++c) {
      const int64_t i = r * in + c;
      const double level = most > 0 ? std::rint(weight[i] / scale[r]) : 0;
      if (r < code_out) {
        code[i] = static_cast<uint8_t>(level + (is("codes") ? 9 : 8));
      }
      if (!is("untouched") && !(is("half_written") && r > 0)) {
        dequantized[i] = static_cast<float>(scale[r] * level);
      }
    }
  }
  const float change = disturbance();
  dequantized[0] += change;
  scale[0] += is("arguments") ? change : 0;
  if (is("zero_moves")) {
    for (int64_t i = 0; i < out * in; ++i) {
      dequantized[i] += 1e-3F;
    }
  }
  if (is("nan") || is("inf")) {
    dequantized[5] = is("nan") ? NAN : INFINITY;
  }
  if (is("no_bits")) {
    return QUENCH_OK;
  }
  for (int i = 0; is("numbers_without_end"); ++i) {
    const std::string name = "number" + std::to_string(i);
    if (const quench_status status = sink.number(sink.context, name.c_str(), i, error);
        status != QUENCH_OK) {
      return status;
    }
  }
  const double bits = is("bits_nan") ? NAN : is("bits_lie") ? 0.1 : is("bits_huge") ? 1e9 : 4.2;
  return sink.number(sink.context, "bits_per_weight", bits, error);
}

// Of another type than the interface's, which has noexcept: what is thrown is to cross it.
template <typename To, typename From>
To crossing(From* function) {
  return reinterpret_cast<To>(function);
}

const quench_quantizer_table kTable = [] {
  quench_quantizer_table table{};
  table.struct_size = sizeof table;
  table.create = crossing<decltype(table.create)>(create);
  table.destroy = destroy;
  table.needs = needs;
  table.begin = crossing<decltype(table.begin)>(begin);
  table.observe = crossing<decltype(table.observe)>(observe);
  table.quantize = crossing<decltype(table.quantize)>(quantize);
  table.end = end;
  table.gram_get = crossing<decltype(table.gram_get)>(gram_get);
  table.gram_set = crossing<decltype(table.gram_set)>(gram_set);
  table.output_error = crossing<decltype(table.output_error)>(output_error);
  return table;
}();

quench_status init(const quench_host* host, quench_error*) noexcept {
  the_host = host;
  return QUENCH_OK;
}

const quench_item kItem = {sizeof(quench_item),
                           0,
                           QUENCH_KIND_QUANTIZER,
                           "broken",
                           "1.0.0",
                           "Rounds to 4 bits by rows, but for one fault.",
                           "Nobody (2026)",
                           "{}",
                           0,
                           nullptr,
                           &kTable,
                           nullptr,
                           nullptr};
const quench_item* const kItems[] = {&kItem};
const quench_module kModule = {sizeof(quench_module),
                               QUENCH_ABI_MAJOR,
                               QUENCH_ABI_MINOR,
                               0,
                               "test.broken",
                               "1.0.0",
                               "by hand",
                               init,
                               nullptr,
                               1,
                               kItems};

}  // namespace

extern "C" const quench_module* quench_module_v1(void) noexcept {
  return &kModule;
}
