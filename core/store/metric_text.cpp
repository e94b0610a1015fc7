#include "core/store/metric_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "core/base/io/sha256.hpp"
#include "core/base/json/canonical_json.hpp"

namespace quench {

namespace {

using nlohmann::json;

constexpr const char* kOfKey[] = {"params", "corpora", "data", "files"};
constexpr size_t kShortHash = 8;

const json& member(const json& object, const std::string& name) {
  static const json none;
  const auto found = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && found != object.end() ? *found : none;
}

// Parameters and contents under one set of names: {"block": 128, "corpus": {...}}.
std::map<std::string, json> items_of(const json& text) {
  std::map<std::string, json> out;
  for (const char* part : {"params", "corpora"}) {
    for (const auto& [name, value] : member(text, part).items()) {
      out[name] = value;
    }
  }
  for (const char* part : {"data", "files"}) {
    if (const json& content = member(text, part); !content.is_null()) {
      out[part] = content;
    }
  }
  return out;
}

// Whether this is something that was read, and no parameter.
bool is_content(const json& text, const std::string& name) {
  return !member(text, "params").contains(name);
}

// The first digits of the hash of what was read.
std::string short_hash(const json& content) {
  for (const char* name : {"files", "fingerprint"}) {
    if (const json& hash = member(content, name); hash.is_string()) {
      return hash.get<std::string>().substr(0, kShortHash);
    }
  }
  return sha256_hex(canonical_json(content)).substr(0, kShortHash);
}

std::string plain(const json& value) {
  return value.is_null() ? "" : value.is_string() ? value.get<std::string>() : value.dump();
}

std::string corpus_name(const json& details, const std::string& parameter) {
  const json& name = member(member(member(details, "corpora"), parameter), "name");
  return name.is_string() ? name.get<std::string>() : "";
}

// "validation_loss" of "validation_loss/perplexity".
std::string metric_of(const std::string& metric) {
  return metric.substr(0, metric.find('/'));
}

}  // namespace

json metric_text(const json& parts, const json& details) {
  const json& metric = member(parts, "metric");
  json out;
  for (const char* name : kOfKey) {
    if (const json& value = member(metric, name); !value.is_null()) {
      out[name] = value;
    }
  }
  if (!out.is_null()) {
    return out;
  }
  const json& corpora = member(details, "corpora");
  for (const auto& [name, value] : member(details, "params").items()) {
    if (member(corpora, name).is_null()) {
      out["params"][name] = value;
    }
  }
  if (!corpora.is_null()) {
    out["corpora"] = corpora;
  }
  return out;
}

void TextNames::add(const std::string& group, const json& text, const json& details) {
  if (text.is_null()) {
    return;
  }
  Contents& known = groups_[group];
  for (const auto& [name, value] : items_of(text)) {
    std::vector<json>& contents = known[name];
    if (std::find(contents.begin(), contents.end(), value) == contents.end()) {
      contents.push_back(value);
    }
    if (const std::string corpus = corpus_name(details, name); !corpus.empty()) {
      names_.emplace(std::pair(name, value), corpus);
    }
  }
}

std::vector<std::string> TextNames::differing(const std::string& group) const {
  std::vector<std::string> out;
  if (const auto found = groups_.find(group); found != groups_.end()) {
    for (const auto& [name, contents] : found->second) {
      if (contents.size() > 1) {
        out.push_back(name);
      }
    }
  }
  return out;
}

std::vector<std::string> TextNames::differing() const {
  std::set<std::string> out;
  for (const auto& [group, contents] : groups_) {
    const std::vector<std::string> own = differing(group);
    out.insert(own.begin(), own.end());
  }
  return {out.begin(), out.end()};
}

std::string TextNames::name_of(const std::string& parameter, const json& content) const {
  const auto found = names_.find(std::pair(parameter, content));
  return found != names_.end() ? found->second : "";
}

std::string TextNames::value(const std::string& group, const json& text,
                             const std::string& parameter) const {
  const std::map<std::string, json> items = items_of(text);
  const auto item = items.find(parameter);
  if (item == items.end()) {
    return "";
  }
  if (!is_content(text, parameter)) {
    return plain(item->second);
  }
  const std::string name = name_of(parameter, item->second);
  const auto of_group = groups_.find(group);
  const bool shared =
      name.empty() ||
      (of_group != groups_.end() && of_group->second.contains(parameter) &&
       std::any_of(of_group->second.at(parameter).begin(), of_group->second.at(parameter).end(),
                   [&](const json& other) {
                     return other != item->second && name_of(parameter, other) == name;
                   }));
  const std::string hash = shared ? short_hash(item->second) : "";
  return name + (name.empty() || hash.empty() ? "" : " ") + hash;
}

std::string TextNames::words(const std::string& group, const json& text) const {
  std::vector<std::string> out;
  for (const std::string& parameter : differing(group)) {
    if (const std::string shown = value(group, text, parameter); !shown.empty()) {
      out.push_back(is_content(text, parameter) ? shown : parameter + " " + shown);
    }
  }
  return fmt::format("{}", fmt::join(out, ", "));
}

void CurrentTexts::add(uint64_t job, const std::string& metric, const json& text, json& texts) {
  for (json& each : texts) {
    if (each.at("metric") == metric && each.at("text") == text) {
      each["jobs"].push_back(job);
      return;
    }
  }
  texts.push_back({{"jobs", json::array({job})}, {"metric", metric}, {"text", text}});
}

CurrentTexts::CurrentTexts(const json& texts) {
  if (!texts.is_array()) {
    return;
  }
  for (const json& each : texts) {
    const json& metric = member(each, "metric");
    for (const json& job : member(each, "jobs")) {
      if (job.is_number_unsigned() && metric.is_string()) {
        texts_[{job.get<uint64_t>(), metric.get<std::string>()}].push_back(member(each, "text"));
      }
    }
  }
}

const std::vector<json>* CurrentTexts::texts_of(uint64_t job, const std::string& metric) const {
  const auto found = texts_.find({job, metric_of(metric)});
  return found != texts_.end() ? &found->second : nullptr;
}

bool CurrentTexts::is_other(uint64_t job, const std::string& metric, const json& text) const {
  const std::vector<json>* known = texts_of(job, metric);
  return known != nullptr && !text.is_null() &&
         std::find(known->begin(), known->end(), text) == known->end();
}

std::string CurrentTexts::difference(uint64_t job, const std::string& metric, const json& text,
                                     const json& details) const {
  const std::map<std::string, json> was = items_of(text);
  std::vector<std::string> nearest;
  for (const json& current : *texts_of(job, metric)) {
    std::vector<std::string> words;
    const std::map<std::string, json> now = items_of(current);
    std::set<std::string> names;
    for (const auto* items : {&was, &now}) {
      for (const auto& [name, value] : *items) {
        names.insert(name);
      }
    }
    for (const std::string& name : names) {
      const json before = was.contains(name) ? was.at(name) : json();
      const json after = now.contains(name) ? now.at(name) : json();
      if (before == after) {
        continue;
      }
      if (is_content(text, name)) {
        const std::string called = corpus_name(details, name);
        words.push_back(fmt::format("another {}{} ({}, now {})", name,
                                    called.empty() ? "" : " `" + called + "`", short_hash(before),
                                    short_hash(after)));
      } else {
        words.push_back(fmt::format("another {} ({}, now {})", name, before.dump(), after.dump()));
      }
    }
    if (!words.empty() && (nearest.empty() || words.size() < nearest.size())) {
      nearest = std::move(words);
    }
  }
  return fmt::format("{}", fmt::join(nearest, " and "));
}

}  // namespace quench
