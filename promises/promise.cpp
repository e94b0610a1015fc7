#include "promises/promise.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

#include "promises/candidate.hpp"
#include "promises/kinds.hpp"
#include "promises/loading_promises.hpp"
#include "promises/memory_source.hpp"
#include "quench/abi/parameter.h"

namespace quench::promises {

std::span<const Promise> promises_of(std::string_view kind) {
  using Get = std::span<const Promise> (*)();
  static const std::map<std::string_view, Get> kinds = {
      {"quantizer", quantizer_promises}, {"averaging", averaging_promises},
      {"corpus", corpus_promises},       {"format", format_promises},
      {"metric", metric_promises},       {"model", model_promises},
      {"optimizer", optimizer_promises}, {"tokenizer", tokenizer_promises},
      {"transform", transform_promises}};
  static const std::map<std::string_view, std::vector<Promise>> all = [] {
    std::map<std::string_view, std::vector<Promise>> out;
    for (const auto& [name, get] : kinds) {
      const std::span<const Promise> own = get();
      const std::span<const Promise> loading = loading_promises();
      std::vector<Promise>& promises = out[name];
      promises.assign(own.begin(), own.end());
      promises.insert(promises.end(), loading.begin(), loading.end());
    }
    return out;
  }();
  const auto found = all.find(kind);
  return found == all.end() ? std::span<const Promise>() : found->second;
}

Verdict try_promise(const Promise& promise, Candidate& candidate) {
  try {
    promise.keep(candidate);
    return {};
  } catch (const Skipped& skipped) {
    return {Outcome::kSkipped, skipped.what()};
  } catch (const std::exception& failure) {
    return {Outcome::kBroken, failure.what()};
  }
}

const Parameter* find_parameter(const Candidate& candidate, std::string_view name) {
  const std::vector<Parameter>& all = candidate.parameters();
  const auto found = std::find_if(
      all.begin(), all.end(), [&](const Parameter& parameter) { return parameter.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::string complete(const Candidate& candidate, const nlohmann::json& given) {
  const nlohmann::json set = candidate.settings();
  nlohmann::json out = nlohmann::json::object();
  std::string missing;
  for (const Parameter& parameter : candidate.parameters()) {
    if (given.contains(parameter.name)) {
      out[parameter.name] = given[parameter.name];
    } else if (set.contains(parameter.name)) {
      out[parameter.name] = set[parameter.name];
    } else if (!parameter.preset && parameter.type == QUENCH_PARAMETER_PATH &&
               !candidate.sample().empty()) {
      out[parameter.name] = candidate.sample().string();
    } else if (parameter.preset) {
      out[parameter.name] = *parameter.preset;
    } else {
      missing += (missing.empty() ? "" : ", ") + parameter.name;
    }
  }
  if (!missing.empty()) {
    throw Skipped("no value is known for its required " + missing);
  }
  return out.dump();
}

SmallModel small_model(const Candidate& candidate) {
  namespace fs = std::filesystem;
  if (std::optional<SmallModel> given = candidate.model()) {
    return *std::move(given);
  }
  const fs::path folder = candidate.sample();
  if (!fs::is_regular_file(folder / "config.json")) {
    throw Skipped("there is no checkpoint to open: name a small one with --checkpoint");
  }
  std::ostringstream config;
  config << std::ifstream(folder / "config.json").rdbuf();
  SmallModel out{config.str()};
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".safetensors") {
      continue;
    }
    MemorySource source;
    source.add_safetensors(entry.path());
    for (const std::string& name : source.names()) {
      out.tensors.push_back({name, source.shape(name), source.values(name)});
    }
  }
  return out;
}

}  // namespace quench::promises
