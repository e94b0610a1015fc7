#include "bench/models/model_parts.hpp"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <vector>

#include "bench/support/timing.hpp"
#include "models/decoder/activation.hpp"
#include "models/decoder/autograd_scope.hpp"
#include "models/decoder/batch.hpp"
#include "models/decoder/blocked_attention.hpp"
#include "models/decoder/causal_attention.hpp"
#include "models/decoder/elementwise.hpp"
#include "models/decoder/head.hpp"
#include "models/decoder/layer_norm.hpp"
#include "models/decoder/likelihoods.hpp"
#include "models/decoder/log_sums.hpp"
#include "models/decoder/rotary.hpp"
#include "models/decoder/row_sums.hpp"
#include "quench/kit/host.hpp"
#include "quench/kit/tensor.hpp"
#include "shared/matrix/product.hpp"
#include "tests/plugins/models/model_driver.hpp"

namespace quench::bench {

namespace {

using decoder::AutogradMode;
using decoder::AutogradScope;

// A GPT-NeoX and a micro-batch of it.
struct Shape {
  int64_t blocks;
  int64_t width;
  int64_t heads;
  int64_t vocabulary;
  int64_t rows;
  int64_t length;

  int64_t inner() const { return 4 * width; }
  int64_t tokens() const { return rows * length; }
  int64_t head_width() const { return width / heads; }
  std::string config() const {
    return R"({"model_type": "gpt_neox", "num_hidden_layers": )" + std::to_string(blocks) +
           R"(, "hidden_size": )" + std::to_string(width) + R"(, "num_attention_heads": )" +
           std::to_string(heads) + R"(, "intermediate_size": )" + std::to_string(inner()) +
           R"(, "vocab_size": )" + std::to_string(vocabulary) +
           R"(, "max_position_embeddings": 2048, "rotary_pct": 0.25})";
  }
};

Shape shape_of(const PartsRequest& request) {
  const bool training = request.work == "training";
  if (!training && request.work != "loss") {
    throw std::invalid_argument("work: got " + request.work + ", wanted loss or training");
  }
  if (request.shape == "pythia-160m") {
    return training ? Shape{12, 768, 12, 50304, 4, 512} : Shape{12, 768, 12, 50304, 1, 2048};
  }
  if (request.shape == "quickstart") {
    return {3, 96, 4, 256, training ? 32 : 16, 128};
  }
  throw std::invalid_argument("shape: got " + request.shape + ", wanted pythia-160m or quickstart");
}

// What one call computes and at least reads and writes.
struct Work {
  double operations;
  double bytes;
};

struct Part {
  std::string name;
  int64_t calls;  // in one micro-batch
  Work work;      // of one call
  std::function<void()> body;
  Samples seconds = {};
};

at::Tensor drawn(at::IntArrayRef shape) {
  return at::randn(shape).mul_(0.05);
}

// Parts that share a shape, and what their bodies read and write.
class Parts {
 public:
  explicit Parts(const Shape& shape) : shape_(shape) {}

  std::vector<Part>& all() { return parts_; }

  void add_loss() {
    add_forward_products();
    const Split split(shape_);
    add("attention", shape_.blocks, attention(2, 4),
        [split] { decoder::causal_attention(split.q, split.k, split.v); });
    add_rotation(split, 1);
    const at::Tensor x = rows(shape_.width);
    const at::Tensor scale = at::ones({shape_.width});
    add("norms", 2 * shape_.blocks + 1, pass(2 * shape_.width),
        [=] { decoder::layer_norm(x, scale, scale, 1e-5); });
    const at::Tensor inner = rows(shape_.inner());
    add("gelu", shape_.blocks, pass(2 * shape_.inner()), [=] { decoder::gelu(inner); });
    const at::Tensor sum = rows(shape_.width);
    add("sums of the residual stream", 2 * shape_.blocks, pass(3 * shape_.width),
        [=] { decoder::add_rows(x, sum, sum); });
    const int64_t chunk = decoder::rows_per_chunk(shape_.vocabulary, at::kCPU);
    const int64_t most = std::min(chunk, shape_.tokens());
    const at::Tensor logits = at::zeros({most, shape_.vocabulary});
    const at::Tensor weight = drawn({shape_.vocabulary, shape_.width});
    add("head: products", 1, product(shape_.tokens(), shape_.width, shape_.vocabulary), [=, this] {
      each_chunk(chunk, [&](int64_t first, int64_t count) {
        matrix::product_into(logits.narrow(0, 0, count), x.narrow(0, first, count), weight.t());
      });
    });
    add("head: sums of exponentials", 1, pass(shape_.vocabulary), [=, this] {
      each_chunk(chunk,
                 [&](int64_t, int64_t count) { decoder::log_sums(logits.narrow(0, 0, count)); });
    });
  }

