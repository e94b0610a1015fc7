// The forward of GPT-NeoX against plain loops, and what must not change its bits.
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "quench/kit/scalar.hpp"
#include "shared/matrix/on_host.hpp"
#include "tests/plugins/models/gpt_neox/tiny_model.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/host_threads.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test {

namespace {

// -log softmax(logits)[id of the next token], 0 at the end of a row.
std::vector<double> losses(const std::vector<double>& logits, const Tokens& tokens,
                           int64_t vocabulary) {
  std::vector<double> nll(tokens.ids.size(), 0.0);
  for (size_t n = 0; n + 1 < nll.size(); ++n) {
    if ((static_cast<int64_t>(n) + 1) % tokens.length != 0) {
      const double* row = &logits[n * static_cast<size_t>(vocabulary)];
      const double sum = std::accumulate(row, row + vocabulary, 0.0,
                                         [](double s, double l) { return s + std::exp(l); });
      nll[n] = std::log(sum) - row[tokens.ids[n + 1]];
    }
  }
  return nll;
}

}  // namespace

TEST_CASE("gpt_neox: the forward is that of plain float64 loops", "[models][gpt_neox]") {
  TinyModel model;
  model.parallel = GENERATE(true, false);
  model.attention_bias = GENERATE(true, false);
  model.tied = GENERATE(true, false);
  model.rotary_part = GENERATE(0.3, 0.4, 1.0);  // 2 (not 2.4), 3 and 8 of 8 elements
  model.draw();
  MemorySource source;
  model.store(source, kit::kFloat32);
  ModelDriver driver(model.config(), source, kit::kFloat64);
  const Tokens tokens = some_tokens(model, 3, 11);
  const std::vector<double> wanted = model.logits(tokens);
  // Angles are float32 on both sides, and the two powf and cosf may differ in the last bit.
  CHECK(distance(doubles(driver.logits(driver.forward(tokens))), wanted) < 1e-5);
  CHECK(distance(driver.next_id_nll(tokens), losses(wanted, tokens, model.vocabulary)) < 1e-5);
}

TEST_CASE("gpt_neox: base and epsilon are the config's", "[models][gpt_neox]") {
  TinyModel model;
  model.theta = GENERATE(10000.0, 30.0);
  model.eps = GENERATE(1e-5, 1e-3);
  model.embedding_spread = 1.0 / 64.0;  // so that the epsilon matters
  model.draw();
  MemorySource source;
  model.store(source, kit::kFloat32);
  ModelDriver driver(model.config(), source, kit::kFloat64);
  const Tokens tokens = some_tokens(model, 2, 11);
  CHECK(distance(doubles(driver.logits(driver.forward(tokens))), model.logits(tokens)) < 1e-5);
}

TEST_CASE("gpt_neox: every dtype runs to its own precision", "[models][gpt_neox]") {
  struct Case {
    quench_dtype dtype;
    double tolerance;  // about 30 unit roundoffs of logits near 10
  };
  const auto [dtype, tolerance] = GENERATE(Case{kit::kFloat64, 1e-5}, Case{kit::kFloat32, 5e-5},
                                           Case{kit::kFloat16, 0.1}, Case{kit::kBFloat16, 0.8});
  TinyModel model;
  model.parallel = GENERATE(true, false);
  model.draw();
  MemorySource source;
  model.store(source, kit::kFloat32);
  ModelDriver driver(model.config(), source, dtype);
  CHECK(kit::same(driver.info().dtype, dtype));
  const Tokens tokens = some_tokens(model, 2, 9);
  const double off = distance(doubles(driver.logits(driver.forward(tokens))), model.logits(tokens));
  CAPTURE(off, kit::name_of(dtype));
  CHECK(off < tolerance);
}

TEST_CASE("gpt_neox: stages may write over what they read", "[models][gpt_neox]") {
  TinyModel model;
  model.parallel = GENERATE(true, false);
  model.inner = GENERATE(24, 40);  // 24: every tensor called x has the same size
  model.draw();
  MemorySource source;
  model.store(source, kit::kFloat32);
  const quench_dtype dtype = GENERATE(kit::kFloat64, kit::kFloat32, kit::kBFloat16);
  ModelDriver driver(model.config(), source, dtype);
  const Tokens tokens = some_tokens(model, 3, 11);
  CHECK(identical(driver.forward(tokens, Storage::kSeparate),
                  driver.forward(tokens, Storage::kShared)));
}

