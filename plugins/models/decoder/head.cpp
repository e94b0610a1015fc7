#include "models/decoder/head.hpp"

#include <ATen/ops/amax.h>
#include <ATen/ops/argmax.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/sum.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "models/decoder/elementwise.hpp"
#include "models/decoder/log_sums.hpp"
#include "quench/kit/host.hpp"
#include "quench/kit/tensor.hpp"
#include "quench/kit/torch.hpp"
#include "shared/matrix/on_host.hpp"

namespace quench::decoder {

namespace {

constexpr int64_t kElements = int64_t{1} << 24;  // of logits that exist at once in host memory
constexpr int64_t kElementsOnDevice = int64_t{1} << 27;

// "token 70", or "row 1, column 6" if the targets are [B,T].
std::string place(const quench_tensor& targets, int64_t token) {
  if (targets.dimensions == 2 && targets.shape[1] > 0) {
    return "row " + std::to_string(token / targets.shape[1]) + ", column " +
           std::to_string(token % targets.shape[1]);
  }
  return "token " + std::to_string(token);
}

std::vector<double> doubles(const at::Tensor& values) {
  const at::Tensor held = values.to(at::kDouble).cpu().contiguous();
  const auto* data = static_cast<const double*>(held.const_data_ptr());
  return {data, data + held.numel()};
}

// For logits on a device.
std::vector<RowSum> composed_sums(const at::Tensor& logits) {
  std::vector<RowSum> out;
  const at::Tensor peak = at::amax(logits, {1}, /*keepdim=*/true);
  const at::Tensor sum = at::sum(logits.sub(peak).exp_(), {1}, /*keepdim=*/true, at::kDouble);
  const std::vector<double> both = doubles(at::cat({peak.to(at::kDouble), sum}, 1));
  for (size_t i = 0; i < both.size(); i += 2) {
    out.push_back({both[i], both[i + 1]});
  }
  return out;
}

// -log softmax(logits)[target] for the rows of a batch listed in `tokens`.
void score(const at::Tensor& logits, std::span<const int64_t> tokens,
           std::span<const int32_t> targets, std::span<double> nll) {
  const at::Tensor wide =
      logits.scalar_type() == at::kDouble ? logits : in_type(logits, at::kFloat);
  const std::vector<RowSum> sums = matrix::on_host(wide) ? log_sums(wide) : composed_sums(wide);
  std::vector<int64_t> chosen(tokens.size());
  for (size_t i = 0; i < chosen.size(); ++i) {
    chosen[i] = std::max<int64_t>(targets[static_cast<size_t>(tokens[i])], 0);
  }
  const at::Tensor picks =
      at::from_blob(chosen.data(), {wide.size(0), 1}, at::TensorOptions(at::kLong))
          .to(wide.device());
  const std::vector<double> picked = doubles(wide.gather(1, picks));
  for (size_t i = 0; i < chosen.size(); ++i) {
    const auto token = static_cast<size_t>(tokens[i]);
    nll[token] = targets[token] < 0 ? 0.0 : std::log(sums[i].sum) + (sums[i].peak - picked[i]);
  }
}

void store_argmax(const at::Tensor& logits, std::span<const int64_t> tokens,
                  std::span<int32_t> argmax) {
  at::Tensor found = at::empty({logits.size(0)}, logits.options().dtype(at::kLong));
  kit::for_row_blocks(logits, [&](int64_t first, int64_t count) {
    at::Tensor part = found.narrow(0, first, count);
    at::argmax_out(part, logits.narrow(0, first, count), 1);
  });
  const at::Tensor best = found.to(at::kInt).cpu();
  const auto* ids = static_cast<const int32_t*>(best.const_data_ptr());
  for (size_t i = 0; i < tokens.size(); ++i) {
    argmax[static_cast<size_t>(tokens[i])] = ids[i];
  }
}

void check_finite(const quench_tensor& targets, std::span<const int64_t> tokens,
                  std::span<const double> nll) {
  for (const int64_t token : tokens) {
    const double loss = nll[static_cast<size_t>(token)];
    if (!std::isfinite(loss)) {
      kit::fail(QUENCH_NUMERICAL, "token_nll: %s: the loss is %f", place(targets, token).c_str(),
                loss);
    }
  }
}

}  // namespace

int64_t rows_per_chunk(int64_t vocabulary, at::Device device) {
  const bool host = device.is_cpu();
  return std::clamp<int64_t>((host ? kElements : kElementsOnDevice) / vocabulary / 32 * 32, 32,
                             host ? 1024 : 8192);
}

void token_nll(const quench_head_args& args, const at::Tensor& h, int64_t vocabulary,
               const WriteLogits& write_logits) {
  kit::expects(args.targets != nullptr && args.nll != nullptr, "token_nll: no targets or no nll");
  const auto targets = kit::elements<int32_t>(*args.targets, "token_nll: targets");
  const auto nll = kit::elements<double>(*args.nll, "token_nll: nll");
  std::span<int32_t> argmax;
  const auto count = static_cast<size_t>(h.size(0));
  if (args.argmax != nullptr) {
    argmax = kit::elements<int32_t>(*args.argmax, "token_nll: argmax");
    kit::expects(argmax.size() == count, "token_nll: argmax: wanted one element per token");
  }
  kit::expects(targets.size() == count && nll.size() == count,
               "token_nll: targets and nll: wanted one element per token");
  std::vector<int64_t> tokens;  // rows whose logits are needed
  for (size_t i = 0; i < count; ++i) {
    const auto token = static_cast<int64_t>(i);
    if (targets[i] < -1 || targets[i] >= vocabulary) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "token_nll: %s: target %d, wanted -1..%lld",
                place(*args.targets, token).c_str(), targets[i],
                static_cast<long long>(vocabulary - 1));
    }
    nll[i] = 0.0;
    if (targets[i] >= 0 || !argmax.empty()) {
      tokens.push_back(token);
    }
  }
  const auto chunk = static_cast<size_t>(rows_per_chunk(vocabulary, h.device()));
  const std::vector<int64_t> shape = {static_cast<int64_t>(std::min(chunk, tokens.size())),
                                      vocabulary};
  const at::Tensor memory =
      h.is_cpu() ? kit::host_empty(shape, h.scalar_type()) : at::empty(shape, h.options());
  for (size_t first = 0; first < tokens.size(); first += chunk) {
    kit::check_cancelled();
    const auto part = std::span(tokens).subspan(first, std::min(chunk, tokens.size() - first));
    const auto length = static_cast<int64_t>(part.size());
    const bool consecutive = part.back() - part.front() + 1 == length;
    const at::Tensor rows =
        consecutive
            ? h.narrow(0, part.front(), length)
            : at::index_select(h, 0,
                               at::from_blob(part.data(), {length}, at::TensorOptions(at::kLong))
                                   .to(h.device()));
    const at::Tensor logits = memory.narrow(0, 0, length);
    write_logits(rows, logits);
    score(logits, part, targets, nll);
    if (!argmax.empty()) {
      store_argmax(logits, part, argmax);
    }
    check_finite(*args.targets, part, nll);
  }
}

}  // namespace quench::decoder
