#include "core/pass/logit_probe.hpp"

#include <algorithm>
#include <cmath>

#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/host_tensor.hpp"
#include "core/pass/activation_stream.hpp"

namespace quench {

namespace {

constexpr uint64_t kSequences = 4;
constexpr uint64_t kLength = 32;  // tokens per sequence

bool narrow(quench_dtype dtype) {
  return dtype.bits == 16;
}

}  // namespace

LogitProbe::LogitProbe(ModelHandle& model, const CalibrationRows* calibration) : model_(model) {
  rows_.starts.push_back(0);
  const auto positions = static_cast<uint64_t>(model.info().max_positions);
  const uint64_t longest = std::min(kLength, positions);
  if (calibration != nullptr) {
    for (size_t r = 0; r + 1 < calibration->starts.size() && r < kSequences; ++r) {
      const uint64_t first = calibration->starts[r];
      const uint64_t count = std::min(calibration->starts[r + 1] - first, longest);
      rows_.ids.insert(rows_.ids.end(), calibration->ids.begin() + static_cast<ptrdiff_t>(first),
                       calibration->ids.begin() + static_cast<ptrdiff_t>(first + count));
      rows_.starts.push_back(rows_.ids.size());
    }
    return;
  }
  const auto vocabulary = static_cast<uint64_t>(model.info().vocabulary);
  for (uint64_t r = 0; r < kSequences; ++r) {
    for (uint64_t t = 0; t < longest; ++t) {
      const uint64_t place = (r * longest + t) * 2654435761u;  // Knuth's multiplicative hash
      rows_.ids.push_back(static_cast<int32_t>(place % vocabulary));
    }
    rows_.starts.push_back(rows_.ids.size());
  }
}

std::vector<double> LogitProbe::read() const {
  ActivationStream stream(model_, rows_.ids, rows_.starts);
  const quench_model_info info = model_.info();
  std::vector<double> out;
  for (size_t b = 0; b < stream.batches().size(); ++b) {
    stream.forward(b);
    const quench_tensor h = stream.carried(b)[0];
    if (narrow(info.dtype)) {
      const HostTensor nll(kFloat64, {h.shape[0]});
      const quench_tensor targets = stream.tokens(b);
      const quench_tensor to = nll.view();
      model_.token_nll({sizeof(quench_head_args), 0, &h, &targets, &to, nullptr, nullptr});
      out.insert(out.end(), nll.as<double>().begin(), nll.as<double>().end());
      continue;
    }
    const DeviceTensor logits(model_, info.dtype, {h.shape[0], info.vocabulary});
    model_.logits(h, logits.view());
    const HostTensor read = on_host(model_, logits.view());
    if (same_dtype(info.dtype, kFloat64)) {
      out.insert(out.end(), read.as<double>().begin(), read.as<double>().end());
    } else {
      out.insert(out.end(), read.as<float>().begin(), read.as<float>().end());
    }
  }
  return out;
}

double LogitProbe::distance(const std::vector<double>& before, const std::vector<double>& after) {
  double off = 0;
  double size = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    off += (after[i] - before[i]) * (after[i] - before[i]);
    size += before[i] * before[i];
  }
  return size > 0 ? std::sqrt(off / size) : std::sqrt(off);
}

double LogitProbe::tolerance() const {
  const quench_dtype dtype = model_.info().dtype;
  return same_dtype(dtype, kFloat64) ? 1e-11 : narrow(dtype) ? 2e-2 : 1e-5;
}

}  // namespace quench
