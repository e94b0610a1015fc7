#include "models/decoder/weights.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <numeric>
#include <utility>

#include "models/decoder/arriving.hpp"
#include "models/decoder/elementwise.hpp"
#include "models/decoder/initial_weights.hpp"
#include "models/decoder/weight_inventory.hpp"
#include "quench/kit/host.hpp"
#include "quench/kit/torch.hpp"

namespace quench::decoder {

namespace {

// Elements of a read by one thread: two blocks of the checksums that it is held to.
constexpr uint64_t kPiece = uint64_t{1} << 18;

bool is_float(quench_dtype dtype) {
  return kit::same(dtype, kit::kFloat64) || kit::same(dtype, kit::kFloat32) ||
         kit::same(dtype, kit::kFloat16) || kit::same(dtype, kit::kBFloat16);
}

// Elements [first, first + count) of a tensor. One thread reads and checks at most 2 GB/s.
void read_pieces(const kit::Source& source, uint64_t index, uint64_t first, uint64_t count,
                 char* into, uint64_t element_bytes) {
  kit::parallel_for(count, kPiece, [&](uint64_t begin, uint64_t end) {
    source.read(index, first + begin, end - begin, into + begin * element_bytes);
  });
}

void read_tensor(const kit::Source& source, uint64_t index, const at::Tensor& to,
                 Arriving& arriving) {
  const at::ScalarType stored = kit::scalar_type(source.info(index).dtype);
  const at::Tensor flat = to.view({-1});
  const auto count = static_cast<uint64_t>(flat.numel());
  for (uint64_t first = 0; first < count; first += Arriving::kElements) {
    kit::check_cancelled();
    const auto length = static_cast<int64_t>(std::min(Arriving::kElements, count - first));
    arriving.bring(flat.narrow(0, static_cast<int64_t>(first), length), stored,
                   [&](const at::Tensor& piece) {
                     read_pieces(source, index, first, static_cast<uint64_t>(length),
                                 static_cast<char*>(piece.data_ptr()),
                                 static_cast<uint64_t>(piece.element_size()));
                   });
  }
}

void check_value(const std::string& name, const quench_tensor& value, const at::Tensor& weight) {
  const auto shape = kit::shape_of(value);
  if (!std::equal(shape.begin(), shape.end(), weight.sizes().begin(), weight.sizes().end())) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "%s: shape %s, wanted %s", name.c_str(),
              kit::shape_text(shape).c_str(),
              kit::shape_text({weight.sizes().data(), weight.sizes().size()}).c_str());
  }
  if (!is_float(value.dtype)) {
    kit::fail(QUENCH_INVALID_ARGUMENT, "%s: dtype %s, wanted a float dtype", name.c_str(),
              kit::name_of(value.dtype).c_str());
  }
}

}  // namespace

void convert(const at::Tensor& from, const at::Tensor& to) {
  const at::ScalarType type = to.scalar_type();
  const bool narrow = type == at::kHalf || type == at::kBFloat16;
  if (from.scalar_type() != at::kDouble || !narrow) {
    if (from.device() != to.device()) {  // the narrower of both types crosses
      const bool widens = from.element_size() < to.element_size();
      to.copy_(widens ? from.to(to.device()) : from.to(type));
    } else if (from.is_cpu() && to.dim() > 0) {
      copy_rows(from, to);
    } else {
      to.copy_(from);
    }
    return;
  }
  const at::Tensor values = from.cpu().contiguous();
  const at::Tensor rounded = at::empty(values.sizes(), at::TensorOptions(type));
  const auto* in = static_cast<const double*>(values.const_data_ptr());
  auto* out = static_cast<uint16_t*>(rounded.data_ptr());
  for (int64_t i = 0; i < values.numel(); ++i) {
    out[i] = type == at::kHalf ? kit::to_half(in[i]) : kit::to_bfloat(in[i]);
  }
  to.copy_(rounded);
}

