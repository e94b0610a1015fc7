#include "core/fetch/hub_refusal.hpp"

namespace quench {

namespace {

std::string page_of(const HubRefusal& refusal) {
  return refusal.access.endpoint + "/" + (refusal.what.dataset ? "datasets/" : "") +
         refusal.what.repository;
}

// What the hub says itself, ready to be put behind a message.
std::string own_words(const HubRefusal& refusal) {
  const std::string words = refusal.head.header("x-error-message");
  return words.empty() ? "" : ": " + printable(without_token(words, refusal.access), 300);
}

[[noreturn]] void throw_gated(const HubRefusal& refusal, const std::string& where) {
  const std::string page = page_of(refusal);
  if (refusal.access.token.empty()) {
    fail(QUENCH_FAILED_PRECONDITION,
         "{}: gated: log in at {}, click \"Agree and access repository\" there, make a token that "
         "may read at {}/settings/tokens, and set HF_TOKEN to it",
         where, page, refusal.access.endpoint);
  }
  fail(QUENCH_FAILED_PRECONDITION,
       "{}: gated, and the account of the token from {} has no access: log in at {} and click "
       "\"Agree and access repository\" there",
       where, refusal.access.token_from, page);
}

// The hub answers 401 for what does not exist too, so that private names cannot be guessed.
[[noreturn]] void throw_unknown(const HubRefusal& refusal, const std::string& where) {
  if (refusal.access.token.empty()) {
    fail(QUENCH_NOT_FOUND,
         "{}: {} has no such repository, or it is private and wants a token in HF_TOKEN", where,
         refusal.access.endpoint);
  }
  fail(QUENCH_NOT_FOUND,
       "{}: {} has no such repository, or the token from {} is invalid or may not read it", where,
       refusal.access.endpoint, refusal.access.token_from);
}

}  // namespace

void throw_refusal(const HubRefusal& refusal) {
  const int status = refusal.head.status;
  const std::string code = refusal.head.header("x-error-code");
  const std::string where = repository_text(refusal.what) +
                            (refusal.file.empty() ? "" : "/" + printable(refusal.file, 300));
  if (status == 408 || status == 416 || status == 429 || status >= 500) {
    throw TryAgain(fmt::format("{}: {} answers {}{}", where, refusal.access.endpoint, status,
                               own_words(refusal)),
                   refusal.head.retry_after);
  }
  if (code == "GatedRepo") {
    throw_gated(refusal, where);
  }
  if (code == "RevisionNotFound") {
    fail(QUENCH_NOT_FOUND, "{}: {} has no revision '{}'", where, refusal.access.endpoint,
         printable(refusal.what.revision));
  }
  if (code == "EntryNotFound") {
    fail(QUENCH_NOT_FOUND, "{}: not in commit {}", where, printable(refusal.what.revision));
  }
  if (status == 401 || code == "RepoNotFound" || status == 404) {
    throw_unknown(refusal, where);
  }
  if (status == 403) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: {} refuses access{}", where, refusal.access.endpoint,
         own_words(refusal));
  }
  fail(QUENCH_FAILED_PRECONDITION, "{}: {} answers {}, wanted 200{}", where,
       refusal.access.endpoint, status, own_words(refusal));
}

}  // namespace quench
