// A tensor source that shows another source's tensors, or some of their rows, under new names.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quench/kit/source.hpp"

namespace quench::decoder {

// Copies no data: rows are contiguous, so some rows are one range of elements. Borrows `base`,
// which must outlive this object.
class RenamedSource {
 public:
  explicit RenamedSource(const quench_source& base) : base_(base) {}
  RenamedSource(const RenamedSource&) = delete;
  RenamedSource& operator=(const RenamedSource&) = delete;

  const kit::Source& base() const { return base_; }
  // Shows tensor `index` of the base as `name`.
  void add(const std::string& name, uint64_t index);
  // Shows `rows` rows of it from row `first` on; they must exist.
  void add_rows(const std::string& name, uint64_t index, int64_t first, int64_t rows);

  // Valid until the next add and as long as this object.
  const quench_source* get();

 private:
  struct Entry {
    std::string name;
    uint64_t index;
    uint64_t first;  // element
    quench_dtype dtype;
    std::vector<int64_t> shape;
  };
  static const RenamedSource& self(const quench_source* source) {
    return *static_cast<const RenamedSource*>(source->context);
  }

  kit::Source base_;
  std::vector<Entry> entries_;
  quench_source source_{};
};

}  // namespace quench::decoder
