#include "core/plugin/services/block_service.hpp"

#include <atomic>
#include <exception>

#include "core/answer.hpp"

namespace quench {

namespace {

std::atomic<BlockReplay*> offered{nullptr};

// Runs `body` with the current offer.
template <typename Body>
quench_status with_replay(quench_error* error, Body body) noexcept {
  return guarded(error, [&] {
    BlockReplay* replay = offered;
    if (replay == nullptr) {
      fail(QUENCH_FAILED_PRECONDITION, "no calibration batches stand before a stage now");
    }
    body(*replay);
  });
}

quench_status place(const quench_host*, quench_replay_place* out, quench_error* error) noexcept {
  return with_replay(error, [&](BlockReplay& replay) { answer_into(*out, replay.place()); });
}

quench_status run(const quench_host*, const quench_replay_args* args, const quench_tensor** tensors,
                  uint32_t* count, quench_error* error) noexcept {
  return with_replay(error, [&](BlockReplay& replay) {
    const std::span<const quench_tensor> out = replay.replay(*args);
    *tensors = out.data();
    *count = static_cast<uint32_t>(out.size());
  });
}

quench_status weight(const quench_host*, const char* parameter, const quench_tensor* destination,
                     quench_error* error) noexcept {
  return with_replay(error, [&](BlockReplay& replay) { replay.weight(parameter, *destination); });
}

quench_status gradient(const quench_host*, const quench_replay_gradient_args* args, double* loss,
                       quench_error* error) noexcept {
  return with_replay(error, [&](BlockReplay& replay) { *loss = replay.gradient(*args); });
}

quench_status float_output(const quench_host*, uint64_t batch, const quench_tensor** tensors,
                           uint32_t* count, quench_error* error) noexcept {
  return with_replay(error, [&](BlockReplay& replay) {
    const std::span<const quench_tensor> out = replay.float_output(batch);
    *tensors = out.data();
    *count = static_cast<uint32_t>(out.size());
  });
}

}  // namespace

OfferedReplay::OfferedReplay(BlockReplay& replay) {
  offered = &replay;
}

OfferedReplay::~OfferedReplay() {
  offered = nullptr;
}

const quench_block_service* block_service() {
  static constexpr quench_block_service kTable = {
      sizeof(quench_block_service), place, run, weight, gradient, float_output};
  return &kTable;
}

}  // namespace quench
