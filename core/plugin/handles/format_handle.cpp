#include "core/plugin/handles/format_handle.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>

#include "core/base/json/parse_json.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/sharded_source.hpp"
#include "core/checkpoint/stored_dtype.hpp"
#include "core/error.hpp"
#include "core/plugin/catalog/parameters.hpp"
#include "core/plugin/handles/instance.hpp"
#include "core/plugin/services/heard_warnings.hpp"

namespace quench {

namespace {

constexpr uint64_t kMaxTensors = uint64_t{4} << 20;
constexpr uint64_t kMaxJson = uint64_t{64} << 20;
constexpr uint64_t kMaxTokenizer = uint64_t{1} << 30;
constexpr size_t kMaxEntries = 100'000;

// An open checkpoint with what it needs to live.
class FormatInstance {
 public:
  FormatInstance(const std::string& label, const quench_format_table& table,
                 std::shared_ptr<const CheckpointPlace> place, const std::string& parameters)
      : place_(std::move(place)),
        checkpoint_(Checkpoint::make<&quench_format_table::open>(
            label, &table, place_->get(), parameters.c_str(), uint64_t{parameters.size()})) {}

  const std::string& label() const { return checkpoint_.label(); }
  const CheckpointPlace& place() const { return *place_; }
  quench_checkpoint_contents contents() const {
    quench_checkpoint_contents out{};
    out.struct_size = sizeof out;
    checkpoint_.call<&quench_format_table::contents>(&out);
    return out;
  }

 private:
  using Checkpoint = PluginObject<&quench_format_table::close>;
  std::shared_ptr<const CheckpointPlace> place_;
  Checkpoint checkpoint_;
};

std::string place_text(const CheckpointPlace& place) {
  return (place.file().empty() ? place.folder() : place.folder() / place.file()).string();
}

// A format's tensors, held to what a file's are held to.
class FormatSource final : public TensorSource {
 public:
  FormatSource(std::shared_ptr<const FormatInstance> checkpoint, const quench_source* tensors)
      : TensorSource(place_text(checkpoint->place())),
        checkpoint_(std::move(checkpoint)),
        tensors_(tensors) {
    if (tensors_ == nullptr || tensors_->count == nullptr || tensors_->info == nullptr ||
        tensors_->read == nullptr) {
      fail(QUENCH_INTERNAL, "{}: offers no tensors, or a table of them with a NULL function",
           checkpoint_->label());
    }
    const uint64_t count =
        call<&quench_source::count>(checkpoint_->label(), *tensors_, {}, tensors_);
    if (count > kMaxTensors) {
      fail(QUENCH_INTERNAL, "{}: offers {} tensors, at most {} are taken", checkpoint_->label(),
           count, kMaxTensors);
    }
    for (uint64_t i = 0; i < count; ++i) {
      add(checked(i));
    }
  }

 private:
  TensorInfo checked(uint64_t index) const {
    const std::string& label = checkpoint_->label();
    quench_tensor_info info{};
    info.struct_size = sizeof info;
    call<&quench_source::info>(label, *tensors_, {}, tensors_, index, &info);
    TensorInfo out =
        offered_tensor(info.name, info.dtype, info.dimensions, info.shape, QUENCH_INTERNAL, label);
    if (same_dtype(out.dtype, kFloat8E4M3)) {
      fail(QUENCH_INTERNAL, "{}: tensor '{}' is {}, wanted what it stands for", label,
           printable(out.name), dtype_name(out.dtype));
    }
    out.shared_with = info.shared_with;
    if (out.shared_with > index ||
        (out.shared_with < index && (this->info(out.shared_with).shape != out.shape ||
                                     !same_dtype(this->info(out.shared_with).dtype, out.dtype)))) {
      fail(QUENCH_INTERNAL, "{}: tensor '{}' is shared with tensor {}, which {}", label,
           printable(out.name), out.shared_with,
           out.shared_with > index ? "comes later" : "has another type or shape");
    }
    return out;
  }

  void read_elements(uint64_t index, uint64_t first, uint64_t elements,
                     void* destination) const override {
    call<&quench_source::read>(checkpoint_->label(), *tensors_, {}, tensors_, index, first,
                               elements, destination);
  }

