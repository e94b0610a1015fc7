#include "core/weights/export_weights.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/sharded_writer.hpp"
#include "core/checkpoint/side_files.hpp"
#include "core/error.hpp"
#include "core/io/atomic_file.hpp"
#include "core/json/parse_json.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWeight = ".weight";

std::string module_of(const std::string& weight) {
  return weight.ends_with(kWeight) ? weight.substr(0, weight.size() - kWeight.size()) : weight;
}

// The files' tensors, with those of stored linears in place of their float weights.
class StoredSource final : public TensorSource {
 public:
  StoredSource(std::shared_ptr<const TensorSource> base, std::vector<StoredLinear> linears)
      : TensorSource(base->description()), base_(std::move(base)), linears_(std::move(linears)) {
    std::set<std::string> replaced;
    for (const StoredLinear& linear : linears_) {
      replaced.insert(linear.name + std::string(kWeight));
    }
    for (uint64_t i = 0; i < base_->count(); ++i) {
      TensorInfo tensor = base_->info(i);
      // safetensors has no ties: a tied tensor is under its first name, as the hub's tools have it.
      if (!replaced.contains(tensor.name) && tensor.shared_with == i) {
        tensor.shared_with = count();
        places_.push_back({i, nullptr});
        add(std::move(tensor));
      }
    }
    for (const StoredLinear& linear : linears_) {
      for (const PackedTensor& tensor : linear.tensors) {
        places_.push_back({0, &tensor});
        add({tensor.name, tensor.dtype, tensor.shape, count()});
      }
    }
  }

 private:
  struct Place {
    uint64_t base;
    const PackedTensor* packed;  // or null
  };

  void read_elements(uint64_t index, uint64_t first, uint64_t elements,
                     void* destination) const override {
    const Place& place = places_[index];
    if (place.packed == nullptr) {
      base_->read(place.base, first, elements, destination);
      return;
    }
    const uint64_t size = dtype_size(place.packed->dtype);
    std::memcpy(destination, place.packed->bytes.data() + first * size, elements * size);
  }

  std::shared_ptr<const TensorSource> base_;
  std::vector<StoredLinear> linears_;
  std::vector<Place> places_;
};

std::vector<uint64_t> order_of_names(const TensorSource& source) {
  std::vector<uint64_t> order(source.count());
  std::iota(order.begin(), order.end(), uint64_t{0});
  std::sort(order.begin(), order.end(),
            [&](uint64_t a, uint64_t b) { return source.info(a).name < source.info(b).name; });
  return order;
}

// The output head under each of its names, unless it is quantized: readers that replace every
// linear must leave it alone.
std::vector<std::string> float_heads(ModelHandle& model, const std::set<std::string>& stored) {
  std::vector<std::string> names;
  for (const quench_parameter_info& parameter : model.parameters()) {
    if (parameter.role != QUENCH_ROLE_HEAD) {
      continue;
    }
    if (stored.contains(module_of(parameter.name))) {
      return {};
    }
    names.push_back(module_of(parameter.name));
    for (uint32_t i = 0; i < parameter.alias_count; ++i) {
      names.push_back(module_of(parameter.aliases[i]));
    }
  }
  return names.empty() ? std::vector<std::string>{"lm_head"} : names;  // tied to the embedding
}

template <typename Visit>
void for_each_linear(const ModelHandle& model, Visit visit) {
  for (uint32_t b = 0; b < model.info().blocks; ++b) {
    const quench_block_info& block = model.block(b);
    for (uint32_t g = 0; g < block.group_count; ++g) {
      for (uint32_t l = 0; l < block.groups[g].linear_count; ++l) {
        visit(block.groups[g].linears[l]);
      }
    }
  }
}

std::optional<int64_t> integer_of(const nlohmann::json& parameters, const char* name) {
  const auto found = parameters.find(name);
  return found != parameters.end() && found->is_number_integer()
             ? std::optional<int64_t>(found->get<int64_t>())
             : std::nullopt;
}

bool flag_of(const nlohmann::json& parameters, const char* name, bool otherwise) {
  const auto found = parameters.find(name);
  return found != parameters.end() && found->is_boolean() ? found->get<bool>() : otherwise;
}

