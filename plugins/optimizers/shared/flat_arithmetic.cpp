#include "optimizers/shared/flat_arithmetic.hpp"

#include <algorithm>

#include "optimizers/device/update.hpp"
#include "optimizers/shared/moved_elements.hpp"
#include "optimizers/shared/step.hpp"

namespace quench::optimizers {

namespace {

size_t chunks_of(size_t elements) {
  return (elements + kElementsPerTask - 1) / kElementsPerTask;
}

std::vector<Chunk> chunks_of(const std::vector<FlatParameter>& tensors) {
  std::vector<Chunk> out;
  for (const FlatParameter& tensor : tensors) {
    for (size_t first = 0; first < tensor.elements; first += kElementsPerTask) {
      const size_t count = std::min<size_t>(kElementsPerTask, tensor.elements - first);
      out.push_back({static_cast<int64_t>(tensor.offset + first), static_cast<int64_t>(count)});
    }
  }
  return out;
}

void sum_chunks(std::span<const float> values, std::span<double> sums) {
  for_elements(values.size(), [&](size_t begin, size_t end) {
    double sum = 0;
    for (size_t i = begin; i < end; ++i) {
      sum += static_cast<double>(values[i]) * values[i];
    }
    if (begin < end) {
      sums[begin / kElementsPerTask] = sum;
    }
  });
}

void round_group(std::span<float> values, const quantizers::GridKind& kind) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const quantizers::Grid grid = quantizers::grid_of(*low, *high, kind);
  for (float& value : values) {
    const double code = quantizers::code_of(value, grid.scale, grid.zero, kind.max_code());
    value = static_cast<float>(grid.scale * (code - grid.zero));
  }
}

}  // namespace

void FlatArithmetic::begin(std::span<const quench_parameter_info> tensors, bool only_matrices,
                           quench_device device) {
  device_ = device;
  moved_ = flat_parameters(tensors, only_matrices);
  chunks_.reset();
  sums_.reset();
  if (is_on_device()) {
    const std::vector<Chunk> chunks = chunks_of(moved_);
    chunks_.emplace(device.index, chunks.size() * sizeof(Chunk));
    sums_.emplace(device.index, chunks.size() * sizeof(double));
    cuda::copy_bytes(device.index, chunks_->get(), chunks.data(), chunks.size() * sizeof(Chunk));
  }
}

std::span<float> FlatArithmetic::point_at(std::span<const float> vector) {
  const std::span<float> point = point_.take(vector.size(), device_);
  if (is_on_device()) {
    cuda::copy_bytes(device_.index, point.data(), vector.data(), vector.size_bytes());
  } else {
    std::copy(vector.begin(), vector.end(), point.begin());
  }
  return point;
}

std::vector<double> FlatArithmetic::sums_on_device(std::span<const float> vector, size_t chunks) {
  auto* sums = static_cast<double*>(sums_->get());
  cuda::run_on_gpu(kChunkSquares,
                   ChunkSquares{vector.data(), static_cast<const Chunk*>(chunks_->get()),
                                static_cast<int64_t>(chunks), sums},
                   device_.index);
  std::vector<double> out(chunks);
  cuda::copy_bytes(device_.index, out.data(), sums, chunks * sizeof(double));
  return out;
}

std::vector<double> FlatArithmetic::squared_norms(std::span<const float> vector) {
  size_t chunks = 0;
  for (const FlatParameter& tensor : moved_) {
    chunks += chunks_of(tensor.elements);
  }
  std::vector<double> sums =
      is_on_device() ? sums_on_device(vector, chunks) : std::vector<double>(chunks);
  std::vector<double> out;
  std::span<double> left = sums;
  for (const FlatParameter& tensor : moved_) {
    const std::span<double> own = left.first(chunks_of(tensor.elements));
    left = left.subspan(own.size());
    if (!is_on_device()) {
      sum_chunks(part_of(vector, tensor), own);
    }
    double total = 0;
    for (const double sum : own) {
      total += sum;
    }
    out.push_back(total);
  }
  return out;
}

void FlatArithmetic::move(std::span<const float> from, double factor,
                          std::span<const float> direction, std::span<float> to) const {
  if (is_on_device()) {
    return update_on_device(MovedElements{from.data(), factor, direction.data(), to.data()},
                            from.size(), device_);
  }
  for_elements(from.size(), [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      to[i] = moved_element(from[i], factor, direction[i]);
    }
  });
}

void FlatArithmetic::move_along_drawn(std::span<const float> from, double factor,
                                      std::span<const float> drawn, std::span<float> to) {
  if (!is_on_device()) {
    return move(from, factor, drawn, to);
  }
  const std::span<float> there = uploaded_.take(drawn.size(), device_);
  cuda::copy_bytes(device_.index, there.data(), drawn.data(), drawn.size_bytes());
  move(from, factor, there, to);
}

void FlatArithmetic::add_second_difference(double factor, std::span<const float> above,
                                           std::span<const float> below,
                                           std::span<float> gradient) const {
  if (is_on_device()) {
    return update_on_device(PenalizedElements{factor, above.data(), below.data(), gradient.data()},
                            gradient.size(), device_);
  }
  for_elements(gradient.size(), [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      gradient[i] = penalized_element(factor, above[i], below[i], gradient[i]);
    }
  });
}

void FlatArithmetic::round_rows(std::span<float> matrix, size_t columns, int64_t group_size,
                                const quantizers::GridKind& kind) const {
  if (matrix.empty()) {
    return;
  }
  const size_t group =
      group_size < 0 ? columns : std::min(columns, static_cast<size_t>(group_size));
  const size_t rows = matrix.size() / columns;
  if (is_on_device()) {
    return cuda::run_on_gpu(kRoundGroups,
                            RoundGroups{matrix.data(), static_cast<int64_t>(rows),
                                        static_cast<int64_t>(columns), static_cast<int64_t>(group),
                                        static_cast<int64_t>((columns + group - 1) / group), kind},
                            device_.index);
  }
  const uint64_t grain = std::max<uint64_t>(1, kElementsPerTask / columns);
  kit::parallel_for(rows, grain, [&](uint64_t begin, uint64_t end) {
    for (uint64_t row = begin; row < end; ++row) {
      for (size_t first = 0; first < columns; first += group) {
        round_group(matrix.subspan(row * columns + first, std::min(group, columns - first)), kind);
      }
    }
  });
}

}  // namespace quench::optimizers
