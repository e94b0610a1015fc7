#include "formats/compressed-tensors/compressed_config.hpp"

#include "formats/packed/known_members.hpp"
#include "formats/shared/failure.hpp"

namespace quench::formats {

namespace {

using nlohmann::json;

constexpr std::string_view kTypes = "the type of a tensor, which has it itself";
constexpr KnownMember kMembers[] = {
    {"config_groups", kRead},
    {"format", kRead},
    {"global_compression_ratio", kNotes},
    {"ignore", kTensors},
    {"kv_cache_scheme", kRead},
    {"quant_method", kRead},
    {"quantization_status", kNotes},
    {"sparsity_config", kRead},
    {"transform_config", kRead},
    {"version", kRead},
};
constexpr KnownMember kOfGroup[] = {
    {"format", kRead},     {"input_activations", kRead}, {"output_activations", kRead},
    {"targets", kTensors}, {"weights", kRead},
};
constexpr KnownMember kOfWeights[] = {
    {"actorder", kRead},
    {"block_structure", kRead},
    {"dynamic", "codes that are made while computing", true},
    {"group_size", kRead},
    {"num_bits", kRead},
    {"observer", kHow},
    {"observer_kwargs", kHow},
    {"scale_dtype", kTypes},
    {"strategy", kRead},
    {"symmetric", kRead},
    {"type", kRead},
    {"zp_dtype", kTypes},
};

std::string layout_names() {
  std::string out = kIntegerLayout;
  for (const FloatLayout& layout : kFloatLayouts) {
    out += ", " + std::string(layout.name);
  }
  return out;
}

// Null for integers.
const FloatLayout* layout_called(const std::string& name, const std::string& where) {
  const FloatLayout* layout = find_float_layout(name);
  if (layout == nullptr && name != kIntegerLayout) {
    fail(QUENCH_UNSUPPORTED, "{}: format = {}, read are {}", where, printable(name),
         layout_names());
  }
  return layout;
}

void check_weights_alone(const ConfigReader& reader) {
  for (const char* key : {"input_activations", "output_activations"}) {
    if (reader.find(key) != nullptr) {
      fail(QUENCH_UNSUPPORTED, "{}: {} are quantized too, read are weights alone", reader.where(),
           key);
    }
  }
}

Scheme read_integers(const ConfigReader& weights) {
  Scheme out;
  out.bits = weights.integer("num_bits");
  if (weights.text("type", "int") != "int" || out.bits < 2 || out.bits > 8) {
    fail(QUENCH_UNSUPPORTED, "{}: num_bits = {}, type = {}, read are integers of 2 to 8 bits",
         weights.where(), out.bits, printable(weights.text("type", "int")));
  }
  const std::string strategy = weights.text("strategy", "channel");
  if (strategy != "group" && strategy != "channel") {
    fail(QUENCH_UNSUPPORTED, "{}: strategy = {}, read are group and channel", weights.where(),
         printable(strategy));
  }
  if (!weights.empty("block_structure")) {
    fail(QUENCH_UNSUPPORTED, "{}: block_structure is set, and strategy = {}", weights.where(),
         strategy);
  }
  out.group_size = strategy == "group" ? weights.group_size() : -1;
  out.symmetric = weights.flag("symmetric", true);
  const json* order = weights.find("actorder");
  // The words that mean a stored order; "static" and "weight" leave the groups where they are.
  out.ordered = order != nullptr && (*order == "group" || *order == true);
  return out;
}

// Rows and columns of a block.
FloatScheme read_block(const FloatLayout& layout, const ConfigReader& weights) {
  const json* sides = weights.find("block_structure");
  const auto is_side = [](const json& side) {
    return side.is_number_integer() && side >= 1 && side <= kMaxPackedSide;
  };
  if (sides == nullptr || !sides->is_array() || sides->size() != 2 || !is_side(sides->at(0)) ||
      !is_side(sides->at(1))) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: block_structure is {}, wanted [rows, columns] of 1 to {}",
         weights.where(), sides == nullptr ? "missing" : printable(sides->dump(), 40),
         kMaxPackedSide);
  }
  return {&layout, sides->at(0).get<int64_t>(), sides->at(1).get<int64_t>()};
}

// Which weights share a scale. Without a strategy the group's size tells it, as in the package.
FloatScheme read_grouping(const FloatLayout& layout, const ConfigReader& weights) {
  const int64_t size = weights.group_size("group_size", -1);
  const char* implied = weights.find("group_size") == nullptr ? "tensor" : "channel";
  const std::string strategy = weights.text("strategy", size > 0 ? "group" : implied);
  if (strategy != "block" && !weights.empty("block_structure")) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: block_structure is set, and strategy = {}", weights.where(),
         printable(strategy));
  }
  if (layout.block > 0) {
    const char* wanted =
        layout.scale == number_formats::ScaleType::kTwoLevel ? "tensor_group" : "group";
    if (strategy != wanted || size != layout.block) {
      fail(QUENCH_UNSUPPORTED, "{}: strategy = {}, group_size = {}; {} has {} and {}",
           weights.where(), printable(strategy), size, layout.name, wanted, layout.block);
    }
    return {&layout, 1, size};
  }
  if (strategy == "group" && size > 0) {
    return {&layout, 1, size};
  }
  if (strategy == "channel") {
    return {&layout, 1, -1};
  }
  if (strategy == "tensor") {
    return {&layout, -1, -1};
  }
  if (strategy == "block") {
    return read_block(layout, weights);
  }
  fail(QUENCH_UNSUPPORTED,
       "{}: strategy = {}, group_size = {}; read are tensor, channel, group with a size, and block",
       weights.where(), printable(strategy), size);
}