nlohmann::json config_with(const CheckpointFolder& from, const nlohmann::json& quantization) {
  if (from.config_json.empty()) {
    return {{"quantization_config", quantization}};
  }
  nlohmann::json config = parse_json(from.config_json, (from.path / "config.json").string());
  config["quantization_config"] = quantization;
  return config;
}

}  // namespace

std::string export_fault(PackedFormat format, const nlohmann::json& parameters) {
  const std::optional<int64_t> bits = integer_of(parameters, "bits");
  const int64_t group_size = integer_of(parameters, "group_size").value_or(-1);
  const bool ordered = flag_of(parameters, "desc_act", false) &&
                       !flag_of(parameters, "static_groups", false) && group_size != -1;
  return bits ? scheme_fault(format, *bits, group_size, flag_of(parameters, "sym", true), ordered)
              : "";
}

std::string export_fault(PackedFormat format, const nlohmann::json& parameters,
                         const ModelHandle& model, const TensorSource* files) {
  const std::optional<int64_t> bits = integer_of(parameters, "bits");
  const int64_t group_size = integer_of(parameters, "group_size").value_or(-1);
  std::string fault;
  for_each_linear(model, [&](const quench_linear_info& linear) {
    if (!fault.empty()) {
      return;
    }
    if (files != nullptr && !files->find(module_of(linear.weight) + std::string(kWeight))) {
      fault = fmt::format("{}: the files have no tensor of this name", linear.weight);
    } else if (bits) {
      // A group longer than a row is the whole row.
      const int64_t size = group_size >= linear.in_features ? -1 : group_size;
      const std::string why =
          shape_fault(format, *bits, size, linear.out_features, linear.in_features);
      fault = why.empty() ? "" : fmt::format("{}: {}", module_of(linear.weight), why);
    }
  });
  return fault;
}

ExportedFolder export_weights(const CheckpointFolder& from, ModelHandle& model,
                              std::vector<StoredLinear> linears, SealedFolder& target,
                              const fs::path& tokenizer) {
  ExportedFolder out;
  out.scheme = common_scheme(linears);
  drop_unused(out.scheme, linears);
  std::set<std::string> stored;
  for (const StoredLinear& linear : linears) {
    if (!from.source->find(linear.name + std::string(kWeight))) {
      fail(QUENCH_UNSUPPORTED, "{}: the files have no tensor of this name", linear.name);
    }
    stored.insert(linear.name);
  }
  std::vector<std::string> left = float_heads(model, stored);
  const bool quantized_head = left.empty();
  // GPTQ files name only what their reader would quantize by itself: linears of blocks.
  if (out.scheme.format == PackedFormat::kGptq || out.scheme.format == PackedFormat::kGptqV2) {
    left.clear();
  }
  for_each_linear(model, [&](const quench_linear_info& linear) {
    if (!stored.contains(module_of(linear.weight))) {
      left.push_back(module_of(linear.weight));
    }
  });
  const nlohmann::json config =
      config_with(from, quantization_config_of(out.scheme, left, quantized_head));
  const StoredSource source(from.source, std::move(linears));
  const std::vector<uint64_t> order = order_of_names(source);
  ShardedWriter writer(target.temporary(), source, order, target.files());
  check_space(target.temporary(), writer.total_bytes());
  writer.write_all();
  writer.finish();
  out.bytes = writer.total_bytes();
  write_file_atomically(target.temporary() / "config.json", config.dump(2) + "\n", &target.files());
  if (out.scheme.format == PackedFormat::kGptq || out.scheme.format == PackedFormat::kGptqV2) {
    write_file_atomically(target.temporary() / "quantize_config.json",
                          config.at("quantization_config").dump(2) + "\n", &target.files());
  }
  copy_side_files(from.path, tokenizer, target.temporary(), target.files());
  return out;
}

nlohmann::json describe(const std::vector<StoredLinear>& linears) {
  uint64_t scales = 0;
  uint64_t rounded = 0;
  double largest = 0;
  for (const StoredLinear& linear : linears) {
    scales += linear.scales;
    rounded += linear.rounded_scales;
    largest = std::max(largest, linear.largest_change);
  }
  return {{"format", format_name(linears.front().scheme.format)},
          {"scales", scales},
          {"rounded_scales", rounded},
          {"largest_scale_change", largest}};
}

}  // namespace quench
