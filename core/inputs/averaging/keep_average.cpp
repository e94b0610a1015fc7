#include "core/inputs/averaging/keep_average.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/io/atomic_file.hpp"
#include "core/base/io/file.hpp"
#include "core/base/io/sha256.hpp"
#include "core/base/json/canonical_json.hpp"
#include "core/base/json/parse_json.hpp"
#include "core/checkpoint/content_hash.hpp"
#include "core/checkpoint/sharded_writer.hpp"
#include "core/checkpoint/side_files.hpp"
#include "core/error.hpp"
#include "core/hub/hub_spec.hpp"
#include "core/inputs/averaging/average_identity.hpp"
#include "core/inputs/averaging/average_pass.hpp"
#include "core/inputs/averaging/spelling.hpp"
#include "core/inputs/experiment/experiment.hpp"
#include "core/plugin/library/running_code.hpp"
#include "core/plugin/services/host_services.hpp"
#include "core/store/sealed_folder.hpp"
#include "core/version.hpp"

namespace quench {

namespace {

namespace fs = std::filesystem;

// Config keys that do not affect what the weights compute.
const std::set<std::string> kIdleKeys = {"_name_or_path", "transformers_version", "torch_dtype",
                                         "dtype", "use_cache"};

void warn_where_configs_differ(const std::vector<KeptMember>& members) {
  const KeptMember& last = members.back();
  const auto parsed = [](const KeptMember& member) {
    return parse_json(member.folder.config_json, (member.folder.path / "config.json").string());
  };
  if (last.folder.config_json.empty()) {
    return;
  }
  const nlohmann::json wanted = parsed(last);
  std::set<std::string> keys;
  for (const KeptMember& member : members) {
    if (member.folder.config_json.empty() || member.folder.config_json == last.folder.config_json) {
      continue;
    }
    const nlohmann::json got = parsed(member);
    for (const auto* config : {&wanted, &got}) {
      for (const auto& [key, value] : config->items()) {
        if (!kIdleKeys.contains(key) &&
            (!wanted.contains(key) || !got.contains(key) || wanted.at(key) != got.at(key))) {
          keys.insert(printable(key));
        }
      }
    }
  }
  if (!keys.empty()) {
    HostServices::instance().log(
        QUENCH_LOG_WARNING, "",
        fmt::format("the members' configs differ in {}; keeping the last member's",
                    fmt::join(keys, ", ")));
  }
}

// Writes the last member's config with the element type of the averaged weights.
void write_config(const KeptMember& last, quench_dtype dtype, SealedFolder& target) {
  if (last.folder.config_json.empty()) {
    return;
  }
  nlohmann::json config =
      parse_json(last.folder.config_json, (last.folder.path / "config.json").string());
  if (config.is_object()) {
    config[config.contains("dtype") ? "dtype" : "torch_dtype"] = dtype_text(dtype);
  }
  write_file_atomically(target.temporary() / "config.json", config.dump(2) + "\n", &target.files());
}

// ---- the model card README.md, for people and for the hub; escapes or fences all foreign text

// A name as code in a table cell.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : printable(text, 4096)) {
    if (c == '|') {
      out += "\\|";
    } else {
      out += c == '`' ? '\'' : c;
    }
  }
  return out.empty() ? "" : "`" + out + "`";
}

std::string number(const std::optional<int64_t>& value) {
  return value ? std::to_string(*value) : "";
}

std::string members_table(const std::vector<KeptMember>& members, const KeepOptions& options,
                          const KeptAverage& kept) {
  const bool searched = !options.weights.empty();
  std::string out = fmt::format("| member | commit | step | tokens |{} content (SHA-256) |\n",
                                searched ? " weight |" : "");
  out += fmt::format("|---|---|---|---|{}---|\n", searched ? "---|" : "");
  for (size_t i = 0; i < members.size(); ++i) {
    const KeptMember& member = members[i];
    const std::string& hash = kept.member_hashes[i];
    out += fmt::format("| {} | {} | {} | {} |{} {} |\n", cell(member.location), cell(member.commit),
                       number(member.step), number(member.tokens),
                       searched ? fmt::format(" {} |", options.weights[i]) : "",
                       hash.empty() ? "left out" : cell(hash));
  }
  return out;
}

// A fence longer than any run of backticks inside.
std::string fenced(const std::string& language, const std::string& text) {
  std::string fence = "```";
  while (text.find(fence) != std::string::npos) {
    fence += '`';
  }
  return fence + language + "\n" + text + (text.ends_with('\n') ? "" : "\n") + fence + "\n";
}

