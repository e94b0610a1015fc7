#include "core/plugin/handles/format_writer.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/base/io/sha256.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/sharded_source.hpp"
#include "core/error.hpp"
#include "core/plugin/calls/plugin_call.hpp"
#include "core/plugin/calls/table_call.hpp"
#include "core/plugin/handles/format_handle.hpp"
#include "core/plugin/handles/sink_room.hpp"

namespace quench {

namespace {

constexpr uint64_t kMaxFile = uint64_t{64} << 20;
// A stored linear has at most a float64 and two tables of its size for each of its weights.
constexpr uint64_t kStoredBytesOfWeight = 24;

nlohmann::json object_of(const char* text, uint64_t bytes, const char* what) {
  if (text == nullptr || bytes > kMaxFile) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: {} bytes, at most {} are taken", what, bytes, kMaxFile);
  }
  nlohmann::json out = parse_json(std::string(text, bytes), what);
  if (!out.is_object()) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: {}, wanted an object", what, out.type_name());
  }
  return out;
}

}  // namespace

uint64_t checksum_of(std::span<const float> weight) {
  return sha256_head({reinterpret_cast<const char*>(weight.data()), weight.size_bytes()});
}

// What the plugin calls back. `finish`: null during `store`.
struct FormatWriter::Sink {
  FormatWriter& writer;
  FormatFinish* finish = nullptr;
  SinkRoom room;
  std::map<std::string, StoredTensor> added = {};

  FormatFinish& finished(const char* what) const {
    if (finish == nullptr) {
      fail(QUENCH_FAILED_PRECONDITION, "{}: is called in finish alone", what);
    }
    return *finish;
  }

  void add(const char* name, quench_dtype dtype, int32_t dimensions, const int64_t* shape,
           const void* data) {
    if (finish != nullptr) {
      fail(QUENCH_FAILED_PRECONDITION, "tensor: is called in store alone");
    }
    TensorInfo info =
        offered_tensor(name, dtype, dimensions, shape, QUENCH_INVALID_ARGUMENT, "store");
    const uint64_t size = *element_count(info.shape) * dtype_size(dtype);
    if (size > 0 && data == nullptr) {
      fail(QUENCH_INVALID_ARGUMENT, "store: tensor '{}': its data is NULL", printable(name));
    }
    room.take(name, size);
    StoredTensor tensor{dtype, std::move(info.shape), {}};
    const auto* bytes = static_cast<const std::byte*>(data);
    tensor.bytes.assign(bytes, bytes + size);
    if (writer.tensors_.contains(name) || !added.emplace(name, std::move(tensor)).second) {
      fail(QUENCH_INVALID_ARGUMENT, "tensor '{}': is there already", printable(name));
    }
  }

  void add_file(const char* name, const void* data, uint64_t bytes) {
    FormatFinish& out = finished("file");
    if (name == nullptr || !is_plain_file_name(name) || (bytes > 0 && data == nullptr)) {
      fail(QUENCH_INVALID_ARGUMENT, "file '{}' of {} bytes: wanted a plain name and its bytes",
           printable(name == nullptr ? "" : name), bytes);
    }
    room.take(name, bytes);
    out.files.emplace_back(name, std::string(static_cast<const char*>(data), bytes));
  }

  void drop(const char* name) {
    static_cast<void>(finished("drop"));
    if (name == nullptr || writer.tensors_.erase(name) == 0) {
      fail(QUENCH_NOT_FOUND, "drop: no tensor '{}'", printable(name == nullptr ? "" : name));
    }
  }
  void set_config(const char* document, uint64_t bytes) {
    finished("config").config = object_of(document, bytes, "config");
  }
  void set_quantization(const char* document, uint64_t bytes) {
    finished("quantization").quantization = object_of(document, bytes, "quantization");
  }

  quench_format_sink table() {
    return {.struct_size = sizeof(quench_format_sink),
            .context = this,
            .tensor = Called<&Sink::add>::call,
            .drop = Called<&Sink::drop>::call,
            .config = Called<&Sink::set_config>::call,
            .file = Called<&Sink::add_file>::call,
            .quantization = Called<&Sink::set_quantization>::call};
  }
};

FormatWriter::FormatWriter(FormatHandle format) : format_(std::move(format)) {
  if (!format_.writes()) {
    fail(QUENCH_UNSUPPORTED, "{}: is only read", format_.label());
  }
  writer_.emplace(Writer::make<&quench_format_table::begin>(format_.label(), &format_.table(),
                                                            format_.parameters().c_str(),
                                                            uint64_t{format_.parameters().size()}));
}

template <auto Store, typename Linear>
void FormatWriter::store_with(const Linear& linear, std::span<float> weight) {
  Sink sink{*this,
            nullptr,
            {"tensors of one linear",
             kMaxFile + kStoredBytesOfWeight * static_cast<uint64_t>(linear.out * linear.in)}};
  const quench_format_sink table = sink.table();
  quench_stored_linear stored{};
  stored.struct_size = sizeof stored;
  writer_->call_at<Store>({linear.name}, &linear, &table, weight.data(), &stored);
  sink.room.require_enough(format_.label());
  if (sink.added.empty()) {
    fail(QUENCH_INTERNAL, "{}: {}: is stored without a tensor", format_.label(), linear.name);
  }
  const auto infinite =
      std::find_if(weight.begin(), weight.end(), [](float value) { return !std::isfinite(value); });
  if (infinite != weight.end()) {
    fail(QUENCH_NUMERICAL, "{}: {}: element {} of the stored weight is not finite", format_.label(),
         linear.name, infinite - weight.begin());
  }
  linears_[linear.name] = checksum_of(weight);
  tensors_.merge(sink.added);
  scales_ += stored.scales;
  rounded_ += stored.rounded_scales;
  largest_change_ = std::max(largest_change_, stored.largest_change);
}

void FormatWriter::store(const quench_coded_linear& linear, std::span<float> weight) {
  store_with<&quench_format_table::store>(linear, weight);
}

void FormatWriter::store(const quench_codebook_linear& linear, std::span<float> weight) {
  if (!writer_->has<&quench_format_table::store_codebook>()) {
    fail(QUENCH_UNSUPPORTED, "{}: {}: a table of values; the format holds integer grids",
         format_.label(), linear.name);
  }
  store_with<&quench_format_table::store_codebook>(linear, weight);
}

FormatFinish FormatWriter::finish(const std::vector<std::string>& linears,
                                  const std::vector<std::string>& heads) {
  const auto pointers = [](const std::vector<std::string>& names) {
    std::vector<const char*> out;
    for (const std::string& name : names) {
      out.push_back(name.c_str());
    }
    return out;
  };
  const std::vector<const char*> left = pointers(linears);
  const std::vector<const char*> head = pointers(heads);
  const quench_float_linears rest{sizeof rest, static_cast<uint32_t>(left.size()), left.data(),
                                  static_cast<uint32_t>(head.size()), head.data()};
  FormatFinish out{nlohmann::json::object(), nullptr};
  Sink sink{*this, &out, {"files of one model", kMaxFile}};
  const quench_format_sink table = sink.table();
  writer_->call<&quench_format_table::finish>(&rest, &table);
  sink.room.require_enough(format_.label());
  return out;
}

nlohmann::json FormatWriter::scales() const {
  return {{"format", id()},
          {"scales", scales_},
          {"rounded_scales", rounded_},
          {"largest_scale_change", largest_change_}};
}

}  // namespace quench
