// A place of a config, some tensors and small files in memory, for formats.
#pragma once

#include <cstring>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "promises/memory_source.hpp"
#include "quench/abi/kind/format.h"
#include "quench/kit/error.hpp"

namespace quench::promises {

class MadePlace {
 public:
  explicit MadePlace(std::string config = "") : config_(std::move(config)) {
    table_.struct_size = sizeof table_;
    table_.context = this;
    table_.path = "folder";
    table_.config_json = config_.c_str();
    table_.config_bytes = config_.size();
    table_.count = [](const quench_place* place) noexcept -> uint64_t {
      return self(place).files_.size();
    };
    table_.name = [](const quench_place* place, uint64_t index) noexcept -> const char* {
      const auto& files = self(place).files_;
      return index < files.size()
                 ? std::next(files.begin(), static_cast<int64_t>(index))->first.c_str()
                 : nullptr;
    };
    table_.size = [](const quench_place* place, const char* name, uint64_t* bytes,
                     quench_error* error) noexcept {
      return kit::guard(error, [&] { *bytes = self(place).file(name).size(); });
    };
    table_.read = [](const quench_place* place, const char* name, uint64_t offset, uint64_t bytes,
                     void* destination, quench_error* error) noexcept {
      return kit::guard(error, [&] {
        const std::string& content = self(place).file(name);
        if (offset > content.size() || bytes > content.size() - offset) {
          kit::fail(QUENCH_DATA_LOSS, "folder/%s: read past its end", name);
        }
        std::memcpy(destination, content.data() + offset, bytes);
      });
    };
    table_.tensors = [](const quench_place* place, const quench_source** source,
                        quench_error* error) noexcept {
      return kit::guard(error, [&] {
        if (self(place).tensors_ == nullptr) {
          kit::fail(QUENCH_NOT_FOUND, "folder: no tensors");
        }
        *source = self(place).tensors_->source();
      });
    };
  }
  MadePlace(const MadePlace&) = delete;
  MadePlace& operator=(const MadePlace&) = delete;

  void add_file(const std::string& name, std::string bytes) { files_[name] = std::move(bytes); }
  void set_tensors(const MemorySource& tensors) { tensors_ = &tensors; }
  const quench_place* get() const { return &table_; }

 private:
  static const MadePlace& self(const quench_place* place) {
    return *static_cast<const MadePlace*>(place->context);
  }
  const std::string& file(const char* name) const {
    const auto found = files_.find(name);
    if (found == files_.end()) {
      kit::fail(QUENCH_NOT_FOUND, "folder: no file '%s'", name);
    }
    return found->second;
  }

  std::string config_;
  std::map<std::string, std::string> files_;
  const MemorySource* tensors_ = nullptr;
  quench_place table_{};
};

}  // namespace quench::promises