CompressedConfig read_floats(const FloatLayout& layout, const ConfigReader& weights) {
  CompressedConfig out;
  out.scheme.bits = weights.integer("num_bits", 8);
  if (weights.text("type", "int") != "float" || out.scheme.bits != layout.bits()) {
    fail(QUENCH_UNSUPPORTED, "{}: num_bits = {}, type = {}; {} is read with floats of {} bits",
         weights.where(), out.scheme.bits, printable(weights.text("type", "int")), layout.name,
         layout.bits());
  }
  if (!weights.flag("symmetric", true)) {
    fail(QUENCH_UNSUPPORTED, "{}: symmetric = false; floats are read without zero points",
         weights.where());
  }
  const json* order = weights.find("actorder");
  if (order != nullptr && (*order == "group" || *order == true)) {
    fail(QUENCH_UNSUPPORTED, "{}: actorder = group; floats are read in groups of neighbours",
         weights.where());
  }
  out.floats = read_grouping(layout, weights);
  out.scheme.group_size = out.floats->columns;
  out.scheme.layout = layout.name;
  return out;
}

// `format` is that of the whole file, "" where it names none.
CompressedConfig read_group(const ConfigReader& group, const std::string& format) {
  check_weights_alone(group);
  const std::string own = group.text("format", format.empty() ? kIntegerLayout : format);
  const FloatLayout* layout = layout_called(own, group.where());
  if (!format.empty() && own != format) {
    fail(QUENCH_UNSUPPORTED, "{}: format = {}, and that of the whole file is {}", group.where(),
         own, format);
  }
  static const json kNone;
  const json* object = group.find("weights");
  const ConfigReader weights(object != nullptr ? *object : kNone, group.where() + ": weights");
  return layout != nullptr ? read_floats(*layout, weights)
                           : CompressedConfig{read_integers(weights), std::nullopt};
}

}  // namespace

CompressedConfig read_compressed_config(const ConfigReader& reader) {
  const std::string format = reader.text("format", "");
  if (!format.empty()) {
    layout_called(format, reader.where());
  }
  for (const char* key : {"sparsity_config", "transform_config", "kv_cache_scheme"}) {
    if (!reader.empty(key)) {
      fail(QUENCH_UNSUPPORTED, "{}: {} is set, which is not read", reader.where(), key);
    }
  }
  const json* groups = reader.find("config_groups");
  if (groups == nullptr || !groups->is_object() || groups->empty()) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: no config_groups", reader.where());
  }
  std::optional<CompressedConfig> out;
  for (const auto& [name, group] : groups->items()) {
    const CompressedConfig read =
        read_group(ConfigReader(group, reader.where() + ": " + printable(name)), format);
    if (out && *out != read) {
      fail(QUENCH_UNSUPPORTED, "{}: config_groups differ in their weights, read is one scheme",
           reader.where());
    }
    out = read;
  }
  const std::string version = reader.text("version", "");
  out->scheme.writer = "compressed-tensors" + (version.empty() ? "" : ":" + printable(version, 40));
  return *out;
}

std::string written_config(std::string_view layout, const json& weights,
                           const kit::FloatLinears& left) {
  std::vector<std::string> ignored = left.heads;
  ignored.insert(ignored.end(), left.linears.begin(), left.linears.end());
  json group = {{"targets", {"Linear"}},
                {"weights", weights},
                {"input_activations", nullptr},
                {"output_activations", nullptr}};
  if (layout != kIntegerLayout) {
    group["format"] = layout;
  }
  return json{{"quantization_config",
               {{"quant_method", "compressed-tensors"},
                {"format", layout},
                {"quantization_status", "compressed"},
                {"config_groups", {{"group_0", group}}},
                {"ignore", ignored}}}}
      .dump();
}

void tell_unknown_members(const FoundConfig& found) {
  UnknownMembers unknown(found.where);
  unknown.look(found.object, "", kMembers);
  for (const auto& [name, group] : found.object.at("config_groups").items()) {
    const std::string prefix = "config_groups." + printable(name) + ".";
    unknown.look(group, prefix, kOfGroup);
    unknown.look(group.value("weights", json()), prefix + "weights.", kOfWeights);
  }
  unknown.tell();
}

}  // namespace quench::formats
