// What a host of the made-up later version does with what planned.h.in adds, where a plugin has it:
// nothing in a host of today.
#pragma once

#include "quench/abi/kind/format.h"
#include "quench/abi/kind/quantizer.h"
#include "tests/golden/hosts/fake_objects.hpp"

namespace quench::golden {

#if QUENCH_ABI_MINOR == 1

inline std::string ways(const Sink&) {
  return "";
}
inline std::string ways(const quench_model_table&, quench_model*, const Values<float>&,
                        const Values<float>&) {
  return "";
}
inline std::string ways(const quench_format_table&, quench_format_writer*,
                        const quench_coded_linear&, const FormatSink&, const float*) {
  return "";
}

#else

// The slope of sum(dy * op(x)) along each element of x, by differences, against what `backward`
// says.
inline double largest_difference(const quench_input_op& op) {
  Values<double> x({2, 3});
  Values<double> dy({2, 3});
  Values<double> dx({2, 3});
  call(op.backward, op.context, &x.view, &dy.view, &dx.view, nullptr);
  double largest = 0;
  for (size_t i = 0; i < x.values.size(); ++i) {
    constexpr double kStep = 1e-6;
    double slope = 0;
    for (const double sign : {1.0, -1.0}) {
      Values<double> moved({2, 3});
      Values<double> y({2, 3});
      moved.values[i] += sign * kStep;
      call(op.apply, op.context, &moved.view, &y.view, nullptr);
      for (size_t k = 0; k < y.values.size(); ++k) {
        slope += sign * y.values[k] * dy.values[k] / (2 * kStep);
      }
    }
    largest = std::max(largest, std::abs(slope - dx.values[i]));
  }
  return largest;
}

// The ops that a quantizer has put into its sink, which are this host's to release.
inline std::string ways(Sink& sink) {
  std::string out;
  if (const quench_input_op* op = sink.input_op) {
    out +=
        largest_difference(*op) < 1e-6 ? ", an input op with its backward" : ", a wrong backward";
    op->release(op->context);
  }
  if (const quench_cache_op* op = sink.cache_op) {
    Values<float> keys({2, 1, 2});
    Values<float> values({2, 1, 2});
    Guarded<quench_cache_args> args;
    args->keys = &keys.view;
    args->values = &values.view;
    call(op->apply, op->context, args.get());
    out += ", a cache op " + number(keys.sum()) + " " + number(values.sum());
    op->release(op->context);
  }
  return out;
}

// A rotation leaves what the model computes as it is; an input op that doubles the input does not.
inline std::string ways(const quench_model_table& table, quench_model* model,
                        const Values<float>& h, const Values<float>& logits) {
  if (table.rotations == nullptr) {
    return "";
  }
  const auto again = [&] {
    Values<float> now(logits.shape);
    call(table.logits, model, &h.view, &now.view, nullptr);
    return now.sum();
  };
  const quench_rotation_site* sites = nullptr;
  uint32_t count = 0;
  call(table.rotations, model, &sites, &count);
  Values<double> matrix({sites[0].size, sites[0].size});
  matrix.values = {0.6, 0.8, -0.8, 0.6};
  const double before = again();
  call(table.rotate, model, 0, &matrix.view);
  const double rotated = again();
  static constexpr quench_input_op kDouble = {
      sizeof(quench_input_op), nullptr,
      [](void*, const quench_tensor* x, const quench_tensor* y, void*, quench_error*) noexcept {
        for (int64_t i = 0; i < x->shape[0] * x->shape[1]; ++i) {
          static_cast<float*>(y->data)[i] = 2 * static_cast<const float*>(x->data)[i];
        }
        return quench_status{QUENCH_OK};
      },
      nullptr, [](void*) noexcept {}};
  call(table.set_input_op, model, 0, 0, &kDouble);
  const double doubled = again();
  return std::string(", ") + sites[0].name +
         (std::abs(rotated - before) < 1e-5 ? " rotated" : " rotated wrongly") +
         (std::abs(doubled - 2 * before) < 1e-5 ? ", its input doubled" : ", its input lost");
}

// A scale of two levels, and what is said of the input.
inline std::string ways(const quench_format_table& table, quench_format_writer* writer,
                        const quench_coded_linear& linear, FormatSink& sink, float* weight) {
  if (table.store_input == nullptr) {
    return "";
  }
  const double outer[] = {0.5};
  const int32_t index[] = {0};
  quench_coded_linear two = linear;
  two.outer_groups = 1;
  two.outer_scales = outer;
  two.outer_index = index;
  Guarded<quench_stored_linear> stored;
  call(table.store, writer, &two, sink.table.get(), weight, stored.get());
  Guarded<quench_coded_input> input;
  input->name = linear.name;
  input->bits = 8;
  input->group_size = -1;
  call(table.store_input, writer, input.get(), sink.table.get());
  return ", of two levels " + number(weight[0] + weight[1]) + ", " + std::to_string(sink.tensors) +
         " tensors with those of its input";
}

#endif

}  // namespace quench::golden
