// Running batches on from where they stand, as plugins do through quench.block/1.
#include "core/pass/pass_replay.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <span>

#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/host_tensor.hpp"
#include "core/plugin/services/host_services.hpp"
#include "run/manifest/single_checkpoint.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/support/differences.hpp"
#include "tests/support/fixtures.hpp"
#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

using quench::ActivationStream;
using quench::HostTensor;
using quench::ModelHandle;
using quench::PassReplay;

namespace {

// A batch of the template family before stage 1 of block 0.
struct Standing {
  quench::test::TemporaryDir folder;
  ModelHandle model = quench::test::open_template_checkpoint(folder / "model").model;
  std::vector<int32_t> ids = {1, 2, 3, 5, 8, 13, 21, 34};
  std::vector<uint64_t> starts = {0, 8};
  ActivationStream stream{model, ids, starts};
  Standing() {
    stream.embed(0);
    stream.stage(0, 0, 0);
  }
};

std::vector<float> values(const quench_tensor& tensor) {
  const auto* data = static_cast<const float*>(tensor.data);
  return {data, data + tensor.shape[0] * tensor.shape[1]};
}

const quench_block_service& service() {
  const quench_host* host = quench::HostServices::instance().host_for("test.replay");
  return *static_cast<const quench_block_service*>(host->service(host, QUENCH_SERVICE_BLOCK));
}

}  // namespace

TEST_CASE("block replay: gives what the pass gives, and leaves the batch where it stood",
          "[core][run]") {
  Standing at;
  PassReplay replay(at.model, at.stream, nullptr, 0, 1, false);
  const quench_replay_place place = replay.place();
  CHECK(place.block == 0);
  CHECK(place.stage == 1);
  CHECK(place.stages == 2);
  CHECK(place.batches == 1);
  const std::vector<float> before = values(at.stream.carried(0)[0]);
  const quench_replay_args args{sizeof args, 0, 0, 2, 0, nullptr, nullptr};
  const std::vector<float> replayed = values(replay.replay(args)[0]);
  CHECK(quench::test::differences(values(at.stream.carried(0)[0]), before) == "");
  at.stream.stage(0, 0, 1);
  CHECK(quench::test::differences(values(at.stream.carried(0)[0]), replayed) == "");
  CHECK(replayed != before);
}

TEST_CASE("block replay: a weight in place of the model's counts for one replay", "[core][run]") {
  Standing at;
  PassReplay replay(at.model, at.stream, nullptr, 0, 1, false);
  const quench_replay_args plain{sizeof plain, 0, 0, 2, 0, nullptr, nullptr};
  const std::vector<float> exact = values(replay.replay(plain)[0]);
  const HostTensor zeros(quench::kFloat32, {32, 32});
  const quench_overlay overlay{sizeof overlay, 0, "blocks.0.mix.weight", zeros.view()};
  const quench_replay_args args{sizeof args, 0, 0, 2, 1, &overlay, nullptr};
  CHECK(values(replay.replay(args)[0]) != exact);
  CHECK(quench::test::differences(values(replay.replay(plain)[0]), exact) == "");
}

TEST_CASE("block replay: where one weight cannot be replaced, the others are the model's again",
          "[core][run]") {
  Standing at;
  PassReplay replay(at.model, at.stream, nullptr, 0, 1, false);
  const quench_replay_args plain{sizeof plain, 0, 0, 2, 0, nullptr, nullptr};
  const std::vector<float> exact = values(replay.replay(plain)[0]);
  const HostTensor zeros(quench::kFloat32, {32, 32});
  const std::vector<quench_overlay> overlays = {
      {sizeof(quench_overlay), 0, "blocks.0.mix.weight", zeros.view()},
      {sizeof(quench_overlay), 0, "blocks.0.no.weight", zeros.view()}};
  const quench_replay_args args{sizeof args, 0, 0, 2, 2, overlays.data(), nullptr};
  CHECK_THROWS_AS(replay.replay(args), quench::Error);
  CHECK(quench::test::differences(values(replay.replay(plain)[0]), exact) == "");
}