TEST_CASE("gpt_neox: the number of threads changes no bit", "[models][gpt_neox]") {
  TinyModel model;
  model.width = 96;
  model.inner = 256;
  model.vocabulary = 700;
  model.positions = 512;
  model.draw();
  MemorySource source;
  model.store(source, kit::kFloat32);
  ModelDriver driver(model.config(), source, GENERATE(kit::kFloat64, kit::kFloat32));
  const Tokens tokens = some_tokens(model, 2, 400);
  const at::Tensor one = driver.forward(tokens);
  const std::vector<double> one_nll = driver.next_id_nll(tokens);
  const HostThreads three(3);
  CHECK(identical(one, driver.forward(tokens)));
  CHECK(differences(one_nll, driver.next_id_nll(tokens)) == "");
}

TEST_CASE("gpt_neox: a row does not depend on the rows beside it", "[models][gpt_neox]") {
  TinyModel model;
  model.draw();
  MemorySource source;
  model.store(source, kit::kFloat32);
  const quench_dtype dtype = GENERATE(kit::kFloat64, kit::kFloat32);
  ModelDriver driver(model.config(), source, dtype);
  const Tokens both = some_tokens(model, 2, 16);
  const Tokens first{1, 16, {both.ids.begin(), both.ids.begin() + 16}};
  const Tokens second{1, 16, {both.ids.begin() + 16, both.ids.end()}};
  const std::vector<double> together = driver.next_id_nll(both);
  std::vector<double> apart = driver.next_id_nll(first);
  const std::vector<double> rest = driver.next_id_nll(second);
  apart.insert(apart.end(), rest.begin(), rest.end());
  // Not bits: a GEMM of other height may sum in another order.
  CHECK(distance(together, apart) < (kit::same(dtype, kit::kFloat64) ? 1e-12 : 5e-6));
}

TEST_CASE("gpt_neox: argmax is the most likely id", "[models][gpt_neox]") {
  TinyModel model;
  model.draw();
  MemorySource source;
  model.store(source, kit::kFloat32);
  ModelDriver driver(model.config(), source, kit::kFloat32);
  const Tokens tokens = some_tokens(model, 2, 7);
  const at::Tensor h = driver.forward(tokens);
  const std::vector<double> logits = doubles(driver.logits(h));
  std::vector<int32_t> argmax;
  driver.nll(h, std::vector<int32_t>(14, -1), &argmax);
  for (size_t n = 0; n < argmax.size(); ++n) {
    const auto row = logits.begin() + static_cast<int64_t>(n) * model.vocabulary;
    CHECK(argmax[n] == std::max_element(row, row + model.vocabulary) - row);
  }
}

TEST_CASE("gpt_neox: libtorch alone, as on a GPU, gives the forward of plain float64 loops",
          "[models][gpt_neox]") {
  need_host_memory();
  struct Case {
    quench_dtype dtype;
    double tolerance;  // those of the test of dtypes
  };
  const auto [dtype, tolerance] = GENERATE(Case{kit::kFloat64, 1e-5}, Case{kit::kFloat32, 5e-5},
                                           Case{kit::kFloat16, 0.1}, Case{kit::kBFloat16, 0.8});
  TinyModel model;
  model.parallel = GENERATE(true, false);
  model.draw();
  MemorySource source;
  model.store(source, kit::kFloat32);
  ModelDriver driver(model.config(), source, dtype);
  const Tokens tokens = some_tokens(model, 3, 11);
  const at::Tensor own = driver.forward(tokens);
  const matrix::LibtorchAlone as_on_a_gpu;
  const at::Tensor h = driver.forward(tokens);
  const std::vector<double> wanted = model.logits(tokens);
  CAPTURE(kit::name_of(dtype));
  CHECK(distance(doubles(driver.logits(h)), wanted) < tolerance);
  CHECK(distance(driver.next_id_nll(tokens), losses(wanted, tokens, model.vocabulary)) < tolerance);
  CHECK_FALSE(identical(h, own));  // another order of sums: it was not the kernels for processors
}

}  // namespace quench::test