  void add_training() {
    add_forward_products();
    for (const auto& [name, in, out] : linears()) {
      const at::Tensor x = rows(in);
      const at::Tensor dy = rows(out);
      const at::Tensor weight = drawn({out, in});
      const at::Tensor gradient = at::zeros({out, in});
      const at::Tensor sums = at::zeros({out});
      add(name + ": derivative by x", shape_.blocks, product(shape_.tokens(), out, in),
          [=] { matrix::product(dy, weight); });
      add(name + ": derivative by W", shape_.blocks, product(out, shape_.tokens(), in),
          [=] { matrix::add_product(gradient, dy.t(), x); });
      add(name + ": derivative by b", shape_.blocks, pass(out),
          [=] { decoder::add_column_sums(dy, sums); });
    }
    add_trained_pieces();
    add_trained_head();
  }

 private:
  struct LinearShape {
    std::string name;
    int64_t in;
    int64_t out;
  };
  // Queries, keys and values as the fused linear leaves them.
  struct Split {
    explicit Split(const Shape& shape) {
      const int64_t head = shape.head_width();
      const at::Tensor fused = drawn({shape.rows, shape.length, shape.heads, 3 * head});
      q = fused.narrow(3, 0, head);
      k = fused.narrow(3, head, head);
      v = fused.narrow(3, 2 * head, head);
    }
    at::Tensor q, k, v;
  };

  std::vector<LinearShape> linears() const {
    const int64_t width = shape_.width;
    return {{"query_key_value", width, 3 * width},
            {"dense", width, width},
            {"h_to_4h", width, shape_.inner()},
            {"4h_to_h", shape_.inner(), width}};
  }

  void add(std::string name, int64_t calls, Work work, std::function<void()> body) {
    parts_.push_back({std::move(name), calls, work, std::move(body)});
  }
  at::Tensor rows(int64_t width) const { return drawn({shape_.tokens(), width}); }
  template <typename Body>
  void each_chunk(int64_t chunk, Body&& body) const {
    for (int64_t first = 0; first < shape_.tokens(); first += chunk) {
      body(first, std::min(chunk, shape_.tokens() - first));
    }
  }

  static Work product(int64_t rows, int64_t depth, int64_t columns) {
    return {2.0 * static_cast<double>(rows * depth * columns),
            4.0 * static_cast<double>(rows * depth + depth * columns + rows * columns)};
  }
  // `products` over the causal half of the scores, over `tensors` [N, width].
  Work attention(int64_t products, int64_t tensors) const {
    return {static_cast<double>(products * shape_.tokens() * (shape_.length + 1) * shape_.width),
            4.0 * static_cast<double>(tensors * shape_.tokens() * shape_.width)};
  }
  // No products; so many floats a token.
  Work pass(int64_t floats) const {
    return {0, 4.0 * static_cast<double>(shape_.tokens() * floats)};
  }

  void add_forward_products() {
    for (const auto& [name, in, out] : linears()) {
      const at::Tensor x = rows(in);
      const at::Tensor weight = drawn({out, in});
      const at::Tensor bias = drawn({out});
      const at::Tensor y = at::zeros({shape_.tokens(), out});
      add(name, shape_.blocks, product(shape_.tokens(), in, out),
          [=] { matrix::product_into(y, x, weight.t(), bias); });
    }
  }

  decoder::Angles angles() const {
    std::vector<int32_t> ids(static_cast<size_t>(shape_.tokens()));
    const int64_t sizes[] = {shape_.rows, shape_.length};
    const quench_tensor tokens = {
        ids.data(), {QUENCH_DEVICE_CPU, 0}, 2, kit::kInt32, sizes, nullptr, 0};
    const quench_batch batch = {sizeof batch, 0, &tokens, nullptr, nullptr};
    decoder::Rotary rotary(decoder::inverse_frequencies(shape_.head_width() / 4, 10000), 1.0,
                           at::kFloat, at::kCPU);
    return rotary.angles(decoder::Batch(&batch, 2048));
  }

  void add_rotation(const Split& split, int64_t times) {
    const decoder::Angles turns = angles();
    add("rotations", 2 * times * shape_.blocks, pass(2 * shape_.width / 4),
        [=] { decoder::rotate(split.q, turns); });
  }

