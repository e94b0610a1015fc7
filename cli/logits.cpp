// quench logits MODEL --ids 1,2,3 -o FILE: what a checkpoint says after each of some token ids, for
// comparison with other programs.
#include <fmt/format.h>

#include <algorithm>

#include "cli/answer.hpp"
#include "cli/command.hpp"
#include "cli/standard_streams.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/checkpoint/host_tensor.hpp"
#include "core/checkpoint/safetensors_writer.hpp"
#include "core/inputs/weights/open_checkpoint.hpp"
#include "core/parse_number.hpp"
#include "core/parse_text.hpp"
#include "core/pass/activation_stream.hpp"
#include "run/manifest/branches.hpp"
#include "run/manifest/single_checkpoint.hpp"

namespace quench {

namespace {

struct LogitsOptions {
  std::string model;
  std::string ids;
  std::string out;
  std::string dtype = "float32";
  std::string device = "cpu";
};

// The numbers of "1,2,3".
std::vector<int32_t> parse_ids(const std::string& text) {
  std::vector<int32_t> ids;
  for (const std::string_view word : split(text, ',')) {
    const std::optional<int32_t> id = parse_number<int32_t>(std::string(word));
    if (!id || *id < 0) {
      fail(QUENCH_INVALID_ARGUMENT,
           "--ids: got `{}` as id {}, wanted token ids with commas between them, such as 1,2,3",
           printable(word, 40), ids.size() + 1);
    }
    ids.push_back(*id);
  }
  return ids;
}

void check_length(const ModelHandle& model, size_t ids) {
  const int64_t longest = model.info().max_positions;
  if (static_cast<int64_t>(ids) > longest) {
    fail(QUENCH_INVALID_ARGUMENT, "--ids: got {} ids, wanted at most {}, the positions of model {}",
         ids, longest, model.id());
  }
}

// Writes the logits a few rows at a time, because those of a large vocabulary take more memory than
// the model.
void write_logits(ModelHandle& model, const std::vector<int32_t>& ids, const LogitsOptions& to) {
  constexpr uint64_t kRows = 256;
  ActivationStream stream(model, ids, std::vector<uint64_t>{0, ids.size()});
  stream.forward(0);
  const quench_tensor h = stream.carried(0)[0];
  const quench_dtype dtype = model.info().dtype;
  const int64_t vocabulary = model.info().vocabulary;
  SafetensorsWriter writer(to.out, {{"model", to.model}, {"family", model.id()}});
  writer.declare({"ids", kInt32, {h.shape[0]}, 0});
  writer.declare({"logits", dtype, {h.shape[0], vocabulary}, 0});
  writer.write(ids.data(), ids.size() * sizeof(int32_t));
  for (uint64_t first = 0; first < ids.size(); first += kRows) {
    std::vector<uint64_t> places;
    for (uint64_t at = first; at < std::min<uint64_t>(first + kRows, ids.size()); ++at) {
      places.push_back(at);
    }
    const std::vector<int64_t> shape = {static_cast<int64_t>(places.size()), vocabulary};
    const DeviceTensor rows = rows_at(model, h, places, 1);
    const DeviceTensor logits(model, dtype, shape);
    model.logits(rows.view(), logits.view());
    const HostTensor read = on_host(model, logits.view());
    writer.write(read.bytes().data(), read.bytes().size());
  }
  writer.finish();
}

int logits(const LogitsOptions& options, Context& context) {
  context.apply_threads();
  const std::vector<int32_t> ids = as_usage([&] { return parse_ids(options.ids); });
  const CheckpointCell cell = single_checkpoint(options.model);
  HubClaim claim;
  claim.set(hub_commits({cell}, context));
  OpenCheckpoint opened = as_usage([&] {
    const quench_device device = parse_device(options.device);
    context.catalog().compute_on(device);
    OpenCheckpoint checkpoint =
        open_checkpoint(context.catalog(), cell, context.hub(), parse_dtype(options.dtype), device);
    check_length(checkpoint.model, ids.size());
    return checkpoint;
  });
  as_usage([&] { write_logits(opened.model, ids, options); });
  const quench_model_info info = opened.model.info();
  if (answers()) {
    answer({{"model", options.model},
            {"file", options.out},
            {"family", opened.model.id()},
            {"dtype", dtype_name(info.dtype)},
            {"shape", {ids.size(), info.vocabulary}}});
  } else {
    fmt::print(results(), "{}: logits of {}, {} [{}, {}]\n", options.out, opened.model.id(),
               dtype_name(info.dtype), ids.size(), info.vocabulary);
  }
  return kExitOk;
}

}  // namespace

void add_logits(Verb& verb, Context& context) {
  auto options = std::make_shared<LogitsOptions>();
  verb.examples({"quench logits model --ids 1,2,3 -o logits.safetensors"});
  verb.option("model", options->model, "Folder, file, or hf://org/name[@revision]").required();
  verb.option("--ids", options->ids, "Token ids of one text, with commas between them")
      .placeholder("1,2,3")
      .required();
  verb.option("-o,--out", options->out,
              "Safetensors file to write: `ids` [N] and `logits` [N,vocabulary]")
      .placeholder("FILE")
      .required();
  verb.option("--dtype", options->dtype, "float32, float64, bfloat16, float16");
  verb.option("--device", options->device, "cpu, cuda or cuda:N");
  verb.json("Print what was written as JSON");
  add_plugin_options(verb, context);
  add_thread_option(verb, context);
  verb.does([&context, options] { return logits(*options, context); });
}

}  // namespace quench
