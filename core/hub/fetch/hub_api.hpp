// What a hub says of its repositories, and their files as bytes. The protocol is that of
// huggingface.co, which mirrors speak too.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/hub/fetch/http.hpp"
#include "core/hub/fetch/hub_access.hpp"
#include "core/hub/hub_file.hpp"
#include "core/hub/hub_spec.hpp"

namespace quench {

// Takes the bytes of a file from `at` on. The first piece begins where it was asked for, or at 0
// where the server sends all.
using TakePiece = std::function<void(uint64_t at, std::string_view piece)>;

class HubApi {
 public:
  // Both must outlive this.
  HubApi(const HubAccess& access, const RetryPolicy& retries);

  const RetryPolicy& retries() const { return retries_; }

  // Branches and tags, sorted, with their commits. Each function names the repository in its
  // errors: NOT_FOUND, FAILED_PRECONDITION (gated, refused, or given up), DATA_LOSS (a reply that
  // makes no sense), CANCELLED.
  std::map<std::string, std::string> references(const HubSpec& repository);
  // The commit of the spec's revision, which need be neither a branch nor a tag.
  std::string commit_of(const HubSpec& spec);
  // All files of a commit, by path. Paths are plain and hashes are hashes.
  std::vector<HubFile> files(const HubSpec& repository, const std::string& commit);
  // The content of a small file, compared with its hash.
  std::string content(const HubSpec& repository, const std::string& commit, const HubFile& file);

  // From now on, for so many bytes of a file.
  TimeLimit time_for(uint64_t bytes) const;
  // One try: sends the bytes of a file from `from` on. Throws TryAgain, too; DATA_LOSS where the
  // server has another commit, another size or another hash than `file`.
  void download(const HubSpec& repository, const std::string& commit, const HubFile& file,
                uint64_t from, const TimeLimit& limit, const TakePiece& take);

 private:
  struct Reply {
    HttpHead head;
    std::string body;
  };
  using OnHead = std::function<void(const HttpHead&)>;
  // Follows redirects; the token goes to the hub's own origin alone. `on_hop` sees every head.
  HttpHead get(const Url& url, uint64_t from, const TimeLimit& limit, const OnHead& on_hop,
               const Http::Body& body);
  // A document of the API, asked for until it comes. `what` is its subject, for messages.
  Reply document(const Url& url, const HubSpec& what, const TimeLimit& limit);
  std::string api_url(const HubSpec& repository) const;

  const HubAccess& access_;
  const RetryPolicy& retries_;
  const Url endpoint_;
  Http http_;
};

}  // namespace quench
