// A format as C++ classes. Derive Checkpoint for reading, FormatWriter for writing, name them in a
// class with Params, end with QUENCH_MODULE:
//
//   struct MyFormat {
//     struct Params {...};
//     static int32_t probe(const kit::Place& place, std::string& why);
//     static std::unique_ptr<kit::Checkpoint> open(const kit::Place& place, const Params&);
//     // where a place may hold several:
//     static std::vector<kit::CheckpointEntry> list(const kit::Place& place);
//     // where it writes; `fits` returns why not, or "":
//     static std::string fits(const Params&, const quench_code_scheme&, int64_t out, int64_t in);
//     static std::unique_ptr<kit::FormatWriter> begin(const Params&);
//   };
//   QUENCH_MODULE("my_format", "0.1.0", kit::format<MyFormat>({.id = "my_format", ...}))
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "quench/abi/kind/format.h"
#include "quench/kit/answer.hpp"
#include "quench/kit/module.hpp"
#include "quench/kit/source.hpp"
#include "quench/kit/tensor.hpp"

namespace quench::kit {

// Borrows a quench_place; see there for what the calls promise. What is passed to `open` is valid
// as long as the checkpoint.
class Place {
 public:
  explicit Place(const quench_place& place) : place_(&place) {}

  std::string path() const { return place_->path; }
  // The file that the user named, or "".
  std::string file() const { return place_->file != nullptr ? place_->file : ""; }
  std::string_view config() const { return {place_->config_json, place_->config_bytes}; }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (uint64_t i = 0; i < place_->count(place_); ++i) {
      out.emplace_back(place_->name(place_, i));
    }
    return out;
  }
  bool has(std::string_view name) const {
    for (uint64_t i = 0; i < place_->count(place_); ++i) {
      if (name == place_->name(place_, i)) {
        return true;
      }
    }
    return false;
  }
  // "folder/name", for messages.
  std::string where(const std::string& name) const { return path() + "/" + name; }

  uint64_t size(const std::string& name) const {
    uint64_t bytes = 0;
    quench_error error{sizeof error, 0, {}};
    check(place_->size(place_, name.c_str(), &bytes, &error), error);
    return bytes;
  }
  void read(const std::string& name, uint64_t offset, uint64_t bytes, void* destination) const {
    quench_error error{sizeof error, 0, {}};
    check(place_->read(place_, name.c_str(), offset, bytes, destination, &error), error);
  }
  // The whole file, or INVALID_ARGUMENT where it is larger than `limit`.
  std::string text(const std::string& name, uint64_t limit) const {
    const uint64_t bytes = size(name);
    if (bytes > limit) {
      fail(QUENCH_INVALID_ARGUMENT, "%s: %llu bytes, at most %llu are read", where(name).c_str(),
           static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(limit));
    }
    std::string out(bytes, '\0');
    read(name, 0, bytes, out.data());
    return out;
  }
  // The first bytes of a file, at most `most`; "" where it cannot be read.
  std::string head(const std::string& name, uint64_t most) const {
    try {
      std::string out(std::min(most, size(name)), '\0');
      read(name, 0, out.size(), out.data());
      return out;
    } catch (const Error&) {
      return "";
    }
  }
  // The tensors of the folder's safetensors files, or of another container.
  Source tensors() const {
    const quench_source* source = nullptr;
    quench_error error{sizeof error, 0, {}};
    check(place_->tensors(place_, &source, &error), error);
    return Source(*source);
  }

 private:
  const quench_place* place_;
};

struct CheckpointTensor {
  std::string name;
  quench_dtype dtype{};
  std::vector<int64_t> shape;
  uint64_t shared_with = 0;  // index of an earlier tensor with the same storage, or its own
};

// An open checkpoint: a table of tensors, the way to their elements, and what belongs to them.
class Checkpoint {
 public:
  Checkpoint() { source_ = {sizeof source_, this, count, info, find, read}; }
  virtual ~Checkpoint() = default;
  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;

