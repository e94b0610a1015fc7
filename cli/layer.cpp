// quench layer FILE: quantizes one linear layer by one or two methods, for authors of quantizers.
#include <fmt/format.h>

#include <cmath>

#include "cli/answer.hpp"
#include "cli/command.hpp"
#include "cli/standard_streams.hpp"
#include "core/base/json/canonical_json.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/safetensors.hpp"
#include "core/checkpoint/safetensors_writer.hpp"
#include "core/pass/judge.hpp"
#include "core/pass/quantize_model.hpp"
#include "run/manifest/resolve_items.hpp"

namespace quench {

namespace {

struct LayerOptions {
  std::string file;
  std::string quantizer;
  std::string against;
  std::string out;
};

// Tensor `name` as float64 if it is stored so, else as float32.
std::optional<HostTensor> read_matrix(const TensorSource& source, const std::string& name,
                                      const std::string& file) {
  const std::optional<uint64_t> index = source.find(name);
  if (!index) {
    return std::nullopt;
  }
  const TensorInfo& info = source.info(*index);
  if (info.shape.size() != 2) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: {} has shape {}, wanted two dimensions", file, name,
         shape_text(info.shape));
  }
  const bool wide = same_dtype(info.dtype, kFloat64);
  HostTensor out(wide ? kFloat64 : kFloat32, info.shape);
  if (wide) {
    source.read(*index, 0, out.elements(), out.bytes().data());
  } else {
    const std::vector<float> values = read_float32(source, *index);
    std::copy(values.begin(), values.end(), out.as<float>().begin());
  }
  if (const int64_t at = first_nonfinite(out); at >= 0) {
    fail(QUENCH_NUMERICAL, "{}: {}[{}, {}] is not finite", file, name, at / info.shape[1],
         at % info.shape[1]);
  }
  return out;
}

void write_result(const std::string& path, const LayerResult& layer, const nlohmann::json& about) {
  SafetensorsWriter writer(path, {{"quantizer", about.dump()}});
  for (const auto& [name, tensor] : layer.tensors) {
    writer.declare({name, tensor.dtype(), tensor.shape(), 0});
  }
  for (const auto& [name, tensor] : layer.tensors) {
    writer.write(tensor.bytes().data(), tensor.bytes().size());
  }
  writer.finish();
}

nlohmann::json describe(const QuantizerCell& cell, const LayerResult& layer) {
  nlohmann::json out = {{"quantizer", {{"id", cell.plugin->id}, {"params", cell.parameters}}}};
  out["relative_error"] =
      std::isnan(layer.relative_error) ? nlohmann::json() : json_number(layer.relative_error);
  for (const auto& [name, value] : layer.numbers) {
    out[name] = json_number(value);
  }
  for (const auto& [name, value] : layer.texts) {
    out[name] = value;
  }
  return out;
}

int quantize(const LayerOptions& options, Context& context) {
  context.apply_threads();
  Catalog& catalog = context.catalog();
  std::vector<QuantizerCell> cells;
  as_usage([&] {
    cells.push_back(resolve_quantizer(options.quantizer, catalog));
    if (!options.against.empty()) {
      cells.push_back(resolve_quantizer(options.against, catalog));
    }
    for (const QuantizerCell& cell : cells) {
      if (cell.transform) {
        fail(QUENCH_INVALID_ARGUMENT, "{}: a transform needs a whole model", cell.label);
      }
    }
  });
  const SafetensorsSource source(options.file);
  const std::optional<HostTensor> weight = read_matrix(source, "weight", options.file);
  if (!weight) {
    fail(QUENCH_NOT_FOUND, "{}: has no tensor `weight` [out, in]", options.file);
  }
  const std::optional<HostTensor> inputs = read_matrix(source, "inputs", options.file);
  if (inputs && inputs->shape()[1] != weight->shape()[1]) {
    fail(QUENCH_INVALID_ARGUMENT, "{}: inputs has {} columns, weight has {}", options.file,
         inputs->shape()[1], weight->shape()[1]);
  }
  nlohmann::json results = nlohmann::json::array();
  for (size_t i = 0; i < cells.size(); ++i) {
    QuantizerHandle quantizer(catalog, *cells[i].plugin, cells[i].parameters);
    if (!inputs && (quantizer.needs() & QUENCH_NEEDS_ROWS) != 0) {
      fail(QUENCH_INVALID_ARGUMENT, "{}: has no tensor `inputs` [N, in], which quantizer {} needs",
           options.file, quantizer.id());
    }
    std::optional<QuantizerHandle> judge;
    if (inputs && !quantizer.has_gram()) {
      if (std::optional<QuantizerHandle> found = find_judge(catalog)) {
        judge.emplace(std::move(*found));
      }
    }
    const LayerResult layer =
        quantize_layer(quantizer, judge ? &*judge : nullptr, *weight, inputs ? &*inputs : nullptr);
    const nlohmann::json about = describe(cells[i], layer);
    if (i == 0 && !options.out.empty()) {
      write_result(options.out, layer, about["quantizer"]);
    }
    results.push_back(about);
  }
  if (answers()) {
    answer({{"file", options.file}, {"results", results}});
    return kExitOk;
  }
  for (size_t i = 0; i < cells.size(); ++i) {
    fmt::print(quench::results(), "{:<40} relative error {}\n", cells[i].label,
               results[i]["relative_error"].dump());
  }
  return kExitOk;
}

}  // namespace

void add_layer(Verb& verb, Context& context) {
  auto options = std::make_shared<LayerOptions>();
  verb.examples({"quench layer layer.safetensors --quantizer gptq:bits=3 --against rtn:bits=3"});
  verb.option("file", options->file, "`weight` [out,in] and, for most methods, `inputs` [N,in]")
      .required();
  verb.option("--quantizer", options->quantizer, "id[:key=value,...]")
      .placeholder("SPEC")
      .required();
  verb.option("--against", options->against, "A second quantizer for comparison")
      .placeholder("SPEC");
  verb.option("-o,--out", options->out,
              "Write codes, scales, zeros, perm and dequantized weight to this file")
      .placeholder("FILE");
  verb.json("Print figures as JSON");
  add_plugin_options(verb, context);
  add_thread_option(verb, context);
  verb.does([&context, options] { return quantize(*options, context); });
}

}  // namespace quench
