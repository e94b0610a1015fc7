#include "models/decoder/weight_inventory.hpp"

#include <algorithm>
#include <cstring>

#include "quench/kit/host.hpp"

namespace quench::decoder {

namespace {

constexpr uint64_t kAbsent = UINT64_MAX;
constexpr uint64_t kComparedAtOnce = uint64_t{1} << 20;  // elements

// A name from a file, shortened and cleaned for a one-line message.
std::string printable(const char* name) {
  std::string text(name, strnlen(name, 80));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c == '\x7F'; }, '?');
  return text;
}

// Names with the same fault; the message shows the first few and counts the rest.
class Fault {
 public:
  explicit Fault(const char* what) : what_(what) {}
  void add(const std::string& name) {
    if (++count_ <= kShown) {
      names_ += (count_ == 1 ? " " : ", ") + name;
    }
  }
  std::string text() const {
    if (count_ == 0) {
      return "";
    }
    const std::string more =
        count_ > kShown ? " and " + std::to_string(count_ - kShown) + " more" : "";
    return std::string("; ") + what_ + names_ + more;
  }

 private:
  static constexpr size_t kShown = 3;  // four faults of three names fit in an error record
  const char* what_;
  size_t count_ = 0;
  std::string names_;
};

bool same_values(const kit::Source& source, uint64_t a, uint64_t b) {
  const quench_tensor_info first = source.info(a);
  const quench_tensor_info second = source.info(b);
  if (second.shared_with == first.shared_with) {
    return true;
  }
  if (!kit::same(first.dtype, second.dtype)) {
    return false;
  }
  uint64_t count = 1;
  for (int32_t d = 0; d < first.dimensions; ++d) {
    count *= static_cast<uint64_t>(first.shape[d]);
  }
  const auto size = static_cast<uint64_t>(kit::bytes_of(first.dtype));
  std::vector<char> left(std::min(count, kComparedAtOnce) * size);
  std::vector<char> right(left.size());
  for (uint64_t at = 0; at < count; at += kComparedAtOnce) {
    kit::check_cancelled();
    const uint64_t part = std::min(kComparedAtOnce, count - at);
    source.read(a, at, part, left.data());
    source.read(b, at, part, right.data());
    if (std::memcmp(left.data(), right.data(), part * size) != 0) {
      return false;
    }
  }
  return true;
}

// Whether every element is 0 or -0.
bool are_zeros(std::span<const char> bytes, const quench_dtype& dtype) {
  const bool has_sign = dtype.code == QUENCH_DTYPE_FLOAT || dtype.code == QUENCH_DTYPE_BFLOAT;
  const auto size = static_cast<size_t>(kit::bytes_of(dtype));
  for (size_t i = 0; i < bytes.size(); ++i) {
    const bool holds_sign = has_sign && (i + 1) % size == 0;  // little-endian: the last byte
    if ((bytes[i] & (holds_sign ? 0x7F : 0xFF)) != 0) {
      return false;
    }
  }
  return true;
}

// Some tools write a bias of zeros beside every linear of a model that has none.
bool is_bias_of_zeros(const kit::Source& source, uint64_t index,
                      const std::unordered_map<std::string, size_t>& names) {
  constexpr std::string_view kBias = ".bias";
  const quench_tensor_info info = source.info(index);
  const std::string_view name = info.name;
  if (!name.ends_with(kBias) || info.dimensions != 1 ||
      !names.contains(std::string(name.substr(0, name.size() - kBias.size())) + ".weight")) {
    return false;
  }
  std::vector<char> values(static_cast<size_t>(info.shape[0] * kit::bytes_of(info.dtype)));
  source.read(index, 0, static_cast<uint64_t>(info.shape[0]), values.data());
  return are_zeros(values, info.dtype);
}

bool fits(const quench_tensor_info& info, const WeightSpec& spec) {
  return std::equal(info.shape, info.shape + info.dimensions, spec.shape.begin(),
                    spec.shape.end()) &&
         (info.dtype.code == QUENCH_DTYPE_FLOAT || info.dtype.code == QUENCH_DTYPE_BFLOAT);
}

}  // namespace

std::vector<uint64_t> take_inventory(const kit::Source& source, std::span<const WeightSpec> specs,
                                     const std::unordered_map<std::string, size_t>& names,
                                     std::span<const std::string> ignorable) {
  std::vector<uint64_t> places(specs.size(), kAbsent);
  Fault missing("missing");
  Fault unexpected("unexpected");
  Fault shape("wrong shape or dtype");
  Fault contradiction("two names hold different values:");
  for (uint64_t index = 0; index < source.count(); ++index) {
    const quench_tensor_info info = source.info(index);
    const std::string name(info.name);
    const auto known = names.find(name);
    if (known == names.end()) {
      const auto ends = [&](const std::string& suffix) { return name.ends_with(suffix); };
      if (std::none_of(ignorable.begin(), ignorable.end(), ends) &&
          !is_bias_of_zeros(source, index, names)) {
        unexpected.add(printable(info.name));
      }
      continue;
    }
    const WeightSpec& spec = specs[known->second];
    uint64_t& place = places[known->second];
    if (!fits(info, spec)) {
      shape.add(printable(info.name) + " " +
                kit::shape_text({info.shape, static_cast<size_t>(info.dimensions)}) + " " +
                kit::name_of(info.dtype) + ", wanted " + kit::shape_text(spec.shape));
      place = index;
    } else if (place != kAbsent && !same_values(source, place, index)) {
      contradiction.add(printable(info.name));
    } else if (place == kAbsent || name == spec.name) {
      place = index;
    }
  }
  for (size_t i = 0; i < specs.size(); ++i) {
    if (places[i] == kAbsent) {
      missing.add(specs[i].name);
    }
  }
  const std::string faults =
      missing.text() + unexpected.text() + shape.text() + contradiction.text();
  if (!faults.empty()) {
    throw kit::Error(QUENCH_DATA_LOSS, "tensors do not fit the config: " + faults.substr(2));
  }
  return places;
}

}  // namespace quench::decoder