  const std::vector<CheckpointTensor>& tensors() const { return tensors_; }
  // Elements [first, first + elements) of a tensor in C order, in its dtype; the range lies inside
  // the tensor and is not empty. [thread-safe]
  virtual void read_elements(uint64_t index, uint64_t first, uint64_t elements,
                             void* destination) const = 0;

  void fill(quench_checkpoint_contents& out) const {
    out.tensors = &source_;
    if (config_json_) {
      out.config_json = config_json_->data();
      out.config_bytes = config_json_->size();
    }
    if (quantization_json_) {
      out.quantization_json = quantization_json_->data();
      out.quantization_bytes = quantization_json_->size();
    }
    if (!tokenizer_name_.empty()) {
      out.tokenizer_name = tokenizer_name_.c_str();
      out.tokenizer = tokenizer_.data();
      out.tokenizer_bytes = tokenizer_.size();
    }
  }

 protected:
  uint64_t add(CheckpointTensor tensor) {
    by_name_.emplace(tensor.name, tensors_.size());
    tensors_.push_back(std::move(tensor));
    return tensors_.size() - 1;
  }
  std::optional<uint64_t> find_tensor(const std::string& name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? std::nullopt : std::optional<uint64_t>(found->second);
  }
  // See quench_checkpoint_contents. Left alone: the config is the place's, the weights are float,
  // there is no tokenizer.
  void set_config(std::string json) { config_json_ = std::move(json); }
  void set_quantization(std::string json) { quantization_json_ = std::move(json); }
  void set_tokenizer(std::string name, std::string bytes) {
    tokenizer_name_ = std::move(name);
    tokenizer_ = std::move(bytes);
  }

 private:
  static const Checkpoint& self(const quench_source* source) {
    return *static_cast<const Checkpoint*>(source->context);
  }
  static uint64_t count(const quench_source* source) noexcept {
    return self(source).tensors_.size();
  }
  static quench_status info(const quench_source* source, uint64_t index, quench_tensor_info* out,
                            quench_error* error) noexcept {
    return guard(error, [&] {
      expects(index < self(source).tensors_.size(), "info: no tensor of this index");
      const CheckpointTensor& tensor = self(source).tensors_[index];
      out->name = tensor.name.c_str();
      out->dtype = tensor.dtype;
      out->dimensions = static_cast<int32_t>(tensor.shape.size());
      out->shape = tensor.shape.data();
      out->shared_with = tensor.shared_with;
    });
  }
  static quench_status find(const quench_source* source, const char* name, uint64_t* index,
                            quench_error* error) noexcept {
    return guard(error, [&] {
      const auto found = self(source).find_tensor(name);
      if (!found) {
        fail(QUENCH_NOT_FOUND, "no tensor '%s'", name);
      }
      *index = *found;
    });
  }
  static quench_status read(const quench_source* source, uint64_t index, uint64_t first,
                            uint64_t elements, void* destination, quench_error* error) noexcept {
    return guard(error, [&] {
      if (elements > 0) {
        self(source).read_elements(index, first, elements, destination);
      }
    });
  }

  quench_source source_{};
  std::vector<CheckpointTensor> tensors_;
  std::unordered_map<std::string, uint64_t> by_name_;
  std::optional<std::string> config_json_;
  std::optional<std::string> quantization_json_;
  std::string tokenizer_name_;
  std::string tokenizer_;
};

struct CheckpointEntry {
  std::string name;  // of a file of the place
  int64_t step = -1;
  int64_t tokens = -1;
};

// Where a writer puts what it made; see quench_format_sink.
class FormatSink {
 public:
  explicit FormatSink(const quench_format_sink& sink) : sink_(&sink) {}