  std::shared_ptr<const FormatInstance> checkpoint_;
  const quench_source* tensors_;
};

// A JSON object that a plugin offers under `what`.
nlohmann::json offered_object(const std::string& label, const char* what, const char* text,
                              uint64_t bytes) {
  if (bytes > kMaxJson) {
    fail(QUENCH_INTERNAL, "{}: its {} has {} bytes, at most {} are taken", label, what, bytes,
         kMaxJson);
  }
  nlohmann::json out = parse_json(std::string(text, bytes), label + ": its " + what);
  if (!out.is_object()) {
    fail(QUENCH_INTERNAL, "{}: its {} is {}, wanted an object", label, what, out.type_name());
  }
  return out;
}

}  // namespace

FormatHandle::FormatHandle(Catalog& catalog, const PluginDescription& description)
    : id_(description.id),
      label_(plugin_label(description)),
      table_(load_table<quench_format_table>(catalog, description)),
      parameters_(default_parameters(description).dump()) {}

FormatAnswer FormatHandle::probe(const CheckpointPlace& place) const {
  if (!reads()) {
    return {};
  }
  quench_error error{sizeof(quench_error), 0, {}};
  FormatAnswer out;
  out.score = call<&quench_format_table::probe>(label_, *table_, {}, place.get(), &error);
  if (out.score < 0 || out.score > 100) {
    fail(QUENCH_INTERNAL, "{}: probe returned {}, wanted 0..100", label_, out.score);
  }
  error.message[sizeof error.message - 1] = '\0';
  out.message = printable(error.message, sizeof error.message);
  return out;
}

FormatContents FormatHandle::open(std::shared_ptr<const CheckpointPlace> place) const {
  if (!reads()) {
    fail(QUENCH_UNSUPPORTED, "{}: is only written", label_);
  }
  const HeardWarnings heard;
  const auto checkpoint =
      std::make_shared<const FormatInstance>(label_, *table_, std::move(place), parameters_);
  heard.check();
  const quench_checkpoint_contents offered = checkpoint->contents();
  FormatContents out;
  out.source = std::make_shared<FormatSource>(checkpoint, offered.tensors);
  if (offered.config_json != nullptr) {
    offered_object(label_, "config", offered.config_json, offered.config_bytes);
    out.config_json.emplace(offered.config_json, offered.config_bytes);
  }
  if (offered.quantization_json != nullptr) {
    out.quantization = offered_object(label_, "quantization", offered.quantization_json,
                                      offered.quantization_bytes);
  }
  if (offered.tokenizer_name != nullptr) {
    const std::string name(offered.tokenizer_name, strnlen(offered.tokenizer_name, 256));
    if (!is_plain_file_name(name) || offered.tokenizer == nullptr ||
        offered.tokenizer_bytes > kMaxTokenizer) {
      fail(QUENCH_INTERNAL,
           "{}: its tokenizer is called '{}' and has {} bytes, at most {} are taken", label_,
           printable(name), offered.tokenizer_bytes, kMaxTokenizer);
    }
    out.tokenizer =
        CarriedFile{name, {static_cast<const char*>(offered.tokenizer), offered.tokenizer_bytes}};
  }
  return out;
}

std::vector<PlacedCheckpoint> FormatHandle::list(const CheckpointPlace& place) const {
  if (!reads() || table_->list == nullptr) {
    return {};
  }
  struct Visit {
    const CheckpointPlace& place;
    std::vector<PlacedCheckpoint> found;
    std::string fault;
  } visit{place, {}, ""};
  const auto take = [](void* context, const quench_checkpoint_entry* entry) noexcept {
    auto& out = *static_cast<Visit*>(context);
    return guarded(nullptr, [&] {
      const std::string name = entry->name != nullptr ? entry->name : "";
      if (!out.place.has(name) || out.found.size() == kMaxEntries) {
        out.fault = fmt::format(
            "lists '{}', {}", printable(name),
            out.place.has(name) ? "and too many before it" : "which is no file of the place");
        fail(QUENCH_INTERNAL, "{}", out.fault);
      }
      out.found.push_back({name, entry->step, entry->tokens});
    });
  };
  quench_error error{sizeof(quench_error), 0, {}};
  const quench_status status =
      call<&quench_format_table::list>(label_, *table_, {}, place.get(), take, &visit, &error);
  if (!visit.fault.empty()) {
    fail(QUENCH_INTERNAL, "{}: {}", label_, visit.fault);
  }
  if (status != QUENCH_OK) {
    throw_status(label_, "list", status, error);
  }
  return std::move(visit.found);
}

std::string FormatHandle::fault(const quench_code_scheme& scheme, int64_t out, int64_t in) const {
  if (!writes()) {
    return fmt::format("format {} is only read", id_);
  }
  quench_error error{sizeof(quench_error), 0, {}};
  const quench_status status = call<&quench_format_table::fits>(
      label_, *table_, {}, parameters_.c_str(), parameters_.size(), &scheme, out, in, &error);
  if (status == QUENCH_OK) {
    return "";
  }
  if (status != QUENCH_UNSUPPORTED) {
    throw_status(label_, "fits", status, error);
  }
  error.message[sizeof error.message - 1] = '\0';
  return printable(error.message, sizeof error.message);
}

namespace {

constexpr size_t kMaxName = 4096;
constexpr quench_dtype kHeld[] = {kFloat64, kFloat32, kFloat16, kBFloat16, kInt64,     kInt32,
                                  kInt16,   kInt8,    kUInt8,   kBool,     kFloat8E4M3};

}  // namespace

TensorInfo offered_tensor(const char* name, quench_dtype dtype, int32_t dimensions,
                          const int64_t* shape, int32_t code, const std::string& where) {
  if (name == nullptr || *name == '\0' || strnlen(name, kMaxName + 1) > kMaxName) {
    fail(code, "{}: a tensor has no name, or one of more than {} bytes", where, kMaxName);
  }
  const std::string called = fmt::format("{}: tensor '{}'", where, printable(name));
  if (std::none_of(std::begin(kHeld), std::end(kHeld),
                   [&](quench_dtype held) { return same_dtype(held, dtype); })) {
    fail(code, "{}: type {}, which checkpoints do not hold", called, dtype_name(dtype));
  }
  if (dimensions < 0 || dimensions > QUENCH_MAX_DIMENSIONS ||
      (dimensions > 0 && shape == nullptr)) {
    fail(code, "{}: {} dimensions, wanted 0 to {}", called, dimensions, QUENCH_MAX_DIMENSIONS);
  }
  TensorInfo out{name, dtype, {shape, shape + dimensions}, 0};
  const std::optional<uint64_t> elements = element_count(out.shape);
  if (!elements || *elements > INT64_MAX / dtype_size(dtype)) {
    fail(code, "{}: shape {} is negative or has more than 2^63 bytes", called,
         shape_text(out.shape));
  }
  return out;
}

}  // namespace quench
