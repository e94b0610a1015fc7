#include "promises/edited_model.hpp"

#include <fmt/format.h>

#include <cmath>

#include "promises/tensors.hpp"
#include "quench/kit/error.hpp"

namespace quench::promises {

namespace {

constexpr auto kWide = static_cast<int64_t>(EditedModel::kWidth);
constexpr auto kDeep = static_cast<int64_t>(EditedModel::kHidden);
constexpr auto kWords = static_cast<int64_t>(EditedModel::kIds);

struct Shaped {
  const char* name;
  int32_t role;
  std::vector<int64_t> shape;
};

const std::vector<Shaped>& shaped() {
  static const std::vector<Shaped> kAll = {{"embed.weight", QUENCH_ROLE_EMBEDDING, {kWords, kWide}},
                                           {"norm0.weight", QUENCH_ROLE_NORM, {kWide}},
                                           {"up.weight", QUENCH_ROLE_MATRIX, {kDeep, kWide}},
                                           {"gate.weight", QUENCH_ROLE_MATRIX, {kDeep, kWide}},
                                           {"down.weight", QUENCH_ROLE_MATRIX, {kWide, kDeep}},
                                           {"norm1.weight", QUENCH_ROLE_NORM, {kWide}},
                                           {"q.weight", QUENCH_ROLE_MATRIX, {kWide, kWide}},
                                           {"o.weight", QUENCH_ROLE_MATRIX, {kWide, kWide}},
                                           {"norm2.weight", QUENCH_ROLE_NORM, {kWide}},
                                           {"head.weight", QUENCH_ROLE_HEAD, {kWords, kWide}}};
  return kAll;
}

constexpr quench_linear_info linear(const char* name, const char* weight, int64_t out, int64_t in) {
  return {sizeof(quench_linear_info), 0, name, name, weight, nullptr, out, in};
}
constexpr quench_linear_info kLinears[] = {
    linear("up", "up.weight", kDeep, kWide), linear("gate", "gate.weight", kDeep, kWide),
    linear("down", "down.weight", kWide, kDeep), linear("q", "q.weight", kWide, kWide),
    linear("o", "o.weight", kWide, kWide)};
constexpr quench_scale_site kSites[] = {{sizeof(quench_scale_site), "norm0.weight", nullptr},
                                        {sizeof(quench_scale_site), "up.weight", nullptr},
                                        {sizeof(quench_scale_site), "norm1.weight", nullptr}};

constexpr const char* kReaders[] = {"up.weight", "gate.weight", "q.weight", "head.weight"};
constexpr quench_residual_norm norm(const char* scale, uint32_t count, const char* const* readers) {
  return {
      sizeof(quench_residual_norm), QUENCH_NORM_ROOT_MEAN_SQUARE, scale, nullptr, count, readers};
}
constexpr quench_residual_norm kNorms[] = {norm("norm0.weight", 2, kReaders),
                                           norm("norm1.weight", 1, kReaders + 2),
                                           norm("norm2.weight", 1, kReaders + 3)};
constexpr quench_residual_writer kWriters[] = {
    {sizeof(quench_residual_writer), 1, "embed.weight", nullptr},
    {sizeof(quench_residual_writer), 0, "down.weight", nullptr},
    {sizeof(quench_residual_writer), 0, "o.weight", nullptr}};
constexpr quench_residual_info kResidual = {sizeof(quench_residual_info), 3, kNorms, 3, kWriters};

using Row = std::vector<double>;

Row product(const Row& weight, const Row& x) {
  Row out(weight.size() / x.size());
  for (size_t i = 0; i < weight.size(); ++i) {
    out[i / x.size()] += weight[i] * x[i % x.size()];
  }
  return out;
}

Row normed(const Row& h, const Row& scale) {
  double squares = 0;
  for (const double value : h) {
    squares += value * value;
  }
  const double root = std::sqrt(squares / static_cast<double>(h.size()));
  Row out(h.size());
  for (size_t i = 0; i < h.size(); ++i) {
    out[i] = h[i] / root * scale[i];
  }
  return out;
}

void add(Row& to, const Row& values) {
  for (size_t i = 0; i < to.size(); ++i) {
    to[i] += values[i];
  }
}

EditedModel& self(void* context) {
  return *static_cast<EditedModel*>(context);
}

}  // namespace

EditedModel::EditedModel() {
  uint64_t offset = 0;
  for (const Shaped& each : shaped()) {
    size_t count = 1;
    for (const int64_t extent : each.shape) {
      count *= static_cast<size_t>(extent);
    }
    Row values = numbers<double>(offset + 1, count);
    for (size_t i = 0; each.role == QUENCH_ROLE_NORM && i < count; ++i) {
      values[i] = 1 + values[i] / 2;
    }
    // One column larger than the others, as methods of this kind look for.
    for (size_t i = 0; each.role == QUENCH_ROLE_MATRIX && i < count;
         i += static_cast<size_t>(each.shape[1])) {
      values[i + 2] *= 8;
    }
    weights_[each.name] = std::move(values);
    shapes_[each.name] = each.shape;
    parameters_.push_back({sizeof(quench_parameter_info), each.role, each.name,
                           static_cast<int32_t>(each.shape.size()), each.shape.data(), offset, 0,
                           nullptr});
    offset += count;
  }
  const auto grouped = [](uint32_t stage, uint32_t first, uint32_t count, int site) {
    return quench_group_info{sizeof(quench_group_info),
                             stage,
                             0,
                             -1,
                             -1,
                             count,
                             kLinears + first,
                             site < 0 ? 0U : 1U,
                             site < 0 ? nullptr : kSites + site};
  };
  groups_ = {grouped(0, 0, 2, 0), grouped(1, 2, 1, 1), grouped(2, 3, 1, 2), grouped(3, 4, 1, -1)};
  info_ = {sizeof info_, 1, kWide, kWords, 64, kit::kFloat64, {QUENCH_DEVICE_CPU, 0}};
  block_ = {sizeof block_, kGroups + 1, kGroups, groups_.data()};
  editor_.struct_size = sizeof editor_;
  editor_.context = this;
  editor_.info = &info_;
  editor_.blocks = blocks_;
  editor_.parameter_count = parameters_.size();
  editor_.parameters = parameters_.data();
  editor_.residual = &kResidual;
  editor_.get = [](void* context, const char* name, const quench_tensor* to,
                   quench_error* error) noexcept {
    return kit::guard(error, [&] {
      const auto found = self(context).weights_.find(name);
      if (found == self(context).weights_.end()) {
        self(context).blame(fmt::format("gets {}, which is no parameter", name));
        kit::fail(QUENCH_NOT_FOUND, "no parameter %s", name);
      }
      kit::from_doubles(found->second, *to, name);
    });
  };
  editor_.set = [](void* context, const char* name, const quench_tensor* value,
                   quench_error* error) noexcept {
    return kit::guard(error, [&] { self(context).set(name, kit::to_doubles(*value, name)); });
  };
  editor_.change = [](void* context, const char* name, const char* how,
                      quench_error* error) noexcept {
    return kit::guard(error, [&] { self(context).changes_.emplace_back(name, how); });
  };
  editor_.divide_inputs = [](void* context, uint32_t block, uint32_t group,
                             const quench_tensor* scale, quench_error* error) noexcept {
    return kit::guard(
        error, [&] { self(context).divide(block, group, kit::to_doubles(*scale, "scale")); });
  };
}

void EditedModel::blame(const std::string& fault) {
  fault_ = fault_.empty() ? fault : fault_;
}

void EditedModel::set(const std::string& name, std::vector<double> values) {
  const auto found = weights_.find(name);
  if (found == weights_.end()) {
    blame(fmt::format("sets {}, which is no parameter", name));
    kit::fail(QUENCH_NOT_FOUND, "no parameter %s", name.c_str());
  }
  if (changes_.empty()) {
    blame(fmt::format("sets {} before it began a change", name));
  }
  if (values.size() != found->second.size()) {
    blame(
        fmt::format("sets {} to {} values, wanted {}", name, values.size(), found->second.size()));
    kit::fail(QUENCH_INVALID_ARGUMENT, "%s: the shape is another one", name.c_str());
  }
  for (const double value : values) {
    if (!std::isfinite(value)) {
      blame(fmt::format("sets {} to {}, wanted finite numbers", name, value));
    }
  }
  found->second = std::move(values);
}

// The scale leaves the function as it is, whatever it is: the host divides and multiplies by it.
void EditedModel::divide(uint32_t block, uint32_t group, const std::vector<double>& scale) {
  const size_t wanted = group == 1 ? kHidden : kWidth;
  if (block != 0 || group >= kGroups || scale.size() != wanted) {
    blame(fmt::format("divides the inputs of group {} of block {} by {} numbers", group, block,
                      scale.size()));
    kit::fail(QUENCH_INVALID_ARGUMENT, "no such group, or not its inputs");
  }
  for (const double value : scale) {
    if (!(value > 0) || !std::isfinite(value)) {
      blame(fmt::format("divides inputs by {}, wanted positive numbers", value));
    }
  }
}

EditedModel::Inputs EditedModel::forward() const {
  Inputs out;
  const auto keep = [](Row& all, const Row& row) { all.insert(all.end(), row.begin(), row.end()); };
  for (size_t id = 0; id < kIds; ++id) {
    const Row& embed = weights_.at("embed.weight");
    Row h(embed.begin() + static_cast<int64_t>(id * kWidth),
          embed.begin() + static_cast<int64_t>((id + 1) * kWidth));
    const Row x = normed(h, weights_.at("norm0.weight"));
    Row up = product(weights_.at("up.weight"), x);
    const Row gate = product(weights_.at("gate.weight"), x);
    for (size_t i = 0; i < up.size(); ++i) {
      up[i] /= 1 + std::exp(-gate[i]);
    }
    add(h, product(weights_.at("down.weight"), up));
    const Row y = normed(h, weights_.at("norm1.weight"));
    Row q = product(weights_.at("q.weight"), y);
    for (double& value : q) {
      value = std::tanh(value);
    }
    add(h, product(weights_.at("o.weight"), q));
    keep(out.groups[0], x);
    keep(out.groups[1], up);
    keep(out.groups[2], y);
    keep(out.groups[3], q);
    keep(out.logits, product(weights_.at("head.weight"), normed(h, weights_.at("norm2.weight"))));
  }
  return out;
}

std::vector<double> EditedModel::logits() const {
  return forward().logits;
}

std::vector<float> EditedModel::rows_of(uint32_t group) const {
  const Row rows = forward().groups.at(group);
  return {rows.begin(), rows.end()};
}

}  // namespace quench::promises
