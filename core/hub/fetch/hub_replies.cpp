#include "core/hub/fetch/hub_replies.hpp"

#include <charconv>
#include <nlohmann/json.hpp>

#include "core/base/json/parse_json.hpp"

namespace quench {

namespace {

using nlohmann::json;

constexpr size_t kMaxFiles = 100'000;

[[noreturn]] void refuse_reply(const std::string& where, const std::string& what) {
  fail(QUENCH_DATA_LOSS, "{}: the hub's reply makes no sense: {}", where, what);
}

json parsed(const std::string& text, const std::string& where) {
  try {
    return parse_json(text, "reply");
  } catch (const Error& error) {
    refuse_reply(where, error.what());
  }
}

std::string text_in(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() && found->is_string()
             ? found->get<std::string>()
             : "";
}

uint64_t size_in(const json& object, const std::string& where) {
  const auto found = object.find("size");
  if (found == object.end() || !found->is_number_integer() || *found < 0 || *found > kMaxHubFile) {
    refuse_reply(where, "a file without a size");
  }
  return found->get<uint64_t>();
}

// Git LFS, or the storage that took its place, has the SHA-256 of what git holds a pointer to.
HubFile file_of(const json& entry, const std::string& where) {
  HubFile out;
  out.path = text_in(entry, "path");
  const auto lfs = entry.find("lfs");
  const bool large = lfs != entry.end() && lfs->is_object();
  out.size = size_in(large && lfs->contains("size") ? *lfs : entry, where);
  out.hash = large ? text_in(*lfs, "oid") : text_in(entry, "oid");
  if (large && out.hash.empty()) {
    out.hash = text_in(*lfs, "sha256");
  }
  if (out.is_large() != large) {
    out.hash.clear();  // of the other kind
  }
  if (const std::string fault = file_fault(out); !fault.empty()) {
    refuse_reply(where, fault);
  }
  return out;
}

}  // namespace

std::map<std::string, std::string> read_references(const std::string& text,
                                                   const std::string& where) {
  const json reply = parsed(text, where);
  std::map<std::string, std::string> out;
  for (const char* kind : {"branches", "tags"}) {
    const auto list = reply.is_object() ? reply.find(kind) : reply.end();
    if (!reply.is_object() || list == reply.end() || !list->is_array()) {
      continue;
    }
    for (const json& entry : *list) {
      const std::string name = text_in(entry, "name");
      const std::string commit = text_in(entry, "targetCommit");
      if (!is_plain_path(name) || !is_commit(commit)) {
        refuse_reply(where, fmt::format("a revision '{}' at commit '{}'", printable(name),
                                        printable(commit)));
      }
      out.emplace(name, commit);
    }
  }
  return out;
}

std::string read_commit(const std::string& text, const std::string& where) {
  const std::string commit = text_in(parsed(text, where), "sha");
  if (!is_commit(commit)) {
    refuse_reply(where, fmt::format("a revision at commit '{}'", printable(commit)));
  }
  return commit;
}

void read_tree(const std::string& text, const std::string& where, std::vector<HubFile>& files) {
  const json reply = parsed(text, where);
  if (!reply.is_array()) {
    refuse_reply(where, "its files are not a list");
  }
  for (const json& entry : reply) {
    if (text_in(entry, "type") == "file") {
      files.push_back(file_of(entry, where));
    }
    if (files.size() > kMaxFiles) {
      refuse_reply(where, fmt::format("more than {} files", kMaxFiles));
    }
  }
}

std::string next_page(const std::string& link) {
  for (size_t at = link.find('<'); at != std::string::npos; at = link.find('<', at + 1)) {
    const size_t end = link.find('>', at);
    const size_t comma = link.find(",", end);
    if (end == std::string::npos) {
      return "";
    }
    if (link.substr(end, comma == std::string::npos ? comma : comma - end).find("rel=\"next\"") !=
        std::string::npos) {
      return link.substr(at + 1, end - at - 1);
    }
  }
  return "";
}

uint64_t first_byte(const HttpHead& head, uint64_t from, uint64_t size, const std::string& where) {
  if (head.status == 200) {
    return 0;
  }
  // bytes FIRST-LAST/SIZE
  const std::string range = head.header("content-range");
  if (!range.starts_with(fmt::format("bytes {}-", from)) ||
      !range.ends_with(fmt::format("/{}", size))) {
    throw TryAgain(fmt::format("{}: asked for byte {} of {} and on, the server sends '{}'", where,
                               from, size, printable(range)));
  }
  return from;
}

void check_file_head(const HttpHead& head, const std::string& commit, const HubFile& file,
                     const std::string& where) {
  if (const std::string got = head.header("x-repo-commit"); !got.empty() && got != commit) {
    fail(QUENCH_DATA_LOSS, "{}: the server has it of commit {}, wanted {}", where, printable(got),
         commit);
  }
  if (const std::string got = head.header("x-linked-size");
      !got.empty() && got != std::to_string(file.size)) {
    fail(QUENCH_DATA_LOSS, "{}: the server says {} bytes, the hub lists {}", where, printable(got),
         file.size);
  }
  std::string etag = head.header("x-linked-etag");
  if (etag.starts_with("W/")) {
    etag.erase(0, 2);
  }
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') {
    etag = etag.substr(1, etag.size() - 2);
  }
  if (!etag.empty() && etag != file.hash) {
    fail(QUENCH_DATA_LOSS, "{}: the server has content {}, the hub lists {}", where,
         printable(etag), file.hash);
  }
}

