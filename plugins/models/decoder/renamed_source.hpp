// A tensor source that shows the tensors of another under other names, whole or some of their rows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "quench/kit/source.hpp"

namespace quench::decoder {

// Copies no data: rows lie together, so reading them is reading a part of the tensor. Borrows
// `base`, which must outlive it.
class RenamedSource {
 public:
  explicit RenamedSource(const quench_source& base) : base_(base) {}
  RenamedSource(const RenamedSource&) = delete;
  RenamedSource& operator=(const RenamedSource&) = delete;

  const kit::Source& base() const { return base_; }
  // Shows tensor `index` of the base as `name`.
  void add(const std::string& name, uint64_t index);
  // Shows `rows` of its rows, from row `first` on; they must be there.
  void add_rows(const std::string& name, uint64_t index, int64_t first, int64_t rows);

  // Valid as long as this object and until the next add.
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
