// A family whose norm weighs by 1 + w, which is no parameter.
#include <catch2/catch.hpp>

#include "models/decoder/curvature.hpp"
#include "models/decoder/decoder.hpp"
#include "models/decoder/rms_norm.hpp"
#include "quench/abi/kind/model.h"
#include "quench/kit/scalar.hpp"
#include "tests/support/test_host.hpp"

namespace quench::test::derived_weight {

namespace {

constexpr int64_t kWidth = 4;
constexpr int64_t kVocabulary = 5;
constexpr size_t kParameters = 2 * kVocabulary * kWidth + kWidth + kWidth * kWidth;
constexpr quench_device kHost{QUENCH_DEVICE_CPU, 0};

class OnePlus final : public decoder::Decoder {
 public:
  // Whether operations of ATen weigh, on what stands for the parameter in derivatives.
  explicit OnePlus(bool tracks) : Decoder(architecture(), open_args()), tracks_(tracks) {}

 private:
  static quench_model_open_args open_args() {
    return {sizeof(quench_model_open_args),
            QUENCH_OPEN_INITIALIZE,
            nullptr,
            "{}",
            2,
            kHost,
            kit::kFloat64};
  }
  static decoder::Architecture architecture() {
    const decoder::CarrySpec h{"h", kWidth, kit::kFloat64};
    const decoder::CarrySpec x{"x", kWidth, kit::kFloat64};
    decoder::Architecture out{};
    out.width = kWidth;
    out.vocabulary = kVocabulary;
    out.max_positions = 8;
    out.weights = {{"embed.weight", {kVocabulary, kWidth}, QUENCH_ROLE_EMBEDDING},
                   {"layers.0.norm.weight", {kWidth}, QUENCH_ROLE_NORM},
                   {"layers.0.out.weight", {kWidth, kWidth}, QUENCH_ROLE_MATRIX},
                   {"head.weight", {kVocabulary, kWidth}, QUENCH_ROLE_HEAD}};
    out.blocks = {{{{0, {{"layers.0.out", "o"}}}}, {{h}, {h, x}, {h}}}};
    out.embedding = "embed.weight";
    out.head = "head.weight";
    out.initializer_range = 0.5;
    return out;
  }

  void run_stage(const decoder::StageIo& io, uint32_t, uint32_t stage,
                 const decoder::Batch&) override {
    if (stage == 1) {
      io.put_sum(0, io.in(0), linear(0, 0)(io.in(1)));
      return;
    }
    const at::Tensor& w = weight("layers.0.norm.weight");
    io.put(0, io.in(0));
    io.put(1, tracks_ ? io.in(0).mul(decoder::tracked(w).add(1))
                      : decoder::rms_norm(io.in(0), w.add(1), 1e-5,
                                          decoder::NormRounding::kAfterWeight));
  }
  at::Tensor final_norm(const at::Tensor& h) const override { return h; }

  bool tracks_;
};

// A batch of one row and what is asked of it.
struct Asked {
  std::vector<int32_t> ids = {1, 2, 3};
  std::vector<int32_t> wanted = {2, 3, 4};
  int64_t shape[2] = {1, 3};
  int64_t size[1] = {kParameters};
  std::vector<double> sums = std::vector<double>(kParameters);
  quench_tensor tokens{ids.data(), kHost, 2, kit::kInt32, shape, nullptr, 0};
  quench_tensor targets{wanted.data(), kHost, 2, kit::kInt32, shape, nullptr, 0};
  quench_tensor gradient{sums.data(), kHost, 1, kit::kFloat64, size, nullptr, 0};
  quench_batch batch{sizeof(quench_batch), 0, &tokens, nullptr, nullptr};
  quench_loss_args args{sizeof(quench_loss_args), 0, &batch, &targets, 1.0, nullptr};
};

const std::string kRefusal =
    "block 0, stage 0: a weight [4] is none of the model's parameters, so its derivative would be "
    "lost; wanted a parameter, or operations of ATen on tracked(parameter) where recording()";

}  // namespace

TEST_CASE("decoder: a derivative that a computed weight would lose is refused with its place",
          "[models][decoder]") {
  Asked asked;
  OnePlus model(/*tracks=*/false);
  CHECK(model.gradient(asked.args, nullptr) > 0);  // the loss alone is fine
  CHECK_THROWS_WITH(model.gradient(asked.args, &asked.gradient), kRefusal);
  CHECK_THROWS_WITH(model.curvature(asked.args, QUENCH_CURVATURE_HESSIAN, nullptr), kRefusal);
  CHECK_THROWS_WITH(model.curvature(asked.args, QUENCH_CURVATURE_HESSIAN, &asked.gradient),
                    kRefusal);
}

TEST_CASE("decoder: what is computed of a tracked parameter has its derivatives",
          "[models][decoder]") {
  Asked asked;
  OnePlus model(/*tracks=*/true);
  model.gradient(asked.args, &asked.gradient);
  constexpr size_t kNorm = kVocabulary * kWidth;
  for (size_t c = kNorm; c < kNorm + kWidth; ++c) {
    CHECK(asked.sums[c] != 0);
  }
  CHECK(model.curvature(asked.args, QUENCH_CURVATURE_HESSIAN, nullptr)->loss() > 0);
}

}  // namespace quench::test::derived_weight
