#include "tests/plugins/models/cache_reference.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "quantizers/cache/cache_rounding.hpp"
#include "quench/kit/error.hpp"
#include "quench/kit/scalar.hpp"
#include "quench/kit/torch.hpp"
#include "tests/plugins/models/saved_family.hpp"
#include "tests/plugins/quantizers/cache_parameters.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/safetensors_reader.hpp"
#include "tests/support/temporary.hpp"

namespace quench::test {

void matches_transformers_with_a_rounded_cache(const std::string& name) {
  constexpr double kTolerance = 5e-6;  // the reference itself is float32 in norms, softmax, angles
  const auto data = source_dir() / "tests/data";
  const auto cases = nlohmann::json::parse(read_file(data / "cache_reference.json")).at("logits");
  const SafetensorsFile reference(data / "cache_reference.safetensors");
  const SavedFamily saved(name);
  ModelDriver driver(saved.config(), saved.weights, kit::kFloat64);
  const std::vector<double> plain = doubles(driver.logits(driver.forward(saved.tokens)));
  int compared = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    if (cases[i].at("model") != name) {
      continue;
    }
    CAPTURE(cases[i].dump());
    ++compared;
    for (uint32_t b = 0; b < driver.info().blocks; ++b) {
      auto* made = new quantizers::CacheRounding(
          quantizers::cache_settings(cache_parameters(cases[i].at("parameters"))), b);
      const quench_cache_op op = {
          sizeof op, made,
          [](void* context, const quench_cache_args* args, quench_error* error) noexcept {
            return kit::guard(error, [&] {
              static_cast<quantizers::CacheRounding*>(context)->apply(
                  kit::borrow(*args->keys), kit::borrow(*args->values), *args->batch);
            });
          },
          [](void* context) noexcept { delete static_cast<quantizers::CacheRounding*>(context); }};
      driver.set_cache_op(b, &op);
    }
    const std::vector<double> logits = doubles(driver.logits(driver.forward(saved.tokens)));
    CHECK(distance(logits, reference.elements<double>("logits." + std::to_string(i))) < kTolerance);
    CHECK(distance(logits, plain) > 1e-2);
  }
  CHECK(compared >= 3);
}

}  // namespace quench::test
