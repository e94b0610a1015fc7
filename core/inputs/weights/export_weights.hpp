// A quantized model as a folder that other tools load.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/checkpoint/checkpoint_folder.hpp"
#include "core/inputs/experiment/experiment.hpp"
#include "core/plugin/handles/format_writer.hpp"
#include "core/plugin/handles/model_handle.hpp"
#include "core/store/sealed_folder.hpp"

namespace quench {

// "x.weight" -> "x": files name tensors, and the parts of a linear are named beside its bias.
std::string module_of(const std::string& weight);

// Why a quantizer with these parameters has no results that `format` holds, or "". Read are the
// parameters `bits`, `group_size`, `sym`, `desc_act` and `static_groups`, where the quantizer has
// some of these names: what they say is known before any work; what comes out is checked again.
std::string export_fault(const FormatHandle& format, const nlohmann::json& parameters);

// Why the model's linears cannot be stored so, or "", naming one: its shape, or that the files have
// no tensor of its name. `group_size` is that of the parameters. `files`: nullptr where they are to
// be written by the family itself, under its own names.
std::string export_fault(const FormatHandle& format, const nlohmann::json& parameters,
                         const ModelHandle& model, const TensorSource* files);

struct ExportedFolder {
  uint64_t bytes = 0;     // of weights
  nlohmann::json scheme;  // {"format": id, "bits": ...}
};

// Fills `target`, which the caller publishes: weights as safetensors, the tensors of `stored` in
// place of its linears' float weights and all else as in `from`; config.json with what the format
// adds, its further files, and the tokenizer's. Finishes `stored`, and reads back what it wrote.
// Throws Error: UNSUPPORTED for linears that differ where the format has one scheme,
// RESOURCE_EXHAUSTED when it does not fit, INTERNAL where reading does not give the weights that
// were measured.
ExportedFolder export_weights(Catalog& catalog, const CheckpointFolder& from, ModelHandle& model,
                              FormatWriter& stored, SealedFolder& target,
                              const std::filesystem::path& tokenizer = {});

}  // namespace quench
