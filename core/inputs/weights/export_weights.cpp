#include "core/inputs/weights/export_weights.hpp"

#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "core/base/io/atomic_file.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/checkpoint/content_hash.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/sharded_writer.hpp"
#include "core/checkpoint/side_files.hpp"
#include "core/error.hpp"
#include "core/inputs/weights/open_checkpoint_folder.hpp"
#include "core/plugin/services/host_services.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWeight = ".weight";

// The files' tensors, with those of stored linears in place of their float weights.
class StoredSource final : public TensorSource {
 public:
  StoredSource(std::shared_ptr<const TensorSource> base, const FormatWriter& stored)
      : TensorSource(base->description()), base_(std::move(base)) {
    for (uint64_t i = 0; i < base_->count(); ++i) {
      TensorInfo tensor = base_->info(i);
      // safetensors has no ties: a tied tensor is under its first name, as the hub's tools have it.
      const bool replaced =
          tensor.name.ends_with(kWeight) && stored.linears().contains(module_of(tensor.name));
      if (!replaced && tensor.shared_with == i) {
        tensor.shared_with = count();
        origins_.push_back({i, nullptr});
        add(std::move(tensor));
      }
    }
    for (const auto& [name, tensor] : stored.tensors()) {
      origins_.push_back({0, &tensor});
      add({name, tensor.dtype, tensor.shape, count()});
    }
  }

 private:
  struct Origin {
    uint64_t base;
    const StoredTensor* stored;  // or null
  };

  void read_elements(uint64_t index, uint64_t first, uint64_t elements,
                     void* destination) const override {
    const Origin& origin = origins_[index];
    if (origin.stored == nullptr) {
      base_->read(origin.base, first, elements, destination);
      return;
    }
    const uint64_t size = dtype_size(origin.stored->dtype);
    std::memcpy(destination, origin.stored->bytes.data() + first * size, elements * size);
  }

  std::shared_ptr<const TensorSource> base_;
  std::vector<Origin> origins_;
};

// The output head under each of its names, unless it is quantized: readers that replace every
// linear must leave it alone.
std::vector<std::string> float_heads(ModelHandle& model,
                                     const std::map<std::string, uint64_t>& stored) {
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

nlohmann::json config_with(const CheckpointFolder& from, const nlohmann::json& members) {
  nlohmann::json config = from.config_json.empty()
                              ? nlohmann::json::object()
                              : parse_json(from.config_json, (from.path / "config.json").string());
  config.update(members);
  return config;
}

// What parameters say of the codes; bits 0 where they say nothing, as of a number format, in whose
// place `bits` and `group_size` may stand at their defaults.
quench_code_scheme scheme_of(const nlohmann::json& parameters) {
  const auto format = parameters.find("format");
  if (format != parameters.end() && format->is_string()) {
    return {sizeof(quench_code_scheme), 1, 0, 0, -1};
  }
  const int64_t group_size = integer_of(parameters, "group_size").value_or(-1);
  const bool ordered = flag_of(parameters, "desc_act", false) &&
                       !flag_of(parameters, "static_groups", false) && group_size != -1;
  return {sizeof(quench_code_scheme), flag_of(parameters, "sym", true) ? 1 : 0, ordered ? 1 : 0,
          integer_of(parameters, "bits").value_or(0), group_size};
}

// What reading the folder gives is, bit for bit, what was measured.
void require_read_back(Catalog& catalog, const fs::path& folder, const FormatWriter& stored) {
  if (!stored.reads()) {
    HostServices::instance().log(
        QUENCH_LOG_WARNING, "",
        fmt::format("format {} only writes: what it wrote was not read back", stored.id()));
    return;
  }
  const CheckpointFolder back = open_checkpoint_folder(catalog, folder);
  for (const auto& [linear, checksum] : stored.linears()) {
    const auto index = back.source->find(linear + std::string(kWeight));
    if (!index || checksum_of(read_float32(*back.source, *index)) != checksum) {
      fail(QUENCH_INTERNAL, "format {}: {}: reading what it wrote gives {}", stored.id(), linear,
           index ? "another weight than the one that it said and that was measured"
                 : "no weight of this name");
    }
  }
}

}  // namespace

std::string module_of(const std::string& weight) {
  return weight.ends_with(kWeight) ? weight.substr(0, weight.size() - kWeight.size()) : weight;
}

std::string export_fault(const FormatHandle& format, const nlohmann::json& parameters) {
  if (!format.writes()) {
    return fmt::format("format {} is only read", format.id());
  }
  return format.fault(scheme_of(parameters));
}

std::string export_fault(const FormatHandle& format, const nlohmann::json& parameters,
                         const ModelHandle& model, const TensorSource* files) {
  const quench_code_scheme scheme = scheme_of(parameters);
  std::string fault;
  for_each_linear(model, [&](const quench_linear_info& linear) {
    if (!fault.empty()) {
      return;
    }
    if (files != nullptr && !files->find(module_of(linear.weight) + std::string(kWeight))) {
      fault = fmt::format("{}: the files have no tensor of this name", linear.weight);
    } else {
      quench_code_scheme own = scheme;
      if (own.group_size >= linear.in_features) {  // a group longer than a row is the whole row
        own.group_size = -1;
        own.ordered = 0;
      }
      const std::string why = format.fault(own, linear.out_features, linear.in_features);
      fault = why.empty() ? "" : fmt::format("{}: {}", module_of(linear.weight), why);
    }
  });
  return fault;
}

ExportedFolder export_weights(Catalog& catalog, const CheckpointFolder& from, ModelHandle& model,
                              FormatWriter& stored, SealedFolder& target,
                              const fs::path& tokenizer) {
  for (const auto& [linear, checksum] : stored.linears()) {
    if (!from.source->find(linear + std::string(kWeight))) {
      fail(QUENCH_UNSUPPORTED, "{}: the files have no tensor of this name", linear);
    }
  }
  std::vector<std::string> left;
  for_each_linear(model, [&](const quench_linear_info& linear) {
    if (!stored.linears().contains(module_of(linear.weight))) {
      left.push_back(module_of(linear.weight));
    }
  });
  const FormatFinish rest = stored.finish(left, float_heads(model, stored.linears()));
  ExportedFolder out;
  out.scheme = rest.quantization.is_null() ? nlohmann::json::object() : rest.quantization;
  out.scheme["format"] = stored.id();
  const nlohmann::json config = config_with(from, rest.config);
  const StoredSource source(from.source, stored);
  const std::vector<uint64_t> order = name_order(source);
  ShardedWriter writer(target.temporary(), source, order, target.files());
  check_space(target.temporary(), writer.total_bytes());
  writer.write_all();
  writer.finish();
  out.bytes = writer.total_bytes();
  write_file_atomically(target.temporary() / "config.json", config.dump(2) + "\n", &target.files());
  for (const auto& [name, bytes] : rest.files) {
    write_file_atomically(target.temporary() / name, bytes, &target.files());
  }
  copy_side_files(from, tokenizer, target.temporary(), target.files());
  require_read_back(catalog, target.temporary(), stored);
  return out;
}

}  // namespace quench