  // Runs `make` on x in a recorded forward, and its backward from dy.
  static void differentiate(const at::Tensor& x, const at::Tensor& dy,
                            const std::function<at::Tensor(const at::Tensor&)>& make) {
    const at::AutoGradMode recorded(true);
    const AutogradScope scope(AutogradMode::kTraining);
    const at::Tensor leaf = x.detach().requires_grad_(true);
    torch::autograd::grad({make(leaf)}, {leaf}, {dy});
  }

  void add_trained_pieces() {
    const Split split(shape_);
    const at::Tensor dy = drawn(split.q.sizes());
    add("attention, both ways", shape_.blocks, attention(7, 8), [=] {
      const at::AutoGradMode recorded(true);
      const auto leaf = [](const at::Tensor& x) { return x.detach().requires_grad_(true); };
      const at::Tensor q = leaf(split.q);
      const at::Tensor k = leaf(split.k);
      const at::Tensor v = leaf(split.v);
      torch::autograd::grad({decoder::blocked_attention(q, k, v, {})}, {q, k, v}, {dy});
    });
    const decoder::Angles turns = angles();
    add("rotations, both ways", 2 * shape_.blocks, pass(4 * shape_.width), [=] {
      differentiate(split.q, dy, [&](const at::Tensor& x) { return decoder::rotate(x, turns); });
    });
    const at::Tensor x = rows(shape_.width);
    const at::Tensor scale = at::ones({shape_.width});
    add("norms, both ways", 2 * shape_.blocks + 1, pass(5 * shape_.width), [=] {
      differentiate(
          x, x, [&](const at::Tensor& at) { return decoder::layer_norm(at, scale, scale, 1e-5); });
    });
    const at::Tensor inner = rows(shape_.inner());
    add("gelu, both ways", shape_.blocks, pass(5 * shape_.inner()), [=] {
      differentiate(inner, inner, [](const at::Tensor& at) { return decoder::gelu(at); });
    });
  }

  void add_trained_head() {
    const int64_t width = shape_.width;
    const int64_t vocabulary = shape_.vocabulary;
    const int64_t chunk = std::max<int64_t>(256, (int64_t{1} << 22) / vocabulary);
    const int64_t most = std::min(chunk, shape_.tokens());
    const at::Tensor x = rows(width);
    const at::Tensor weight = drawn({vocabulary, width});
    const at::Tensor gradient = at::zeros({vocabulary, width});
    const at::Tensor logits = drawn({most, vocabulary});
    const at::Tensor ids = at::randint(vocabulary, {most, 1}, at::TensorOptions(at::kLong));
    add("head: products", 1, product(shape_.tokens(), width, vocabulary), [=, this] {
      each_chunk(chunk, [&](int64_t first, int64_t count) {
        matrix::product(x.narrow(0, first, count), weight.t());
      });
    });
    add("head: softmax and loss", 1, pass(2 * vocabulary), [=, this] {
      each_chunk(chunk, [&](int64_t, int64_t count) {
        decoder::make_likelihoods(logits.narrow(0, 0, count), ids.narrow(0, 0, count));
        decoder::make_gradient(logits.narrow(0, 0, count), ids.narrow(0, 0, count), 0.5);
      });
    });
    add("head: derivative by x", 1, product(shape_.tokens(), vocabulary, width), [=, this] {
      each_chunk(chunk, [&](int64_t, int64_t count) {
        matrix::product(logits.narrow(0, 0, count), weight);
      });
    });
    add("head: derivative by W", 1, product(vocabulary, shape_.tokens(), width), [=, this] {
      each_chunk(chunk, [&](int64_t first, int64_t count) {
        matrix::add_product(gradient, logits.narrow(0, 0, count).t(), x.narrow(0, first, count));
      });
    });
  }

