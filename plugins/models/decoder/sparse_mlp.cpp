#include "models/decoder/sparse_mlp.hpp"

#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/topk.h>

#include <span>
#include <tuple>

#include "models/decoder/activation.hpp"
#include "models/decoder/autograd_scope.hpp"
#include "models/decoder/differentiable.hpp"
#include "quench/kit/host.hpp"

namespace quench::decoder {

namespace {

// The shares [N, picks] and the experts they belong to.
std::pair<at::Tensor, at::Tensor> shares_and_experts(const at::Tensor& x, const Router& router,
                                                     int64_t picks, at::ScalarType wide) {
  if (!router.bias.defined()) {
    auto [largest, places] =
        at::topk(softmax(multiply(x, tracked(router.weight).t()), wide), picks, 1);
    return {largest, places};
  }
  const at::Tensor likely = at::sigmoid(multiply(x.to(wide), tracked(router.weight).to(wide).t()));
  const at::Tensor places =
      std::get<1>(at::topk(likely.detach().add(router.bias.to(wide)), picks, 1));
  return {likely.gather(1, places), places};
}

}  // namespace

Routing route(const at::Tensor& x, const Router& router, int64_t picks, const ShareRule& rule) {
  const at::ScalarType wide = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  auto [shares, places] = shares_and_experts(x, router, picks, wide);
  if (rule.sum_to_one) {
    shares = shares.div(shares.sum(1, /*keepdim=*/true));
  }
  if (rule.scale != 1.0) {
    shares = shares.mul(rule.scale);
  }
  return {places.reshape({-1, 1}).to(at::kInt), shares.reshape({-1, 1}).to(x.scalar_type())};
}

Routes::Routes(const at::Tensor& experts, int64_t count, int64_t picks)
    : ends_(static_cast<size_t>(count) + 1) {
  const at::Tensor host = experts.to(at::kCPU);
  const std::span<const int32_t> chosen(host.const_data_ptr<int32_t>(),
                                        static_cast<size_t>(host.numel()));
  for (const int32_t expert : chosen) {
    if (expert < 0 || expert >= count) {
      kit::fail(QUENCH_INVALID_ARGUMENT, "experts: got %d, wanted 0..%lld", expert,
                static_cast<long long>(count - 1));
    }
    ++ends_[static_cast<size_t>(expert) + 1];
  }
  for (size_t e = 1; e < ends_.size(); ++e) {
    ends_[e] += ends_[e - 1];
  }
  std::vector<int64_t> next(ends_.begin(), ends_.end() - 1);
  const at::Tensor rows = at::empty({host.numel()}, at::TensorOptions(at::kLong));
  const at::Tensor tokens = at::empty({host.numel()}, at::TensorOptions(at::kLong));
  for (size_t row = 0; row < chosen.size(); ++row) {
    const int64_t place = next[static_cast<size_t>(chosen[row])]++;
    rows.mutable_data_ptr<int64_t>()[place] = static_cast<int64_t>(row);
    tokens.mutable_data_ptr<int64_t>()[place] = static_cast<int64_t>(row) / picks;
  }
  rows_ = rows.to(experts.device());
  tokens_ = tokens.to(experts.device());
}

at::Tensor Routes::part(const at::Tensor& all, int64_t expert) const {
  return all.narrow(0, begin(expert), begin(expert + 1) - begin(expert));
}

void ExpertRows::put(int64_t expert, const at::Tensor& rows) {
  if (recording()) {
    parts_.push_back(rows);
  } else {
    memory_.index_copy_(0, routes_.rows(expert), rows);
  }
}

at::Tensor ExpertRows::all() const {
  if (!recording()) {
    return memory_;
  }
  const at::Tensor ordered = at::cat(parts_, 0);
  const at::Tensor places = at::empty_like(routes_.order());
  at::Tensor filled = places;
  filled.index_copy_(0, routes_.order(), at::arange(places.size(0), places.options()));
  return ordered.index_select(0, places);
}

void inside_expert(const Routes& routes, int64_t expert, const Linear& gate, const Linear& up,
                   const at::Tensor& x, ExpertRows& inner) {
  if (routes.none(expert)) {
    return;
  }
  const at::Tensor own = x.index_select(0, routes.tokens(expert));
  inner.put(expert, gated(gate(own), up(own)));
}

at::Tensor add_expert(const Routes& routes, int64_t expert, const Linear& down,
                      const at::Tensor& inner, const at::Tensor& shares, at::Tensor y) {
  if (routes.none(expert)) {
    return y;
  }
  const at::Tensor rows = routes.rows(expert);
  const at::Tensor made = down(inner.index_select(0, rows)).mul(shares.index_select(0, rows));
  const at::Tensor tokens = routes.tokens(expert);
  return recording() ? y.index_add(0, tokens, made) : y.index_add_(0, tokens, made);
}

}  // namespace quench::decoder
