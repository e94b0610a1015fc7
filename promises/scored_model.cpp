#include "promises/scored_model.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string_view>

#include "promises/tensors.hpp"
#include "quench/kit/answer.hpp"
#include "quench/kit/tensor.hpp"

namespace quench::promises {

namespace {

constexpr int64_t kIds = ScoredModel::kIds;
constexpr size_t kShift = kIds;
constexpr size_t kHead = kIds + 1;
constexpr int64_t kAll[] = {kIds};
constexpr int64_t kOne[] = {1};
constexpr quench_parameter_info kParameters[] = {
    {sizeof(quench_parameter_info), QUENCH_ROLE_EMBEDDING, "embed", 1, kAll, 0, 0, nullptr},
    {sizeof(quench_parameter_info), QUENCH_ROLE_MATRIX, "layers.0.w", 1, kOne, kShift, 0, nullptr},
    {sizeof(quench_parameter_info), QUENCH_ROLE_HEAD, "head", 1, kOne, kHead, 0, nullptr}};
constexpr quench_linear_info kLinear = {
    sizeof(quench_linear_info), 0, "layers.0", "o", "layers.0.w", nullptr, 1, 1};
constexpr quench_group_info kGroup = {
    sizeof(quench_group_info), 0, 0, -1, -1, 1, &kLinear, 0, nullptr};
constexpr quench_block_info kBlock = {sizeof(quench_block_info), 1, 1, &kGroup};

ScoredModel& self(const void* model) {
  return *const_cast<ScoredModel*>(static_cast<const ScoredModel*>(model));
}

// Of the next id after one with residual h: mean and variance of v / kIds.
struct Moments {
  double mean = 0;
  double variance = 0;
};

Moments moments(double logit) {
  double mass = 0;
  double first = 0;
  double second = 0;
  for (int64_t v = 0; v < kIds; ++v) {
    const double x = static_cast<double>(v) / kIds;
    const double p = std::exp(logit * x - std::max(logit, 0.0));
    mass += p;
    first += p * x;
    second += p * x * x;
  }
  return {first / mass, second / mass - first * first / mass / mass};
}

// How often each id stands before each scored one.
using Pairs = std::map<std::pair<int32_t, int32_t>, double>;

Pairs pairs_of(const quench_loss_args& args) {
  Pairs out;
  const auto* ids = static_cast<const int32_t*>(args.batch->tokens->data);
  const auto* targets = static_cast<const int32_t*>(args.targets->data);
  for (int64_t i = 0; i < args.targets->shape[0] * args.targets->shape[1]; ++i) {
    if (targets[i] >= 0) {
      out[{ids[i], targets[i]}] += 1;
    }
  }
  return out;
}

double add_gradient(const ScoredModel& model, const Pairs& pairs, double weight, double* to) {
  double loss = 0;
  for (const auto& [pair, count] : pairs) {
    const auto [id, next] = pair;
    const double h = model.weights[static_cast<size_t>(id)] + model.weights[kShift];
    const double head = model.weights[kHead];
    loss += count * model.losses_after(id)[static_cast<size_t>(next)];
    if (to != nullptr) {
      const double off = moments(head * h).mean - static_cast<double>(next) / kIds;
      to[id] += weight * count * head * off;
      to[kShift] += weight * count * head * off;
      to[kHead] += weight * count * h * off;
    }
  }
  return loss;
}

quench_status gradient(quench_model* model, const quench_loss_args* args, const quench_tensor* to,
                       double* loss, quench_error*) noexcept {
  *loss = add_gradient(self(model), pairs_of(*args), args->weight,
                       to == nullptr ? nullptr : static_cast<double*>(to->data));
  return QUENCH_OK;
}

struct Opened {
  const ScoredModel* model;
  Pairs pairs;
  double weight;
};

quench_status open_curvature(quench_model* model, const quench_loss_args* args, int32_t,
                             const quench_tensor* to, double* loss, quench_curvature** out,
                             quench_error* error) noexcept {
  *out =
      reinterpret_cast<quench_curvature*>(new Opened{&self(model), pairs_of(*args), args->weight});
  return gradient(model, args, to, loss, error);
}

quench_status product(quench_curvature* curvature, const quench_tensor* vector,
                      const quench_tensor* into, quench_error*) noexcept {
  const auto& opened = *reinterpret_cast<const Opened*>(curvature);
  const auto* v = static_cast<const double*>(vector->data);
  auto* to = static_cast<double*>(into->data);
  const double head = opened.model->weights[kHead];
  for (const auto& [pair, count] : opened.pairs) {
    const auto [id, next] = pair;
    const double h = opened.model->weights[static_cast<size_t>(id)] + opened.model->weights[kShift];
    const Moments m = moments(head * h);
    const double mixed = m.mean - static_cast<double>(next) / kIds + h * head * m.variance;
    const double along = v[id] + v[kShift];
    const double by_h = head * head * m.variance * along + mixed * v[kHead];
    const double by_head = mixed * along + h * h * m.variance * v[kHead];
    to[id] += opened.weight * count * by_h;
    to[kShift] += opened.weight * count * by_h;
    to[kHead] += opened.weight * count * by_head;
  }
  return QUENCH_OK;
}

constexpr quench_model_gradient kGradient = {sizeof kGradient, gradient};
constexpr quench_model_curvature kCurvature = {
    sizeof kCurvature, open_curvature, product,
    [](quench_curvature* one) noexcept { delete reinterpret_cast<Opened*>(one); }};

quench_status score(void* context, const quench_score_args* args, quench_error*) noexcept {
  const ScoredModel& model = self(context);
  std::map<int32_t, std::array<double, kIds>> known;
  for (uint64_t r = 0; r < args->rows; ++r) {
    const uint64_t from = args->scored_from != nullptr ? args->scored_from[r] : 1;
    const int64_t parent = args->parents != nullptr ? args->parents[r] : -1;
    for (uint64_t i = args->starts[r]; i < args->starts[r + 1]; ++i) {
      const uint64_t t = i - args->starts[r];
      // A row's parent is never empty: its last id is the one before.
      const int32_t before = t > 0         ? args->ids[i - 1]
                             : parent >= 0 ? args->ids[args->starts[parent + 1] - 1]
                                           : -1;
      const bool is_scored = before >= 0 && t >= from;
      if (is_scored && known.count(before) == 0) {
        known[before] = model.losses_after(before);
      }
      args->nll[i] = is_scored ? known[before][static_cast<size_t>(args->ids[i])] : 0.0;
      if (args->argmax != nullptr && before >= 0) {
        const auto& losses = known.emplace(before, model.losses_after(before)).first->second;
        args->argmax[i] =
            static_cast<int32_t>(std::min_element(losses.begin(), losses.end()) - losses.begin());
      }
    }
  }
  return QUENCH_OK;
}

double* place(ScoredModel& model, std::string_view name) {
  return model.weights.data() + (name == "embed" ? 0 : name == "head" ? kHead : kShift);
}

void fill_weights(quench_model_table& table) {
  table.parameters = [](const quench_model*, const quench_parameter_info** list, uint64_t* count,
                        quench_error*) noexcept {
    *list = kParameters;
    *count = 3;
    return quench_status{QUENCH_OK};
  };
  table.weight_get = [](quench_model* model, const char* name, const quench_tensor* to,
                        quench_error*) noexcept {
    std::memcpy(to->data, place(self(model), name),
                static_cast<size_t>(to->shape[0]) * sizeof(double));
    return quench_status{QUENCH_OK};
  };
  table.weight_set = [](quench_model* model, const char* name, const quench_tensor* from,
                        quench_error*) noexcept {
    std::memcpy(place(self(model), name), from->data,
                static_cast<size_t>(from->shape[0]) * sizeof(double));
    return quench_status{QUENCH_OK};
  };
  table.extension = [](const quench_model*, const char* id) noexcept -> const void* {
    const std::string_view wanted = id;
    return wanted == QUENCH_MODEL_GRADIENT    ? static_cast<const void*>(&kGradient)
           : wanted == QUENCH_MODEL_CURVATURE ? &kCurvature
                                              : nullptr;
  };
}

void fill_stages(quench_model_table& table) {
  table.info = [](const quench_model*, quench_model_info* info, quench_error*) noexcept {
    kit::answer(info, quench_model_info{
                          sizeof *info, 1, 1, kIds, 4096, kit::kFloat64, {QUENCH_DEVICE_CPU, 0}});
    return quench_status{QUENCH_OK};
  };
  table.block = [](const quench_model*, uint32_t, const quench_block_info** info,
                   quench_error*) noexcept {
    *info = &kBlock;
    return quench_status{QUENCH_OK};
  };
  table.carry = [](const quench_model*, uint32_t, uint32_t, const quench_carry_info** list,
                   uint32_t* count, quench_error*) noexcept {
    static const quench_carry_info kCarry = {sizeof(quench_carry_info), "h", 1, 1, kit::kFloat64};
    *list = &kCarry;
    *count = 1;
    return quench_status{QUENCH_OK};
  };
  table.embed = [](quench_model* model, const quench_embed_args* args, quench_error*) noexcept {
    const auto* ids = static_cast<const int32_t*>(args->batch->tokens->data);
    for (int64_t t = 0; t < args->h->shape[0]; ++t) {
      static_cast<double*>(args->h->data)[t] = self(model).weights[static_cast<size_t>(ids[t])];
    }
    return quench_status{QUENCH_OK};
  };
  table.stage = [](quench_model* model, const quench_stage_args* args, quench_error*) noexcept {
    for (int64_t t = 0; t < args->out[0].shape[0]; ++t) {
      static_cast<double*>(args->out[0].data)[t] =
          static_cast<const double*>(args->in[0].data)[t] + self(model).weights[kShift];
    }
    return quench_status{QUENCH_OK};
  };
  table.logits = [](quench_model* model, const quench_tensor* h, const quench_tensor* logits, void*,
                    quench_error*) noexcept {
    for (int64_t i = 0; i < h->shape[0] * kIds; ++i) {
      static_cast<double*>(logits->data)[i] = static_cast<const double*>(h->data)[i / kIds] *
                                              self(model).weights[kHead] *
                                              static_cast<double>(i % kIds) / kIds;
    }
    return quench_status{QUENCH_OK};
  };
}

}  // namespace

ScoredModel::ScoredModel(double shift, double head) {
  const std::vector<double> embedding = numbers<double>(7, kIds);
  std::copy(embedding.begin(), embedding.end(), weights.begin());
  weights[kShift] = 0.25 + shift;
  weights[kHead] = head;
  for (const quench_parameter_info& each : kParameters) {
    source_.add(each.name, {each.shape[0]},
                std::span(weights).subspan(each.offset, static_cast<size_t>(each.shape[0])),
                kit::kFloat64);
  }
  table_.struct_size = sizeof table_;
  fill_weights(table_);
  fill_stages(table_);
  subject_ = {sizeof subject_, &table_, reinterpret_cast<quench_model*>(this), this, score};
}

std::array<double, ScoredModel::kIds> ScoredModel::losses_after(int32_t id) const {
  const double logit = weights[kHead] * (weights[static_cast<size_t>(id)] + weights[kShift]);
  double sum = 0;
  for (int64_t v = 0; v < kIds; ++v) {
    sum += std::exp(logit * static_cast<double>(v) / kIds);
  }
  std::array<double, kIds> out;
  for (int64_t v = 0; v < kIds; ++v) {
    out[static_cast<size_t>(v)] = std::log(sum) - logit * static_cast<double>(v) / kIds;
  }
  return out;
}

}  // namespace quench::promises