  void tensor(const std::string& name, quench_dtype dtype, const std::vector<int64_t>& shape,
              const void* data) const {
    quench_error error{sizeof error, 0, {}};
    check(sink_->tensor(sink_->context, name.c_str(), dtype, static_cast<int32_t>(shape.size()),
                        shape.data(), data, &error),
          error);
  }
  void drop(const std::string& name) const {
    quench_error error{sizeof error, 0, {}};
    check(sink_->drop(sink_->context, name.c_str(), &error), error);
  }
  void config(const std::string& json) const {
    quench_error error{sizeof error, 0, {}};
    check(sink_->config(sink_->context, json.data(), json.size(), &error), error);
  }
  void file(const std::string& name, const std::string& bytes) const {
    quench_error error{sizeof error, 0, {}};
    check(sink_->file(sink_->context, name.c_str(), bytes.data(), bytes.size(), &error), error);
  }
  void quantization(const std::string& json) const {
    quench_error error{sizeof error, 0, {}};
    check(sink_->quantization(sink_->context, json.data(), json.size(), &error), error);
  }

 private:
  const quench_format_sink* sink_;
};

// What stays in float beside the linears that were stored.
struct FloatLinears {
  std::vector<std::string> linears;  // of blocks
  std::vector<std::string> heads;    // names of the output head; none where it is quantized
};

class FormatWriter {
 public:
  virtual ~FormatWriter() = default;
  // See quench_format_table::store: `weight` [out, in] is replaced by what the tensors hold.
  virtual void store(const quench_coded_linear& linear, const FormatSink& sink,
                     std::span<float> weight, quench_stored_linear& stored) = 0;
  virtual void finish(const FloatLinears& left, const FormatSink& sink) = 0;
  // The same for a weight that is looked up in a table; not overridden: the format holds none.
  virtual void store_codebook(const quench_codebook_linear& linear, const FormatSink&,
                              std::span<float>, quench_stored_linear&) {
    fail(QUENCH_UNSUPPORTED, "%s: a table of values; the format holds integer grids", linear.name);
  }
};

