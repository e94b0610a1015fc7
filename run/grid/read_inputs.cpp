#include "run/grid/read_inputs.hpp"

#include <algorithm>
#include <system_error>

#include "core/base/io/look.hpp"
#include "core/base/io/sha256.hpp"
#include "core/base/json/canonical_json.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/plugin/calls/table_call.hpp"
#include "quench/abi/kind/corpus.h"
#include "quench/abi/parameter.h"

namespace quench {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr const char* kRead = "read";

fs::path real_path(const fs::path& path) {
  std::error_code error;
  return fs::weakly_canonical(path, error);
}

bool lies_at(const fs::path& file, const fs::path& place) {
  const fs::path real = real_path(place);
  return std::mismatch(real.begin(), real.end(), file.begin(), file.end()).first == real.end();
}

InputReader reader_of(const ForeignUse& use) {
  return {use.plugin->module_id, plugin_label(*use.plugin),
          use.parameters.is_null() ? "" : use.parameters.dump()};
}

// Whether the key has its content anyway.
bool is_handed(const ForeignUse& use, const std::string& file) {
  const std::vector<fs::path> named = named_paths(*use.plugin, use.parameters);
  return use.plugin->declared.contains(file) ||
         std::any_of(named.begin(), named.end(),
                     [&](const fs::path& place) { return real_path(place) == file; }) ||
         std::any_of(use.handed.begin(), use.handed.end(),
                     [&](const fs::path& place) { return lies_at(file, place); });
}

// Takes every member `read` out of the parts: by its place.
json take_reads(json& parts) {
  json out = json::object();
  const std::function<void(json&, const json::json_pointer&)> visit =
      [&](json& at, const json::json_pointer& where) {
        if (!at.is_structured()) {
          return;
        }
        if (at.is_object() && at.contains("id") && at.contains(kRead)) {
          out[where.to_string()] = std::move(at[kRead]);
          at.erase(kRead);
        }
        for (auto& [name, member] : at.items()) {
          if (name != "params") {
            visit(member, where / name);
          }
        }
      };
  visit(parts, json::json_pointer());
  return out;
}

std::string key_of(const json& parts) {
  return sha256_hex(canonical_json(parts));
}

json question(const std::string& key) {
  return {{"read by", key}};
}

}  // namespace

std::vector<fs::path> named_paths(const PluginDescription& plugin, const json& parameters) {
  std::vector<fs::path> out;
  for (const ParameterSchema& schema : plugin.parameters) {
    const auto value = parameters.find(schema.name);
    if (schema.type == QUENCH_PARAMETER_PATH && value != parameters.end() && value->is_string() &&
        !value->get_ref<const std::string&>().empty()) {
      out.emplace_back(value->get<std::string>());
    }
  }
  return out;
}

json with_reads(json parts, const std::vector<ForeignUse>& uses) {
  take_reads(parts);
  for (const ForeignUse& use : uses) {
    const ReadInputs found = OpenedInputs::instance().of(reader_of(use));
    json read = json::object();
    for (const auto& [file, sha256] : found.files) {
      if (!is_handed(use, file)) {
        read["files"][file] = sha256;
      }
    }
    for (const auto& [name, sha256] : found.variables) {
      read["variables"][name] = sha256;
    }
    if (!read.empty() && parts.contains(use.where) && parts[use.where].is_object()) {
      parts[use.where][kRead] = std::move(read);
    }
  }
  return parts;
}

const PluginDescription* unchecked_use(const std::vector<ForeignUse>& uses) {
  for (const ForeignUse& use : uses) {
    const InputReader reader = reader_of(use);
    if (use.plugin->kind == QUENCH_KIND_CORPUS) {
      if (OpenedInputs::instance().is_unchecked(reader)) {
        return use.plugin;
      }
      continue;
    }
    // The rest was named to the host, which compared it (metric_records.hpp).
    std::vector<fs::path> named = named_paths(*use.plugin, use.parameters);
    std::erase_if(named, [&](const fs::path& place) {
      return std::any_of(use.handed.begin(), use.handed.end(),
                         [&](const fs::path& handed) { return lies_at(real_path(handed), place); });
    });
    if (!OpenedInputs::instance().has_opened(reader, named)) {
      return use.plugin;
    }
  }
  return nullptr;
}

void ReadMemory::learn(const json& parts) {
  if (!parts.is_object()) {
    return;
  }
  json base = parts;
  const json reads = take_reads(base);
  const std::string key = key_of(base);
  if (reads.empty()) {
    return;
  }
  const std::string text = canonical_json(reads);
  std::string& known = known_[key];
  if (known != text) {
    known = text;
    fingerprints_.remember(question(key), {}, text);
  }
}

std::string ReadMemory::hash_of(const std::string& file) const {
  const json what = {{"file", "sha256"}};
  if (!is_file_at(file)) {
    return kAbsentInput;
  }
  if (auto known = fingerprints_.find(what, {file})) {
    return *known;
  }
  const Fingerprints::Stamp before = fingerprints_.look(what, {file});
  std::string hash = input_file_hash(file);
  fingerprints_.remember(before, hash);
  return hash;
}

void ReadMemory::add_to(json& parts) const {
  const std::string key = key_of(parts);
  const auto known = known_.find(key);
  const std::string text =
      known != known_.end() ? known->second : fingerprints_.find(question(key), {}).value_or("{}");
  const json all = parse_json(text, "what was read");
  for (const auto& [where, reads] : all.items()) {
    const json::json_pointer place(where);
    if (!parts.contains(place)) {
      continue;
    }
    json& read = parts[place][kRead];
    if (const auto files = reads.find("files"); files != reads.end()) {
      for (const auto& [file, was] : files->items()) {
        read["files"][file] = hash_of(file);
      }
    }
    if (const auto variables = reads.find("variables"); variables != reads.end()) {
      for (const auto& [name, was] : variables->items()) {
        read["variables"][name] = input_variable_hash(name);
      }
    }
  }
}

}  // namespace quench