TEST_CASE("block replay: what a stream has kept is run from stage 0", "[core][run]") {
  Standing at;
  ActivationStream other(at.model, at.ids, at.starts);
  other.embed(0);
  other.keep();
  other.stage(0, 0, 0);
  other.stage(0, 0, 1);
  const std::vector<float> end = values(other.carried(0)[0]);
  PassReplay replay(at.model, other, nullptr, 0, 1, true);
  CHECK(replay.place().stage == 0);
  const quench_replay_args args{sizeof args, 0, 0, 2, 0, nullptr, nullptr};
  CHECK(quench::test::differences(values(replay.replay(args)[0]), end) == "");
}

TEST_CASE("block replay: is refused where there is nothing to run", "[core][run]") {
  Standing at;
  PassReplay replay(at.model, at.stream, nullptr, 0, 1, false);
  for (const auto& [batch, stage] : {std::pair{1, 2}, std::pair{0, 0}, std::pair{0, 3}}) {
    const quench_replay_args args{
        sizeof args, 0,      static_cast<uint64_t>(batch), static_cast<uint32_t>(stage), 0,
        nullptr,     nullptr};
    CHECK_THROWS_AS(replay.replay(args), quench::Error);
  }
}

TEST_CASE("block replay: a gradient is the slope of the replayed loss, at the overlays",
          "[core][run]") {
  quench::OpenCheckpoint checkpoint = quench::open_checkpoint(
      quench::test::built_catalog(),
      quench::single_checkpoint(
          quench::test::fixture("trajectories/gpt_neox-traj/step1200").string()),
      {}, quench::kFloat64, {QUENCH_DEVICE_CPU, 0});
  ModelHandle& model = checkpoint.model;
  const std::vector<int32_t> ids = {1, 2, 3, 5, 8, 13, 21, 34, 4, 6, 7, 9};
  const std::vector<uint64_t> starts = {0, 6, 12};
  ActivationStream stream(model, ids, starts);
  ActivationStream float_stream(model, ids, starts);
  const auto run_block = [&](ActivationStream& each) {
    for (uint32_t stage = 0; stage < model.block(0).stage_count; ++stage) {
      each.stage(0, 0, stage);
    }
  };
  stream.embed(0);
  float_stream.embed(0);
  run_block(float_stream);
  stream.keep();
  run_block(stream);
  PassReplay replay(model, stream, &float_stream, 0, model.block(0).stage_count, true);

  const auto doubles = [](const quench_tensor& tensor) {
    const auto* data = static_cast<const double*>(tensor.data);
    return std::vector<double>(data, data + tensor.shape[0] * tensor.shape[1]);
  };
  const quench_tensor target = replay.float_output(0)[0];
  const quench_linear_info& linear = model.block(0).groups[1].linears[0];
  HostTensor moved(quench::kFloat64, {linear.out_features, linear.in_features});
  model.weight_get(linear.weight, moved.view());
  const quench_overlay overlay{sizeof overlay, 0, linear.weight, moved.view()};
  const quench_replay_args args{sizeof args, 0,        0,      model.block(0).stage_count,
                                1,           &overlay, nullptr};
  const auto loss = [&] {
    const std::vector<double> output = doubles(replay.replay(args)[0]);
    const std::vector<double> wanted = doubles(target);
    double sum = 0;
    for (size_t i = 0; i < output.size(); ++i) {
      sum += (output[i] - wanted[i]) * (output[i] - wanted[i]);
    }
    return sum;
  };
  CHECK(loss() < 1e-20);  // the block is float and so is the target
  const std::span<double> values = moved.as<double>();
  std::vector<double> direction(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    direction[i] = i % 7 < 3 ? 1e-2 : -1e-2;
    values[i] += direction[i];  // the place of the overlay
  }
  HostTensor gradient(quench::kFloat64, {linear.out_features, linear.in_features});
  const quench_tensor into = gradient.view();
  const char* const names[] = {linear.weight};
  const double found = replay.gradient({sizeof(quench_replay_gradient_args), 0, 0, 1, 1, &overlay,
                                        &target, nullptr, 2.0, names, &into, nullptr});
  CHECK(found == Approx(loss()).epsilon(1e-11));
  constexpr double kStep = 1e-4;
  const auto moved_by = [&](double steps) {
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] += steps * direction[i];
    }
  };
  moved_by(kStep);
  const double above = loss();
  moved_by(-2 * kStep);
  const double slope = (above - loss()) / (2 * kStep);
  double along = 0;
  for (size_t i = 0; i < direction.size(); ++i) {
    along += gradient.as<double>()[i] * direction[i];
  }
  CHECK(along == Approx(2.0 * slope).epsilon(1e-6));
  CHECK(slope > 0);
  // The model has its own weight again, and the batch stands where it stood.
  HostTensor own(quench::kFloat64, {linear.out_features, linear.in_features});
  model.weight_get(linear.weight, own.view());
  CHECK(own.as<double>()[0] == Approx(values[0] - (1 - kStep) * direction[0]).epsilon(1e-12));
  CHECK(doubles(stream.carried(0)[0]) == doubles(target));
}

