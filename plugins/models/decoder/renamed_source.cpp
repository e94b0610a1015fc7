#include "models/decoder/renamed_source.hpp"

namespace quench::decoder {

void RenamedSource::add(const std::string& name, uint64_t index) {
  const quench_tensor_info info = base_.info(index);
  entries_.push_back({name, index, 0, info.dtype, {info.shape, info.shape + info.dimensions}});
}

void RenamedSource::add_rows(const std::string& name, uint64_t index, int64_t first, int64_t rows) {
  add(name, index);
  Entry& entry = entries_.back();
  int64_t width = 1;
  for (size_t d = 1; d < entry.shape.size(); ++d) {
    width *= entry.shape[d];
  }
  entry.first = static_cast<uint64_t>(first * width);
  entry.shape[0] = rows;
}

const quench_source* RenamedSource::get() {
  source_ = {};
  source_.struct_size = sizeof source_;
  source_.context = this;
  source_.count = [](const quench_source* source) noexcept -> uint64_t {
    return self(source).entries_.size();
  };
  source_.info = [](const quench_source* source, uint64_t index, quench_tensor_info* info,
                    quench_error* error) noexcept -> quench_status {
    return kit::guard(error, [&] {
      kit::expects(index < self(source).entries_.size(), "source: no such tensor");
      const Entry& entry = self(source).entries_[index];
      *info = {sizeof *info,       entry.name.c_str(),
               entry.dtype,        static_cast<int32_t>(entry.shape.size()),
               entry.shape.data(), index};
    });
  };
  source_.find = [](const quench_source* source, const char* name, uint64_t* index,
                    quench_error* error) noexcept -> quench_status {
    const auto& entries = self(source).entries_;
    for (*index = 0; *index < entries.size(); ++*index) {
      if (entries[*index].name == name) {
        return QUENCH_OK;
      }
    }
    return kit::report(error, QUENCH_NOT_FOUND, name);
  };
  source_.read = [](const quench_source* source, uint64_t index, uint64_t first, uint64_t elements,
                    void* destination, quench_error* error) noexcept -> quench_status {
    return kit::guard(error, [&] {
      kit::expects(index < self(source).entries_.size(), "source: no such tensor");
      const Entry& entry = self(source).entries_[index];
      self(source).base_.read(entry.index, entry.first + first, elements, destination);
    });
  };
  return &source_;
}

}  // namespace quench::decoder
