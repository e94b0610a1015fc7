#include "core/inputs/averaging/average_card.hpp"

#include "core/base/json/canonical_json.hpp"
#include "core/checkpoint/dtype.hpp"
#include "core/error.hpp"
#include "core/version.hpp"

namespace quench {

namespace {

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

std::string members_table(const AverageCard& card) {
  std::string out = fmt::format("| member | commit | step | tokens |{} content (SHA-256) |\n",
                                card.searched ? " weight |" : "");
  out += fmt::format("|---|---|---|---|{}---|\n", card.searched ? "---|" : "");
  for (const AverageCard::Member& member : card.members) {
    const std::string weight = card.searched ? fmt::format(" {} |", member.weight) : "";
    out += fmt::format("| {} | {} | {} | {} |{} {} |\n", cell(member.location), cell(member.commit),
                       number(member.step), number(member.tokens), weight,
                       member.content_hash.empty() ? "left out" : cell(member.content_hash));
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

}  // namespace

std::string average_card(const AverageCard& card) {
  const PluginDescription& plugin = *card.averaging->plugin;
  std::string out =
      "---\nlibrary_name: transformers\ntags:\n- checkpoint-averaging\n- quench\n---\n\n";
  out += fmt::format("# {}\n\nAn average of {} checkpoints: `{}`. {}", printable(card.name),
                     card.members.size(), printable(card.averaging->label),
                     printable(plugin.summary, 400));
  if (!plugin.reference.empty()) {
    out += fmt::format(" Reference: {}.", printable(plugin.reference, 400));
  }
  out += "\n\n" + members_table(card) + "\n";
  out += fmt::format(
      "Floating tensors are summed in float64 and rounded once to {}; integer and boolean buffers, "
      "`config.json` and the tokenizer are the last member's.\n\n",
      dtype_name(card.dtype));
  out += fmt::format(
      "| made by | |\n|---|---|\n| quench | {} |\n| averaging | {} {}, SHA-256 {} |\n| parameters "
      "| "
      "{} |\n| identity | {} |\n",
      kVersion, cell(plugin.id), printable(plugin.version), cell(plugin.sha256),
      cell(canonical_json(card.averaging->parameters)), cell(card.identity));
  if (!card.manifest.empty()) {
    out += "\n## Manifest\n\n" + fenced("yaml", card.manifest);
  }
  return out;
}

}  // namespace quench