Weights::Weights(Declared, std::vector<WeightSpec> specs, at::ScalarType dtype, at::Device device)
    : specs_(std::move(specs)),
      dtype_(dtype),
      device_(device),
      alias_pointers_(specs_.size()),
      generations_(specs_.size(), 0) {
  for (size_t i = 0; i < specs_.size(); ++i) {
    const WeightSpec& spec = specs_[i];
    indices_.emplace(spec.name, i);
    for (const std::string& alias : spec.aliases) {
      indices_.emplace(alias, i);
      alias_pointers_[i].push_back(alias.c_str());
    }
    const uint64_t elements =
        std::accumulate(spec.shape.begin(), spec.shape.end(), uint64_t{1},
                        [](uint64_t a, int64_t b) { return a * static_cast<uint64_t>(b); });
    infos_.push_back({sizeof(quench_parameter_info), spec.role, spec.name.c_str(),
                      static_cast<int32_t>(spec.shape.size()), spec.shape.data(), total_,
                      static_cast<uint32_t>(spec.aliases.size()), alias_pointers_[i].data()});
    total_ += elements;
  }
  by_block_ = comes_by_block(device, total_ * c10::elementSize(dtype));
}

at::Tensor Weights::allocate(size_t index) {
  const std::vector<int64_t>& shape = specs_[index].shape;
  if (const auto block = block_of(specs_[index].name); by_block_ && block) {
    const VisitingWeights::Made made = visiting_.make(*block, shape, dtype_, device_);
    tensors_.push_back(made.on_device);
    return homes_.emplace_back(made.home);
  }
  homes_.emplace_back();
  return tensors_.emplace_back(device_.is_cpu()
                                   ? kit::host_empty(shape, dtype_)
                                   : at::empty(shape, at::TensorOptions(dtype_).device(device_)));
}

Weights::Weights(std::vector<WeightSpec> specs, const kit::Source& source,
                 std::span<const std::string> ignorable, at::ScalarType dtype, at::Device device)
    : Weights(Declared(), std::move(specs), dtype, device) {
  const std::vector<uint64_t> places = take_inventory(source, specs_, indices_, ignorable);
  Arriving arriving(device);
  for (size_t i = 0; i < specs_.size(); ++i) {
    read_tensor(source, places[i], allocate(i), arriving);
  }
  arriving.finish();
}

Weights::Weights(std::vector<WeightSpec> specs, double range, at::ScalarType dtype,
                 at::Device device)
    : Weights(Declared(), std::move(specs), dtype, device) {
  for (size_t i = 0; i < specs_.size(); ++i) {
    draw(specs_[i], range, allocate(i));
  }
}

Weights::Weights(std::vector<WeightSpec> specs, at::ScalarType dtype, at::Device device)
    : Weights(Declared(), std::move(specs), dtype, device) {
  for (size_t i = 0; i < specs_.size(); ++i) {
    allocate(i);
  }
}

size_t Weights::index_of(const std::string& name) const {
  const auto found = indices_.find(name);
  if (found == indices_.end()) {
    kit::fail(QUENCH_NOT_FOUND, "no parameter has the name %.200s", name.c_str());
  }
  return found->second;
}

std::vector<size_t> Weights::of_block(std::optional<uint32_t> block) const {
  std::vector<size_t> found;
  for (size_t i = 0; i < specs_.size(); ++i) {
    if (block_of(specs_[i].name) == block) {
      found.push_back(i);
    }
  }
  return found;
}

const at::Tensor& Weights::home(size_t index) const {
  return homes_[index].defined() ? homes_[index] : tensors_[index];
}

void Weights::get(const std::string& name, const quench_tensor& destination) const {
  const at::Tensor& weight = home(index_of(name));
  check_value(name, destination, weight);
  convert(weight, kit::borrow(destination));
}

void Weights::set(const std::string& name, const quench_tensor& value) {
  const size_t index = index_of(name);
  check_value(name, value, home(index));
  if (homes_[index].defined()) {
    visiting_.settle();
  }
  convert(kit::borrow(value), home(index));
  if (homes_[index].defined()) {
    visiting_.refresh(tensors_[index], homes_[index]);
  }
  ++generations_[index];
}

void Weights::move_to(const at::Tensor& vector) {
  for (size_t i = 0; i < tensors_.size(); ++i) {
    const at::Tensor& weight = tensors_[i];
    const at::Tensor place =
        vector.narrow(0, static_cast<int64_t>(infos_[i].offset), weight.numel());
    place.copy_(weight.view({-1}));
    weight.storage().set_data_ptr(c10::DataPtr(place.data_ptr(), weight.device()));
  }
}

}  // namespace quench::decoder
