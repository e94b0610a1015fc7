#include "models/decoder/recorded.hpp"

#include <ATen/ops/empty_like.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "quench/kit/host.hpp"

namespace quench::decoder {

bool records(at::Device device) {
  static const bool asked = [] {
    const char* said = std::getenv("QUENCH_CUDA_GRAPHS");
    return said != nullptr && std::string_view(said) == "1";
  }();
  return asked && !device.is_cpu();
}

namespace {

// Whatever a device says of it, the work can still be done without; but not where the user asked to
// stop.
std::unique_ptr<cuda::RecordedWork> recorded(const char* what, at::Device device,
                                             const cuda::RecordedWork* beside,
                                             const std::function<void()>& work) {
  std::string why;
  try {
    return std::make_unique<cuda::RecordedWork>(device.index(), beside, work);
  } catch (const kit::Error& error) {
    if (error.code() == QUENCH_CANCELLED) {
      throw;
    }
    why = error.what();
  } catch (const c10::Error& error) {
    why = error.what_without_backtrace();
  }
  kit::log(QUENCH_LOG_WARNING,
           std::string(what) +
               " cannot be recorded, so it is told each time: " + why.substr(0, why.find('\n')));
  return nullptr;
}

}  // namespace

LossSum RecordedStep::operator()(const Form& form, const at::Tensor& ids,
                                 const ScoredTargets& targets, const Step& step) {
  const bool same = form == form_ && targets_ && targets_->rows.size(0) == targets.rows.size(0);
  if (!same) {
    work_.reset();
    form_ = form;
    done_ = 0;
    ids_ = ids.clone();
    targets_ = std::make_unique<ScoredTargets>(targets);
    targets_->rows = targets.rows.clone();
    targets_->chosen = targets.chosen.clone();
  }
  if (!work_ && done_ >= 2 && !refused_) {
    losses_ = LossSum();
    work_ = recorded("a training step", ids.device(), nullptr,
                     [&] { losses_ = step(ids_, *targets_); });
    refused_ = !work_;
  }
  if (!work_) {
    ++done_;
    return step(ids, targets);
  }
  ids_.copy_(ids);
  targets_->rows.copy_(targets.rows);
  targets_->chosen.copy_(targets.chosen);
  work_->run();
  return losses_;
}

void RecordedStages::operator()(uint32_t block, uint32_t stage, int64_t length, const Tensors& in,
                                const Tensors& out, const Stage& work) {
  const int64_t tokens = in.front().size(0);
  if (block != block_ || length != length_ || tokens != tokens_) {
    forget();
    block_ = block;
    length_ = length;
    tokens_ = tokens;
  }
  Call& call = calls_[stage];
  if (!call.work && call.done && !refused_) {
    record(call, in, out, work);
  }
  if (!call.work) {
    call.done = true;
    work(in, out);
    return;
  }
  for (size_t i = 0; i < in.size(); ++i) {
    call.in[i].copy_(in[i]);
  }
  call.work->run();
  for (size_t i = 0; i < out.size(); ++i) {
    out[i].copy_(call.out[i]);
  }
}

void RecordedStages::record(Call& call, const Tensors& in, const Tensors& out, const Stage& work) {
  for (const at::Tensor& tensor : in) {
    call.in.push_back(at::empty_like(tensor));
  }
  for (const at::Tensor& tensor : out) {
    call.out.push_back(at::empty_like(tensor));
  }
  const cuda::RecordedWork* beside = lent_.get();
  for (const auto& [stage, other] : calls_) {
    beside = other.work ? other.work.get() : beside;
  }
  call.work =
      recorded("a stage of a block", in.front().device(), beside, [&] { work(call.in, call.out); });
  refused_ = !call.work;
  if (refused_) {
    call.in.clear();
    call.out.clear();
  }
}

void RecordedStages::forget() {
  for (auto& [stage, call] : calls_) {
    if (call.work) {
      lent_ = std::move(call.work);
    }
  }
  calls_.clear();
}

}  // namespace quench::decoder