namespace detail {

template <typename Plugin>
concept ReadsFormat = requires(const Place& place, const typename Plugin::Params& params,
                               std::string& why) {
  Plugin::probe(place, why);
  Plugin::open(place, params);
};
template <typename Plugin>
concept ListsFormat = requires(const Place& place) {
  Plugin::list(place);
};
template <typename Plugin>
concept WritesFormat = requires(const typename Plugin::Params& params) {
  Plugin::begin(params);
};

template <typename Plugin>
int32_t probe_format(const quench_place* place, quench_error* error) noexcept {
  int32_t score = 0;
  const quench_status status = guard(error, [&] {
    std::string why;
    score = Plugin::probe(Place(*place), why);
    report(error, QUENCH_OK, why.c_str());
  });
  return status == QUENCH_OK ? score : 0;
}
template <typename Plugin>
quench_status open_format(const quench_place* place, const char* json, uint64_t bytes,
                          quench_checkpoint** out, quench_error* error) noexcept {
  return guard(error, [&] {
    std::unique_ptr<Checkpoint> made =
        Plugin::open(Place(*place), fields_of<typename Plugin::Params>().parse(json, bytes));
    *out = reinterpret_cast<quench_checkpoint*>(made.release());
  });
}
inline void close_checkpoint(quench_checkpoint* checkpoint) noexcept {
  delete reinterpret_cast<Checkpoint*>(checkpoint);
}
inline quench_status checkpoint_contents(const quench_checkpoint* checkpoint,
                                         quench_checkpoint_contents* contents,
                                         quench_error* error) noexcept {
  return guard(error, [&] {
    quench_checkpoint_contents filled{};
    reinterpret_cast<const Checkpoint*>(checkpoint)->fill(filled);
    answer(contents, filled);
  });
}
template <typename Plugin>
quench_status list_format(const quench_place* place,
                          quench_status (*visit)(void*, const quench_checkpoint_entry*) noexcept,
                          void* context, quench_error* error) noexcept {
  quench_status stopped = QUENCH_OK;
  const quench_status status = guard(error, [&] {
    for (const CheckpointEntry& entry : Plugin::list(Place(*place))) {
      const quench_checkpoint_entry view{sizeof view, entry.name.c_str(), entry.step, entry.tokens};
      stopped = visit(context, &view);
      if (stopped != QUENCH_OK) {
        return;
      }
    }
  });
  return status != QUENCH_OK ? status : stopped;
}
template <typename Plugin>
quench_status format_fits(const char* json, uint64_t bytes, const quench_code_scheme* scheme,
                          int64_t out, int64_t in, quench_error* error) noexcept {
  return guard(error, [&] {
    const std::string why =
        Plugin::fits(fields_of<typename Plugin::Params>().parse(json, bytes), *scheme, out, in);
    if (!why.empty()) {
      throw Error(QUENCH_UNSUPPORTED, why);
    }
  });
}
template <typename Plugin>
quench_status begin_format(const char* json, uint64_t bytes, quench_format_writer** out,
                           quench_error* error) noexcept {
  return guard(error, [&] {
    std::unique_ptr<FormatWriter> made =
        Plugin::begin(fields_of<typename Plugin::Params>().parse(json, bytes));
    *out = reinterpret_cast<quench_format_writer*>(made.release());
  });
}
template <typename Linear>
quench_status store_in_format(void (FormatWriter::*store)(const Linear&, const FormatSink&,
                                                          std::span<float>, quench_stored_linear&),
                              quench_format_writer* writer, const Linear* linear,
                              const quench_format_sink* sink, float* weight,
                              quench_stored_linear* stored, quench_error* error) noexcept {
  return guard(error, [&] {
    const auto elements = static_cast<size_t>(linear->out) * static_cast<size_t>(linear->in);
    quench_stored_linear became{};
    became.struct_size = sizeof became;
    (reinterpret_cast<FormatWriter*>(writer)->*store)(*linear, FormatSink(*sink),
                                                      {weight, elements}, became);
    answer(stored, became);
  });
}
inline quench_status store_format(quench_format_writer* writer, const quench_coded_linear* linear,
                                  const quench_format_sink* sink, float* weight,
                                  quench_stored_linear* stored, quench_error* error) noexcept {
  return store_in_format(&FormatWriter::store, writer, linear, sink, weight, stored, error);
}
inline quench_status store_codebook_format(quench_format_writer* writer,
                                           const quench_codebook_linear* linear,
                                           const quench_format_sink* sink, float* weight,
                                           quench_stored_linear* stored,
                                           quench_error* error) noexcept {
  return store_in_format(&FormatWriter::store_codebook, writer, linear, sink, weight, stored,
                         error);
}
inline quench_status finish_format(quench_format_writer* writer, const quench_float_linears* left,
                                   const quench_format_sink* sink, quench_error* error) noexcept {
  return guard(error, [&] {
    FloatLinears names;
    names.linears.assign(left->linears, left->linears + left->linear_count);
    names.heads.assign(left->heads, left->heads + left->head_count);
    reinterpret_cast<FormatWriter*>(writer)->finish(names, FormatSink(*sink));
  });
}
inline void end_format(quench_format_writer* writer) noexcept {
  delete reinterpret_cast<FormatWriter*>(writer);
}

template <typename Plugin>
quench_format_table format_table() {
  quench_format_table table{};
  table.struct_size = sizeof table;
  if constexpr (ReadsFormat<Plugin>) {
    table.probe = probe_format<Plugin>;
    table.open = open_format<Plugin>;
    table.close = close_checkpoint;
    table.contents = checkpoint_contents;
  }
  if constexpr (ListsFormat<Plugin>) {
    table.list = list_format<Plugin>;
  }
  if constexpr (WritesFormat<Plugin>) {
    table.fits = format_fits<Plugin>;
    table.begin = begin_format<Plugin>;
    table.store = store_format;
    table.finish = finish_format;
    table.end = end_format;
    table.store_codebook = store_codebook_format;
  }
  return table;
}

}  // namespace detail

// The item of a format class; see the top of this file.
template <typename Plugin>
quench_item format(const About& about) {
  static const quench_format_table kTable = detail::format_table<Plugin>();
  return make_item<typename Plugin::Params>(QUENCH_KIND_FORMAT, about, &kTable);
}

}  // namespace quench::kit