namespace {

// What the hub says itself, ready to be put behind a message.
std::string own_words(const HttpHead& head, const HubAccess& access) {
  const std::string words = head.header("x-error-message");
  return words.empty() ? "" : ": " + printable(without_token(words, access), 300);
}

[[noreturn]] void throw_gated(const HubAccess& access, const HubSpec& what,
                              const std::string& where) {
  const std::string page =
      access.endpoint + "/" + (what.dataset ? "datasets/" : "") + what.repository;
  if (access.token.empty()) {
    fail(QUENCH_FAILED_PRECONDITION,
         "{}: gated: log in at {}, click \"Agree and access repository\" there, make a token that "
         "may read at {}/settings/tokens, and set HF_TOKEN to it",
         where, page, access.endpoint);
  }
  fail(QUENCH_FAILED_PRECONDITION,
       "{}: gated, and the account of the token from {} has no access: log in at {} and click "
       "\"Agree and access repository\" there",
       where, access.token_from, page);
}

// The hub answers 401 for what does not exist too, so that private names cannot be guessed.
[[noreturn]] void throw_unknown(const HubAccess& access, const std::string& where) {
  if (access.token.empty()) {
    fail(QUENCH_NOT_FOUND,
         "{}: {} has no such repository, or it is private and wants a token in HF_TOKEN", where,
         access.endpoint);
  }
  fail(QUENCH_NOT_FOUND,
       "{}: {} has no such repository, or the token from {} is invalid or may not read it", where,
       access.endpoint, access.token_from);
}

}  // namespace

void throw_refusal(const HttpHead& head, const HubAccess& access, const HubSpec& what,
                   const std::string& file) {
  const int status = head.status;
  const std::string code = head.header("x-error-code");
  const std::string where =
      repository_text(what) + (file.empty() ? "" : "/" + printable(file, 300));
  const std::string words = own_words(head, access);
  if (status == 408 || status == 416 || status == 429 || status >= 500) {
    throw TryAgain(fmt::format("{}: {} answers {}{}", where, access.endpoint, status, words),
                   head.retry_after);
  }
  if (code == "GatedRepo") {
    throw_gated(access, what, where);
  }
  if (code == "RevisionNotFound") {
    fail(QUENCH_NOT_FOUND, "{}: {} has no revision '{}'", where, access.endpoint,
         printable(what.revision));
  }
  if (code == "EntryNotFound") {
    fail(QUENCH_NOT_FOUND, "{}: not in commit {}", where, printable(what.revision));
  }
  if (status == 401 || code == "RepoNotFound" || status == 404) {
    throw_unknown(access, where);
  }
  if (status == 403) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: {} refuses access{}", where, access.endpoint, words);
  }
  fail(QUENCH_FAILED_PRECONDITION, "{}: {} answers {}, wanted 200{}", where, access.endpoint,
       status, words);
}

}  // namespace quench
