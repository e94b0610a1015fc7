#include "core/inputs/experiment/experiment.hpp"

#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"
#include "core/parse_number.hpp"

namespace quench {

namespace {

const std::vector<std::pair<std::string, quench_dtype>> kDtypes = {
    {"float32", kFloat32},   {"fp32", kFloat32},  {"float64", kFloat64}, {"fp64", kFloat64},
    {"bfloat16", kBFloat16}, {"bf16", kBFloat16}, {"float16", kFloat16}, {"fp16", kFloat16}};

}  // namespace

const std::vector<std::string>& dtype_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    names.reserve(std::size(kDtypes));
    for (const auto& [name, dtype] : kDtypes) {
      names.push_back(name);
    }
    return names;
  }();
  return kNames;
}

const CheckpointCell& files_cell(const Experiment& experiment, const WeightsCell& weights) {
  return weights.live ? *weights.live : experiment.checkpoints[weights.checkpoint];
}

MemberCells files_of(const Experiment& experiment, const WeightsCell& weights) {
  MemberCells out;
  for (const size_t member : weights.members) {
    out.push_back(&experiment.checkpoints[member]);
  }
  if (out.empty()) {
    out.push_back(&files_cell(experiment, weights));
  }
  return out;
}

std::vector<size_t> branch_until(const Experiment& experiment, size_t last) {
  std::vector<size_t> out;
  for (size_t i = 0; i <= last; ++i) {
    if (experiment.checkpoints[i].branch == experiment.checkpoints[last].branch) {
      out.push_back(i);
    }
  }
  return out;
}

std::string absence_of(const Experiment& experiment, const CorpusUse& use) {
  for (const nlohmann::json& value : use.parameters) {
    const auto found = value.is_string()
                           ? experiment.absent.find(value.get_ref<const std::string&>())
                           : experiment.absent.end();
    if (found != experiment.absent.end()) {
      return found->second;
    }
  }
  return "";
}

quench_dtype parse_dtype(const std::string& text) {
  for (const auto& [name, dtype] : kDtypes) {
    if (name == text) {
      return dtype;
    }
  }
  fail(QUENCH_INVALID_ARGUMENT,
       "`dtype`: got \"{}\", wanted one of float32, float64, bfloat16, float16", printable(text));
}

std::string dtype_text(quench_dtype dtype) {
  return fmt::format("{}float{}", dtype.code == QUENCH_DTYPE_BFLOAT ? "b" : "", dtype.bits);
}

quench_device parse_device(const std::string& text) {
  if (text == "cpu") {
    return {QUENCH_DEVICE_CPU, 0};
  }
  if (text == "cuda") {
    return {QUENCH_DEVICE_CUDA, 0};
  }
  constexpr std::string_view kPrefix = "cuda:";
  if (text.starts_with(kPrefix)) {
    const auto index = parse_number<int32_t>(std::string_view(text).substr(kPrefix.size()));
    if (index && *index >= 0) {
      return {QUENCH_DEVICE_CUDA, *index};
    }
  }
  fail(QUENCH_INVALID_ARGUMENT, "`device`: got \"{}\", wanted cpu, cuda or cuda:N",
       printable(text));
}

std::string device_text(quench_device device) {
  return device.type == QUENCH_DEVICE_CPU ? "cpu" : fmt::format("cuda:{}", device.index);
}

namespace {

constexpr size_t kMaxName = 4096;  // bytes of a path or revision in a record

template <typename T>
nlohmann::json or_null(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

nlohmann::json or_null(const std::string& text) {
  return text.empty() ? nlohmann::json(nullptr) : nlohmann::json(text);
}

}  // namespace

nlohmann::json describe_checkpoint(const Experiment& experiment, const CheckpointCell& cell,
                                   const std::string& commit) {
  std::string parent;
  std::string mark;
  for (const Branch& branch : experiment.branches) {
    if (branch.name == cell.branch) {
      parent = branch.parent;
      mark = branch.mark;
    }
  }
  return {{"model", printable(cell.model, kMaxName)},
          {"revision", or_null(printable(cell.revision, kMaxName))},
          {"commit", or_null(commit)},
          {"branch", or_null(cell.branch)},
          {"parent", or_null(parent)},
          {"mark", or_null(mark)},
          {"step", or_null(cell.step)},
          {"tokens", or_null(cell.tokens)},
          {"lr", or_null(cell.learning_rate)},
          {"phase", or_null(cell.phase)}};
}

nlohmann::json describe_averaging(const Experiment& experiment, const WeightsCell& weights) {
  if (!weights.averaging) {
    return nullptr;
  }
  const AveragingCell& cell = experiment.averagings[*weights.averaging];
  nlohmann::json members = nlohmann::json::array();
  for (const size_t member : weights.members) {
    const CheckpointCell& checkpoint = experiment.checkpoints[member];
    members.push_back(
        printable(checkpoint.revision.empty() ? checkpoint.model : checkpoint.revision, kMaxName));
  }
  for (const std::string& member : weights.live_members) {
    members.push_back(member);
  }
  return {{"id", cell.plugin->id},           {"params", cell.parameters},     {"label", cell.label},
          {"version", cell.plugin->version}, {"sha256", cell.plugin->sha256}, {"members", members}};
}

}  // namespace quench