TEST_CASE("block replay: there is no gradient but of a whole block, and by a family that has it",
          "[core][run]") {
  Standing at;
  const quench_tensor target = at.stream.carried(0)[0];
  const quench_replay_gradient_args args{sizeof args, 0,       0,   0,       0,       nullptr,
                                         &target,     nullptr, 1.0, nullptr, nullptr, nullptr};
  PassReplay inside(at.model, at.stream, nullptr, 0, 1, false);
  CHECK_THAT(quench::test::message_of([&] { inside.gradient(args); }),
             Catch::Contains("the batches are held at stage 1 of block 0, wanted 0"));
  CHECK_THAT(quench::test::message_of([&] { inside.float_output(0); }),
             Catch::Contains("no float model runs beside this pass"));
  PassReplay whole(at.model, at.stream, nullptr, 0, 0, false);
  CHECK_THAT(quench::test::message_of([&] { whole.gradient(args); }),
             Catch::Contains("does not differentiate a block by itself"));
}

TEST_CASE("block replay: the service answers while a pass offers it, and not before or after",
          "[core][run]") {
  Standing at;
  PassReplay replay(at.model, at.stream, nullptr, 0, 1, false);
  quench_replay_place place{};
  place.struct_size = sizeof place;
  quench_error error{sizeof error, 0, {}};
  const quench_host* host = quench::HostServices::instance().host_for("test.replay");
  CHECK(service().place(host, &place, &error) == QUENCH_FAILED_PRECONDITION);
  {
    const quench::OfferedReplay offered(replay);
    CHECK(service().place(host, &place, &error) == QUENCH_OK);
    quench_replay_place unsized{};
    CHECK(service().place(host, &unsized, &error) == QUENCH_INVALID_ARGUMENT);
    const quench_block_info elsewhere{};
    quench_replay_place shorter{};
    shorter.struct_size = offsetof(quench_replay_place, info);
    shorter.info = &elsewhere;  // memory of somebody else
    CHECK(service().place(host, &shorter, &error) == QUENCH_OK);
    CHECK(shorter.stage == 1);
    CHECK(shorter.info == &elsewhere);
    const quench_replay_args args{sizeof args, 0, 0, 2, 0, nullptr, nullptr};
    const quench_tensor* tensors = nullptr;
    uint32_t count = 0;
    CHECK(service().replay(host, &args, &tensors, &count, &error) == QUENCH_OK);
    CHECK(count == 1);
    HostTensor mix(quench::kFloat32, {32, 32});
    const quench_tensor view = mix.view();
    CHECK(service().weight(host, "blocks.0.mix.weight", &view, &error) == QUENCH_OK);
    CHECK(mix.as<float>()[0] != 0.0F);
  }
  CHECK(service().place(host, &place, &error) == QUENCH_FAILED_PRECONDITION);
}
