// The part of a tensor that one rank wrote: a box of its elements.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace quench::formats {

// As many offsets and sizes as the tensor has dimensions, none negative.
struct Box {
  std::vector<int64_t> offset;
  std::vector<int64_t> size;
};

// "[2, 3] at [0, 4]"
std::string box_text(const Box& box);

// What keeps the boxes from being the whole tensor, each element once, or "". They have elements,
// and there are at most 2^14, since each may be compared with each.
std::string fault_of_boxes(const std::vector<int64_t>& shape, const std::vector<Box>& boxes);

// A box that lies inside its tensor, and both in C order: the elements of the box stand in the
// tensor at places that ascend.
class BoxOrder {
 public:
  BoxOrder() = default;
  BoxOrder(const std::vector<int64_t>& shape, Box box);

  const Box& box() const { return box_; }
  uint64_t elements() const { return elements_; }
  // How many elements of the box stand in the tensor before this place.
  uint64_t before(uint64_t place) const;
  // The place of an element of the box.
  uint64_t place_of(uint64_t element) const;
  // Elements of the box that follow each other in the tensor, too: from each multiple of it on.
  uint64_t run() const { return run_; }

 private:
  Box box_;
  std::vector<uint64_t> tensor_stride_;
  std::vector<uint64_t> box_stride_;
  uint64_t elements_ = 1;
  uint64_t run_ = 1;
};

}  // namespace quench::formats
