// Running batches on from where they stand, as plugins do through quench.block/1.
#include "core/pass/pass_replay.hpp"

#include <catch2/catch.hpp>
#include <cstring>

#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/host_tensor.hpp"
#include "core/plugin/services/host_services.hpp"
#include "tests/run/built_catalog.hpp"
#include "tests/support/differences.hpp"
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
  PassReplay replay(at.model, at.stream, 0, 1, false);
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
  PassReplay replay(at.model, at.stream, 0, 1, false);
  const quench_replay_args plain{sizeof plain, 0, 0, 2, 0, nullptr, nullptr};
  const std::vector<float> exact = values(replay.replay(plain)[0]);
  const HostTensor zeros(quench::kFloat32, {32, 32});
  const quench_overlay overlay{sizeof overlay, 0, "blocks.0.mix.weight", zeros.view()};
  const quench_replay_args args{sizeof args, 0, 0, 2, 1, &overlay, nullptr};
  CHECK(values(replay.replay(args)[0]) != exact);
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
  PassReplay replay(at.model, other, 0, 1, true);
  CHECK(replay.place().stage == 0);
  const quench_replay_args args{sizeof args, 0, 0, 2, 0, nullptr, nullptr};
  CHECK(quench::test::differences(values(replay.replay(args)[0]), end) == "");
}

TEST_CASE("block replay: is refused where there is nothing to run", "[core][run]") {
  Standing at;
  PassReplay replay(at.model, at.stream, 0, 1, false);
  for (const auto& [batch, stage] : {std::pair{1, 2}, std::pair{0, 0}, std::pair{0, 3}}) {
    const quench_replay_args args{
        sizeof args, 0,      static_cast<uint64_t>(batch), static_cast<uint32_t>(stage), 0,
        nullptr,     nullptr};
    CHECK_THROWS_AS(replay.replay(args), quench::Error);
  }
}

TEST_CASE("block replay: the service answers while a pass offers it, and not before or after",
          "[core][run]") {
  Standing at;
  PassReplay replay(at.model, at.stream, 0, 1, false);
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