  Shape shape_;
  std::vector<Part> parts_;
};

// Processor time of one thread, which a busy machine does not stretch; of several, the clock's.
double clock_of(int threads) {
  return threads == 1 ? processor_clock() : wall_clock();
}
template <typename Body>
double seconds_of(int threads, Body&& body) {
  const double start = clock_of(threads);
  body();
  return clock_of(threads) - start;
}

// A product of 2048 x 2048 matrices, and a copy of 64 MiB on the host's threads.
struct Peak {
  Samples product;
  Samples copy;
  void measure(int threads) {
    constexpr int64_t kSize = 2048;
    const at::Tensor a = at::ones({kSize, kSize});
    const at::Tensor to = at::zeros({kSize, kSize});
    product.add(2.0 * kSize * kSize * kSize /
                seconds_of(threads, [&] { matrix::product_into(to, a, a); }));
    constexpr size_t kPart = size_t{1} << 20;
    constexpr size_t kParts = 64;
    std::vector<char>& from = memory[0];
    std::vector<char>& into = memory[1];
    from.resize(kParts * kPart);
    into.resize(kParts * kPart);
    copy.add(2.0 * kParts * kPart / seconds_of(threads, [&] {
               kit::parallel_for(kParts, 1, [&](uint64_t begin, uint64_t end) {
                 std::memcpy(&into[begin * kPart], &from[begin * kPart], (end - begin) * kPart);
               });
             }));
  }
  std::vector<char> memory[2];
};

// The same micro-batch as a whole.
class Whole {
 public:
  Whole(const Shape& shape, bool training)
      : training_(training),
        driver_(shape.config(), kit::kFloat32, {QUENCH_DEVICE_CPU, 0}),
        tokens_{shape.rows, shape.length, {}} {
    for (int64_t i = 0; i < shape.tokens(); ++i) {
      tokens_.ids.push_back(static_cast<int32_t>(i * 7919 % shape.vocabulary));
    }
    if (training) {
      gradient_ = at::zeros({driver_.parameters().size(0)});
    }
  }
  void run() {
    if (training_) {
      driver_.gradient(tokens_, tokens_.ids, gradient_, 1.0);
    } else {
      driver_.nll(driver_.forward(tokens_, test::Storage::kShared), tokens_.ids);
    }
  }

 private:
  bool training_;
  test::ModelDriver driver_;
  test::Tokens tokens_;
  at::Tensor gradient_;
};

void print_line(const char* name, double seconds, double whole, double operations, double floor) {
  std::printf("%-36s %9.2f %6.1f %% ", name, 1e3 * seconds, 100 * seconds / whole);
  operations > 0 ? std::printf("%8.1f", operations / seconds / 1e9) : std::printf("%8s", "");
  std::printf(" %9.2f %6.2f\n", 1e3 * floor, floor / seconds);
}

}  // namespace

void print_model_parts(const quench_host* host, const char* form, const PartsRequest& request) {
  kit::current_host = host;
  at::set_num_threads(1);  // as in the host
  const at::NoGradGuard constant;
  const Shape shape = shape_of(request);
  const int threads = request.threads;
  const bool training = request.work == "training";
  Parts parts(shape);
  training ? parts.add_training() : parts.add_loss();
  Whole whole(shape, training);
  Samples wholes;
  Samples busy;
  Peak peak;
  for (int round = -1; round < request.rounds; ++round) {  // in turns; the first makes buffers
    if (round < 0) {
      Peak().measure(threads);
      whole.run();
    } else {
      peak.measure(threads);
      const double processor = processor_clock();
      const double start = wall_clock();
      wholes.add(seconds_of(threads, [&] { whole.run(); }));
      busy.add((processor_clock() - processor) / (wall_clock() - start));
    }
    for (Part& part : parts.all()) {
      const double seconds = seconds_of(threads, part.body);
      if (round >= 0) {
        part.seconds.add(seconds * static_cast<double>(part.calls));
      }
    }
  }
  const double rate = peak.product.median();
  const double bandwidth = peak.copy.median();
  const double all = wholes.median();
  std::printf("%s of %s, %lld x %lld ids, %s, %d threads, medians of %d rounds\n",
              request.work.c_str(), request.shape.c_str(), static_cast<long long>(shape.rows),
              static_cast<long long>(shape.length), form, threads, request.rounds);
  std::printf("a product of 2048 x 2048: %.1f GFLOP/s; a copy: %.1f GB/s\n", rate / 1e9,
              bandwidth / 1e9);
  std::printf("%-36s %9s %8s %8s %9s %6s\n", "part", "ms", "share", "GFLOP/s", "floor ms", "of it");
  double sum = 0;
  double floors = 0;
  double operations = 0;
  for (const Part& part : parts.all()) {
    const auto calls = static_cast<double>(part.calls);
    const double floor = calls * std::max(part.work.operations / rate, part.work.bytes / bandwidth);
    print_line(part.name.c_str(), part.seconds.median(), all, calls * part.work.operations, floor);
    sum += part.seconds.median();
    floors += floor;
    operations += calls * part.work.operations;
  }
  print_line("the rest: copies, graph, waiting", all - sum, all, 0, 0);
  print_line("whole", all, all, operations, floors);
  std::printf("%.0f tokens/s; %.2f of %d processors busy\n",
              static_cast<double>(shape.tokens()) / all, busy.median(), threads);
}

}  // namespace quench::bench