// What the hub links an average to: the repositories of its members, if all are on a hub.
std::string base_models(const std::vector<KeptMember>& members) {
  std::set<std::string> repositories;
  for (const KeptMember& member : members) {
    if (!is_hub_spec(member.location)) {
      return "";
    }
    repositories.insert(parse_hub_spec(member.location).repository);
  }
  std::string out = "base_model:\n";
  for (const std::string& repository : repositories) {
    out += fmt::format("- {}\n", nlohmann::json(repository).dump());
  }
  return out + "base_model_relation: merge\n";
}

// Markdown with the hub's front matter.
std::string card_text(const AveragingCell& averaging, const std::vector<KeptMember>& members,
                      const fs::path& folder, const KeepOptions& options, const KeptAverage& kept) {
  const PluginDescription& plugin = *averaging.plugin;
  std::string out = fmt::format(
      "---\n{}library_name: transformers\ntags:\n- checkpoint-averaging\n- quench\n---\n\n",
      base_models(members));
  out += fmt::format("# {}\n\nAn average of {} checkpoints: `{}`. {}",
                     printable(folder.filename().string()), members.size(),
                     printable(averaging.label), printable(plugin.summary, 400));
  if (!plugin.reference.empty()) {
    out += fmt::format(" Reference: {}.", printable(plugin.reference, 400));
  }
  out += "\n\n" + members_table(members, options, kept) + "\n";
  out += fmt::format(
      "Floating tensors are summed in float64 and rounded once to {}; integer and boolean buffers, "
      "`config.json` and the tokenizer are the last member's.\n\n",
      dtype_name(options.dtype));
  out += fmt::format(
      "| made by | |\n|---|---|\n| quench | {} |\n| averaging | {} {}, SHA-256 {} |\n| parameters "
      "| "
      "{} |\n| identity | {} |\n",
      kVersion, cell(plugin.id), printable(plugin.version), cell(plugin.sha256),
      cell(canonical_json(averaging.parameters)), cell(kept.identity));
  if (!options.manifest.empty()) {
    out += "\n## Manifest\n\n" + fenced("yaml", options.manifest);
  }
  return out;
}

// The members that were read must be those that the seal names.
void check_hashes(const std::vector<KeptMember>& members, const std::vector<std::string>& found,
                  const std::vector<std::string>& wanted) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!found[i].empty() && found[i] != wanted[i]) {
      fail(QUENCH_DATA_LOSS, "{}: changed during reading", members[i].location);
    }
  }
}

}  // namespace

std::vector<AverageMember> average_members(Catalog& catalog,
                                           const std::vector<KeptMember>& members) {
  std::vector<AverageMember> out;
  for (const KeptMember& member : members) {
    out.push_back({member.name, member.step, member.tokens, member.folder.source});
  }
  const CheckpointFolder& last = members.back().folder;
  spell_alike(catalog, last.config_json, (last.path / "config.json").string(),
              members.back().family, out);
  return out;
}

KeptAverage keep_average(Catalog& catalog, const AveragingCell& averaging,
                         const std::vector<KeptMember>& members, const fs::path& folder,
                         const KeepOptions& options) {
  SealedFolder target(folder, options.replaces);
  const std::vector<AverageMember> sources = average_members(catalog, members);
  const AverageSource average(catalog, averaging, sources,
                              {options.dtype, options.weights, options.threads});
  warn_where_configs_differ(members);
  const std::vector<uint64_t> order = name_order(average);
  ShardedWriter writer(target.temporary(), average, order, target.files(), options.shard_bytes);
  check_space(target.temporary(), writer.total_bytes());

  AveragePass pass;
  pass.threads = options.threads;
  pass.on_progress = options.on_progress;
  pass.take = [&](uint64_t index, const void* data, uint64_t bytes) {
    writer.write(index, data, bytes);
  };
  const std::vector<std::string> hashes = run_average_pass(average, pass);
  writer.finish();

  const std::atomic<bool>& cancel = HostServices::instance().cancel_flag();
  KeptAverage kept{"", std::vector<std::string>(members.size()), writer.total_bytes()};
  for (size_t i = 0; i < hashes.size(); ++i) {
    const size_t member = average.order()[i];
    const auto& stored = members[member].folder.source;  // other names have another hash
    kept.member_hashes[member] =
        sources[member].source == stored ? hashes[i] : content_hash(*stored, &cancel);
  }
  check_hashes(members, kept.member_hashes, options.member_hashes);
  kept.identity =
      average_identity(averaging, sources, kept.member_hashes, options.dtype, options.weights);
  write_config(members.back(), options.dtype, target);
  copy_side_files(members.back().folder, options.tokenizer, target.temporary(), target.files());
  write_file_atomically(target.temporary() / "README.md",
                        card_text(averaging, members, target.path(), options, kept),
                        &target.files());
  check_running_code();
  target.publish(options.made_from.is_null()
                     ? nlohmann::json{{"identity", kept.identity},
                                      {"config", sha256_hex(members.back().folder.config_json)}}
                     : options.made_from);
  return kept;
}

}  // namespace quench
