#include "core/hub/fetch/hub_refusal.hpp"

namespace quench {

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
