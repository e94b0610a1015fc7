#include "optimizers/shared/adamw_steps.hpp"

#include <utility>

#include "optimizers/device/update.hpp"
#include "optimizers/shared/adamw_rule.hpp"
#include "optimizers/shared/step.hpp"

namespace quench::optimizers {

AdamWSteps::AdamWSteps(AdamWSettings settings) : settings_(std::move(settings)) {
  const std::vector<double>& betas = settings_.betas;
  kit::expects(betas.size() == 2 && betas[0] < 1 && betas[1] < 1,
               "betas: wanted two numbers below 1");
  settings_.check();
}

void AdamWSteps::begin(std::span<const quench_parameter_info> tensors, quench_device device) {
  expect_host_memory_or_kernels(device);
  state_.begin(device);
  moments_.clear();
  for (const quench_parameter_info& tensor : tensors) {
    const std::string name = tensor.name;
    moments_.push_back({state_.add("first_moment/" + name, shape_of(tensor)),
                        state_.add("second_moment/" + name, shape_of(tensor)),
                        tensor.role == QUENCH_ROLE_MATRIX});
  }
}

void AdamWSteps::step(const quench_step_args& args) {
  kit::expects(args.tensor < moments_.size(), "step: no such tensor");
  const Moments& moments = moments_[args.tensor];
  const Views views = views_of(args, state_.device(), moments.first.size());
  const AdamWStep numbers =
      adamw_step(args.step, args.lr, settings_.removed(args, moments.hidden), settings_.betas[0],
                 settings_.betas[1], settings_.epsilon, args.gradient_scale);
  if (state_.is_on_device()) {
    return update_on_device(AdamWElements{numbers, views.weight.data(), views.gradient.data(),
                                          moments.first.data(), moments.second.data()},
                            views.weight.size(), state_.device());
  }
  for_elements(views.weight.size(), [&](size_t begin, size_t end) {
    adamw_update(numbers, &views.weight[begin], &views.gradient[begin], &moments.first[begin],
                 &moments.second[begin], end - begin);
  });
}

bool AdamWSteps::state(uint64_t index, const char*& name, quench_tensor& view) {
  return state_.at(index, name, view);
}

void AdamWSteps::copy_device_state(uint64_t index, void* host, bool set) {
  state_.copy(index, host, set);
}

}  // namespace quench::optimizers
