// A transform as a C++ class. Derive Transform, end with QUENCH_MODULE.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "quench/abi/kind/transform.h"
#include "quench/kit/module.hpp"
#include "quench/kit/tensor.hpp"

namespace quench::kit {

// The model that is changed; see quench_model_editor. Parameters are float64 values in C order.
class ModelEditor {
 public:
  explicit ModelEditor(const quench_model_editor& editor) : editor_(editor) {}

  const quench_model_info& info() const { return *editor_.info; }
  const quench_block_info& block(uint32_t block) const { return *editor_.blocks[block]; }
  const quench_residual_info* residual() const { return editor_.residual; }
  const char* no_residual() const { return editor_.no_residual; }

  std::vector<int64_t> shape(const std::string& parameter) const {
    for (uint64_t i = 0; i < editor_.parameter_count; ++i) {
      const quench_parameter_info& info = editor_.parameters[i];
      bool named = info.name == parameter;
      for (uint32_t a = 0; a < info.alias_count; ++a) {
        named = named || info.aliases[a] == parameter;
      }
      if (named) {
        return {info.shape, info.shape + info.dimensions};
      }
    }
    throw Error(QUENCH_NOT_FOUND, "no parameter " + parameter);
  }
  OwnedTensor<double> get(const std::string& parameter) const {
    OwnedTensor<double> value(shape(parameter));
    const quench_tensor view = value.view();
    quench_error error{sizeof error, 0, {}};
    check(editor_.get(editor_.context, parameter.c_str(), &view, &error), error);
    return value;
  }
  void set(const std::string& parameter, OwnedTensor<double>& value) {
    const quench_tensor view = value.view();
    quench_error error{sizeof error, 0, {}};
    check(editor_.set(editor_.context, parameter.c_str(), &view, &error), error);
  }
  void change(const std::string& name, const std::string& how) {
    quench_error error{sizeof error, 0, {}};
    check(editor_.change(editor_.context, name.c_str(), how.c_str(), &error), error);
  }
  void divide_inputs(uint32_t block, uint32_t group, const std::vector<double>& scale) {
    OwnedTensor<double> value({static_cast<int64_t>(scale.size())});
    value.values() = scale;
    const quench_tensor view = value.view();
    quench_error error{sizeof error, 0, {}};
    check(editor_.divide_inputs(editor_.context, block, group, &view, &error), error);
  }

  // Folds a scale: divides the group's sites by it and multiplies the group's weights by it.
  void fold(const quench_group_info& group, std::span<const double> scale) {
    for (uint32_t s = 0; s < group.site_count; ++s) {
      const quench_scale_site& site = group.sites[s];
      OwnedTensor<double> value = get(site.parameter);
      const size_t run = value.values().size() / static_cast<size_t>(shape(site.parameter)[0]);
      for (size_t c = 0; c < scale.size(); ++c) {
        const size_t row = site.rows == nullptr ? c : static_cast<size_t>(site.rows[c]);
        for (size_t k = 0; k < run; ++k) {
          value.values()[row * run + k] /= scale[c];
        }
      }
      set(site.parameter, value);
    }
    for (uint32_t l = 0; l < group.linear_count; ++l) {
      OwnedTensor<double> value = get(group.linears[l].weight);
      for (size_t i = 0; i < value.values().size(); ++i) {
        value.values()[i] *= scale[i % scale.size()];
      }
      set(group.linears[l].weight, value);
    }
  }

 private:
  const quench_model_editor& editor_;
};

class Transform {
 public:
  virtual ~Transform() = default;
  // QUENCH_TRANSFORM_NEEDS_*.
  virtual uint32_t needs() const { return 0; }
  // Observes rows of a group's input; only called if needs() asks for them.
  virtual void observe(const quench_group_args&, const quench_observe_args&) {}
  virtual void apply(ModelEditor& model) = 0;
};

namespace detail {

inline Transform& self(quench_transform* transform) {
  return *reinterpret_cast<Transform*>(transform);
}

template <typename Plugin>
quench_status create_transform(const char* json, uint64_t bytes, quench_transform** out,
                               quench_error* error) noexcept {
  return guard(error, [&] {
    Transform* made = new Plugin(fields_of<typename Plugin::Params>().parse(json, bytes));
    *out = reinterpret_cast<quench_transform*>(made);
  });
}
inline void destroy_transform(quench_transform* transform) noexcept {
  delete &self(transform);
}
inline uint32_t transform_needs(const quench_transform* transform) noexcept {
  return reinterpret_cast<const Transform*>(transform)->needs();
}
inline quench_status observe_for_transform(quench_transform* transform,
                                           const quench_group_args* group,
                                           const quench_observe_args* rows,
                                           quench_error* error) noexcept {
  return guard(error, [&] { self(transform).observe(*group, *rows); });
}
inline quench_status apply_transform(quench_transform* transform, const quench_model_editor* editor,
                                     quench_error* error) noexcept {
  return guard(error, [&] {
    ModelEditor model(*editor);
    self(transform).apply(model);
  });
}

}  // namespace detail

// Makes the item of a transform class that has a nested `Params` and a constructor from it.
template <typename Plugin>
quench_item transform(const About& about) {
  static constexpr quench_transform_table kTable = {
      sizeof(quench_transform_table), detail::create_transform<Plugin>, detail::destroy_transform,
      detail::transform_needs,        detail::observe_for_transform,    detail::apply_transform};
  return make_item<typename Plugin::Params>(QUENCH_KIND_TRANSFORM, about, &kTable);
}

}  // namespace quench::kit
