#include "quantizers/gptq/group.hpp"

#include <chrono>
#include <cstdio>

#include "quantizers/gptq/asymmetry.hpp"
#include "quench/kit/torch.hpp"

namespace quench::quantizers {

void GptqGroup::observe(const quench_observe_args& args) {
  if (cross_) {
    cross_->observe(args);
  }
  GramGroup::observe(args);
}

const GptqGroup::Made& GptqGroup::factor_for(const FactorRequest& request, double& seconds) {
  seconds = 0;
  for (const Made& made : made_) {
    if (made.request == request) {
      return made;
    }
  }
  const auto start = std::chrono::steady_clock::now();
  made_.push_back(make(request));
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return made_.back();
}

GptqGroup::Made GptqGroup::make(const FactorRequest& request) {
  if (gram().empty() && request.may_give_up) {
    return {request, no_compensation(columns_), "rtn: no calibration row reached this group"};
  }
  const at::Tensor& matrix = gram().matrix();
  if (!request.may_give_up) {
    Made made{request, factorize(matrix, gram().rows(), request.options), ""};
    if (request.alpha > 0) {
      add_correction(made.factor, cross_->matrix(), gram().rows(), request.alpha);
    }
    return made;
  }
  Factor tried;
  if (auto factor = try_factorize(matrix, gram().rows(), request.options, tried)) {
    if (request.alpha > 0) {
      add_correction(*factor, cross_->matrix(), gram().rows(), request.alpha);
    }
    return {request, std::move(*factor), ""};
  }
  Factor plain = no_compensation(columns_);
  plain.damp = tried.damp;
  plain.retries = tried.retries;
  plain.mean_diagonal = tried.mean_diagonal;
  plain.largest_diagonal = tried.largest_diagonal;
  char why[160];
  std::snprintf(why, sizeof why,
                "rtn: the Hessian is not positive definite with damp %g after %lld retries",
                tried.damp, static_cast<long long>(tried.retries));
  return {request, std::move(plain), why};
}

}  // namespace quench::quantizers
