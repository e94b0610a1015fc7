#include "core/hub/fetch/hub_api.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "core/base/json/parse_json.hpp"
#include "core/hub/fetch/hub_replies.hpp"

namespace quench {

namespace {

constexpr int kMaxRedirects = 10;
constexpr size_t kMaxDocument = size_t{64} << 20;
constexpr size_t kMaxPages = 1000;
constexpr size_t kMaxEmptyPages = 10;  // in a row, each of which names a next one
constexpr uint64_t kMaxContent = uint64_t{64} << 20;

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

Url redirect_of(const Url& from, const HttpHead& head) {
  try {
    return from.joined(head.header("location"));
  } catch (const Error& error) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: its redirect cannot be followed: {}", from.origin(),
         error.what());
  }
}

}  // namespace

HubApi::HubApi(const HubAccess& access, const RetryPolicy& retries)
    : access_(access),
      retries_(retries),
      endpoint_(access.endpoint),
      http_(access.silence_seconds, retries.cancel) {}

TimeLimit HubApi::time_for(uint64_t bytes) const {
  return TimeLimit(access_.whole_seconds +
                   static_cast<double>(bytes) / access_.slowest_bytes_per_second);
}

HttpHead HubApi::get(const Url& url, uint64_t from, const TimeLimit& limit, const OnHead& on_hop,
                     const Http::Body& body) {
  Url at = url;
  bool trusted = at.origin() == endpoint_.origin();
  for (int hop = 0; hop <= kMaxRedirects; ++hop) {
    const HttpRequest request{at, trusted ? access_.token : "", from, limit};
    const HttpHead head = http_.get(request, [&](const HttpHead& seen, std::string_view piece) {
      if (!is_redirect(seen.status)) {
        body(seen, piece);
      }
    });
    on_hop(head);
    if (!is_redirect(head.status)) {
      return head;
    }
    const Url next = redirect_of(at, head);
    if (at.is_https() && !next.is_https()) {
      fail(QUENCH_FAILED_PRECONDITION, "{} redirects to {}, which is not encrypted", at.origin(),
           next.origin());
    }
    trusted = trusted && next.origin() == endpoint_.origin();  // once away, never again
    at = next;
  }
  fail(QUENCH_FAILED_PRECONDITION, "{} redirects more than {} times", url.origin(), kMaxRedirects);
}

HubApi::Reply HubApi::document(const Url& url, const HubSpec& what, const TimeLimit& limit) {
  Reply out;
  retry(retries_, [&](int&) {
    out.body.clear();
    out.head = get(
        url, 0, limit, [](const HttpHead&) {},
        [&](const HttpHead& head, std::string_view piece) {
          if (head.status == 200) {
            out.body += piece;
          }
          if (out.body.size() > kMaxDocument) {
            fail(QUENCH_DATA_LOSS, "{}: the reply of {} has more than {} bytes",
                 repository_text(what), url.origin(), kMaxDocument);
          }
        });
    if (out.head.status != 200) {
      throw_refusal(out.head, access_, what, "");
    }
  });
  return out;
}

std::string HubApi::api_url(const HubSpec& repository) const {
  return access_.endpoint + "/api/" + (repository.dataset ? "datasets/" : "models/") +
         url_quoted(repository.repository, true);
}

std::map<std::string, std::string> HubApi::references(const HubSpec& repository) {
  HubSpec whole = repository;
  whole.revision = "main";
  const Reply reply = document(Url(api_url(repository) + "/refs"), whole, time_for(0));
  return read_references(reply.body, repository_text(repository));
}

std::string HubApi::commit_of(const HubSpec& spec) {
  const Reply reply = document(Url(api_url(spec) + "/revision/" + url_quoted(spec.revision, false)),
                               spec, time_for(0));
  return read_commit(reply.body, repository_text(spec));
}

std::vector<HubFile> HubApi::files(const HubSpec& repository, const std::string& commit) {
  std::vector<HubFile> out;
  Url page(api_url(repository) + "/tree/" + commit + "?recursive=true");
  const TimeLimit limit = time_for(0);
  size_t empty = 0;
  for (size_t pages = 0; pages < kMaxPages; ++pages) {
    const Reply reply = document(page, repository, limit);
    const size_t before = out.size();
    read_tree(reply.body, repository_text(repository), out);
    empty = out.size() > before ? 0 : empty + 1;
    const std::string next = next_page(reply.head.header("link"));
    if (next.empty()) {
      std::sort(out.begin(), out.end(),
                [](const HubFile& a, const HubFile& b) { return a.path < b.path; });
      return out;
    }
    if (empty == kMaxEmptyPages) {
      fail(QUENCH_DATA_LOSS, "{}: the list of its files has {} pages without a file in a row",
           repository_text(repository), kMaxEmptyPages);
    }
    page = page.joined(next);
  }
  fail(QUENCH_DATA_LOSS, "{}: the list of its files has more than {} pages",
       repository_text(repository), kMaxPages);
}

std::string HubApi::content(const HubSpec& repository, const std::string& commit,
                            const HubFile& file) {
  const std::string where = repository_text(repository) + "/" + printable(file.path);
  if (file.size > kMaxContent) {
    fail(QUENCH_DATA_LOSS, "{}: has {} bytes, wanted at most {}", where, file.size, kMaxContent);
  }
  std::string out;
  const TimeLimit limit = time_for(file.size);
  retry(retries_, [&](int&) {
    download(repository, commit, file, 0, limit, [&](uint64_t at, std::string_view piece) {
      out.resize(at);
      out += piece;
    });
  });
  const std::string found = blob_hash(file.hash, out);
  if (found != file.hash) {
    fail(QUENCH_DATA_LOSS, "{}: content has hash {}, the hub says {}", where, found, file.hash);
  }
  return out;
}

void HubApi::download(const HubSpec& repository, const std::string& commit, const HubFile& file,
                      uint64_t from, const TimeLimit& limit, const TakePiece& take) {
  const std::string where = repository_text(repository) + "/" + printable(file.path);
  const Url url(access_.endpoint + "/" + (repository.dataset ? "datasets/" : "") +
                url_quoted(repository.repository, true) + "/resolve/" + commit + "/" +
                url_quoted(file.path, true));
  const auto holds_file = [](const HttpHead& head) {
    return head.status == 200 || head.status == 206;
  };
  uint64_t next = from;
  bool begun = false;
  const HttpHead head = get(
      url, from, limit, [&](const HttpHead& hop) { check_file_head(hop, commit, file, where); },
      [&](const HttpHead& seen, std::string_view piece) {
        if (!holds_file(seen)) {
          return;  // the text of an error
        }
        if (!begun) {
          next = first_byte(seen, from, file.size, where);
          begun = true;
        }
        if (piece.size() > file.size - next) {
          fail(QUENCH_DATA_LOSS, "{}: the server sends more than the {} bytes that the hub lists",
               where, file.size);
        }
        take(next, piece);
        next += piece.size();
      });
  if (!holds_file(head)) {
    HubSpec what = repository;
    what.revision = commit;
    throw_refusal(head, access_, what, file.path);
  }
  if (next != file.size) {
    throw TryAgain(fmt::format("{}: {} of {} bytes came", where, next, file.size));
  }
}

}  // namespace quench
