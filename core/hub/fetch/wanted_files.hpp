// Which files of a repository quench reads.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/hub/hub_file.hpp"
#include "core/hub/hub_spec.hpp"

namespace quench {

enum class Purpose {
  kModel,      // weights, config, tokenizer
  kTokenizer,  // config and tokenizer
  kAll,        // every file: a data set
};

// A spec that names a file wants that file, or the folder of that name; of a model also what stands
// beside the weights. Otherwise, of weights the first kind that is there: model.safetensors, its
// shards, pytorch_model.bin, its shards, files of a training loop (.pth, .pt), a single .gguf: what
// a folder is opened by, in the same order. `content` gets a small file's content: that of an
// index, which names the shards. Throws Error(NOT_FOUND), which says what there is.
std::vector<HubFile> wanted_files(const HubSpec& spec, Purpose purpose,
                                  const std::vector<HubFile>& all,
                                  const std::function<std::string(const HubFile&)>& content);

}  // namespace quench
