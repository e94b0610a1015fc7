#include "formats/dcp/box.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "formats/shared/tensor_info.hpp"

namespace quench::formats {

namespace {

bool overlap(const Box& a, const Box& b) {
  for (size_t d = 0; d < a.size.size(); ++d) {
    if (a.offset[d] >= b.offset[d] + b.size[d] || b.offset[d] >= a.offset[d] + a.size[d]) {
      return false;
    }
  }
  return true;
}

// Two that overlap, or the same twice. Only boxes whose rows meet are compared.
std::pair<size_t, size_t> overlapping(const std::vector<Box>& boxes) {
  std::vector<size_t> order(boxes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto first_row = [&](size_t i) {
    return boxes[i].offset.empty() ? 0 : boxes[i].offset.front();
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return first_row(a) < first_row(b); });
  for (size_t i = 0; i < order.size(); ++i) {
    const Box& box = boxes[order[i]];
    const int64_t end = box.size.empty() ? 1 : box.offset.front() + box.size.front();
    for (size_t j = i + 1; j < order.size() && first_row(order[j]) < end; ++j) {
      if (overlap(box, boxes[order[j]])) {
        return std::minmax(order[i], order[j]);
      }
    }
  }
  return {0, 0};
}

}  // namespace

std::string box_text(const Box& box) {
  return fmt::format("{} at {}", shape_text(box.size), shape_text(box.offset));
}

std::string fault_of_boxes(const std::vector<int64_t>& shape, const std::vector<Box>& boxes) {
  for (const Box& box : boxes) {
    for (size_t d = 0; d < shape.size(); ++d) {
      if (box.offset[d] > shape[d] || box.size[d] > shape[d] - box.offset[d]) {
        return fmt::format("its part {} reaches outside its shape {}", box_text(box),
                           shape_text(shape));
      }
    }
  }
  const auto [first, second] = overlapping(boxes);
  if (first != second) {
    return fmt::format("its parts {} and {} overlap", box_text(boxes[first]),
                       box_text(boxes[second]));
  }
  uint64_t held = 0;  // of parts that lie inside and apart: no sum of them overflows
  for (const Box& box : boxes) {
    held += *element_count(box.size);
  }
  const uint64_t wanted = *element_count(shape);
  return held == wanted
             ? ""
             : fmt::format("its {} parts have {} elements, wanted the {} of its shape {}",
                           boxes.size(), held, wanted, shape_text(shape));
}

BoxOrder::BoxOrder(const std::vector<int64_t>& shape, Box box)
    : box_(std::move(box)), tensor_stride_(shape.size()), box_stride_(shape.size()) {
  uint64_t stride = 1;
  bool whole = true;  // all dimensions behind this one
  for (size_t d = shape.size(); d-- > 0;) {
    tensor_stride_[d] = stride;
    box_stride_[d] = elements_;
    stride *= static_cast<uint64_t>(shape[d]);
    elements_ *= static_cast<uint64_t>(box_.size[d]);
    run_ = whole ? elements_ : run_;
    whole &= box_.size[d] == shape[d];
  }
}

uint64_t BoxOrder::before(uint64_t place) const {
  if (tensor_stride_.empty()) {
    return place > 0 ? 1 : 0;
  }
  uint64_t count = 0;
  for (size_t d = 0; d < tensor_stride_.size(); ++d) {
    const auto at = static_cast<int64_t>(place / tensor_stride_[d]);
    place %= tensor_stride_[d];
    if (at < box_.offset[d]) {
      return count;
    }
    if (at >= box_.offset[d] + box_.size[d]) {
      return count + static_cast<uint64_t>(box_.size[d]) * box_stride_[d];
    }
    count += static_cast<uint64_t>(at - box_.offset[d]) * box_stride_[d];
  }
  return count;
}

uint64_t BoxOrder::place_of(uint64_t element) const {
  uint64_t place = 0;
  for (size_t d = 0; d < box_stride_.size(); ++d) {
    const uint64_t at = element / box_stride_[d] + static_cast<uint64_t>(box_.offset[d]);
    element %= box_stride_[d];
    place += at * tensor_stride_[d];
  }
  return place;
}

}  // namespace quench::formats
