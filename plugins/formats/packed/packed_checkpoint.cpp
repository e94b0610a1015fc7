#include "formats/packed/packed_checkpoint.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "formats/shared/failure.hpp"
#include "formats/shared/tensor_info.hpp"
#include "quench/kit/host.hpp"

namespace quench::formats {

namespace {

constexpr int64_t kRunElements = int64_t{2} << 20;

int64_t rows_of_a_run(const PackedLinear& linear) {
  const int64_t step = linear.row_step();
  const int64_t rows = kRunElements / linear.in_features() / step * step;
  return std::clamp(rows, step, std::max(step, linear.out_features()));
}

}  // namespace

PackedCheckpoint::PackedCheckpoint(const kit::Place& place, PackedLayout layout,
                                   const Scheme& scheme)
    : files_(std::make_shared<const TensorFiles>(place)), layout_(std::move(layout)) {
  const std::vector<std::string_view>& endings = layout_.endings;
  const std::string mark(endings.front());
  const auto module_of = [&](const std::string& name) -> std::string {
    for (const std::string_view ending : endings) {
      const std::string module =
          name.ends_with(ending) ? name.substr(0, name.size() - ending.size()) : "";
      if (!module.empty() && files_->find(module + mark)) {
        return module;
      }
    }
    return "";
  };
  std::map<uint64_t, uint64_t> first_of;  // tied tensors keep their ties
  for (uint64_t i = 0; i < files_->count(); ++i) {
    TensorInfo tensor = files_->info(i);
    if (const std::string module = module_of(tensor.name); !module.empty()) {
      if (tensor.name == module + mark) {
        add_linear(module);
      }
      continue;
    }
    check_stray(tensor.name);
    if (same_dtype(tensor.dtype, kFloat8E4M3)) {
      fail(QUENCH_DATA_LOSS, "{}: tensor '{}' is F8_E4M3, and no scale stands beside it",
           files_->description(), printable(tensor.name));
    }
    tensor.shared_with = first_of.emplace(tensor.shared_with, tensors().size()).first->second;
    origins_.push_back({nullptr, i});
    add(std::move(tensor));
  }
  if (linear_count_ == 0) {
    fail(QUENCH_DATA_LOSS, "{}: config.json says {}, and no tensor ends in {}",
         files_->description(), layout_.format, mark);
  }
  tell_order(scheme);
  set_quantization(scheme_json(scheme));
}

// Loaders differ: some go by the config, and read such weights wrong.
void PackedCheckpoint::tell_order(const Scheme& scheme) const {
  uint64_t count = 0;
  std::string first;
  for (uint64_t i = 0; i < origins_.size(); ++i) {
    if (origins_[i].linear != nullptr && !origins_[i].linear->groups_in_order()) {
      first = count++ == 0 ? tensors()[i].name : first;
    }
  }
  if (count > 0 && !scheme.ordered) {
    kit::log(QUENCH_LOG_WARNING,
             fmt::format("{}: the config says that groups are neighbouring columns, and the stored "
                         "groups of {} weights are not ({}); the stored ones are taken",
                         files_->description(), count, printable(first)));
  }
}

void PackedCheckpoint::add_linear(const std::string& module) {
  std::unique_ptr<PackedLinear> linear = layout_.open(PackedParts(files_, module));
  add({module + ".weight",
       kFloat32,
       {linear->out_features(), linear->in_features()},
       tensors().size()});
  origins_.push_back({std::move(linear), 0});
  ++linear_count_;
}

void PackedCheckpoint::check_stray(const std::string& name) const {
  for (const std::string_view ending : layout_.endings) {
    if (ending != ".weight" && name.ends_with(ending)) {
      fail(QUENCH_DATA_LOSS, "{}: tensor '{}' is there without '{}'", files_->description(),
           printable(name),
           printable(name.substr(0, name.size() - ending.size()) +
                     std::string(layout_.endings.front())));
    }
  }
}

void PackedCheckpoint::read_elements(uint64_t index, uint64_t first, uint64_t elements,
                                     void* destination) const {
  const Origin& origin = origins_[index];
  if (origin.linear == nullptr) {
    files_->read(origin.file, first, elements, destination);
    return;
  }
  const PackedLinear& linear = *origin.linear;
  const auto width = static_cast<uint64_t>(linear.in_features());
  const int64_t run_rows = rows_of_a_run(linear);
  auto* to = static_cast<char*>(destination);
  const std::lock_guard lock(mutex_);
  for (uint64_t at = first; at < first + elements;) {
    const auto row = static_cast<int64_t>(at / width);
    const int64_t begin = row / run_rows * run_rows;
    const int64_t rows = std::min(run_rows, linear.out_features() - begin);
    if (run_.rows == 0 || run_.index != index || run_.first != begin) {
      run_.rows = 0;  // nothing, should the read fail
      run_.values.resize(static_cast<uint64_t>(rows) * width);
      linear.dequantize(begin, rows, run_.values.data());
      run_.index = index;
      run_.first = begin;
      run_.rows = rows;
    }
    const uint64_t offset = at - static_cast<uint64_t>(begin) * width;
    const uint64_t take = std::min(first + elements - at, run_.values.size() - offset);
    std::memcpy(to, run_.values.data() + offset, take * sizeof(float));
    to += take * sizeof(float);
    at += take;
  }
}

}  // namespace quench::formats
