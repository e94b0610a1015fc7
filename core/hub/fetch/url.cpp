#include "core/hub/fetch/url.hpp"

#include <memory>

#include "core/error.hpp"
#include "core/hub/fetch/libcurl.hpp"

namespace quench {

namespace {

struct FreeUrl {
  void operator()(CURLU* url) const { libcurl().url_cleanup(url); }
};
using UrlParts = std::unique_ptr<CURLU, FreeUrl>;

// What a signed URL grants stands behind its '?', so messages leave that out.
std::string shown(const std::string& text) {
  return printable(text.substr(0, text.find_first_of("?#")), 300);
}

std::string part(CURLU* url, CURLUPart which, unsigned flags) {
  char* text = nullptr;
  if (libcurl().url_get(url, which, &text, flags) != CURLUE_OK) {
    return "";
  }
  std::string out = text;
  libcurl().free(text);
  return out;
}

}  // namespace

Url::Url(const std::string& text) {
  const UrlParts parts(libcurl().url());
  const CURLUcode code =
      libcurl().url_set(parts.get(), CURLUPART_URL, text.c_str(), CURLU_DISALLOW_USER);
  if (code == CURLUE_USER_NOT_ALLOWED) {
    fail(QUENCH_INVALID_ARGUMENT, "a URL has a user or a password in it, wanted one without");
  }
  const std::string scheme = part(parts.get(), CURLUPART_SCHEME, 0);
  if (code != CURLUE_OK || (scheme != "http" && scheme != "https") ||
      text.find('\0') != std::string::npos) {
    fail(QUENCH_INVALID_ARGUMENT, "got the URL '{}', wanted one that begins with https://",
         shown(text));
  }
  text_ = part(parts.get(), CURLUPART_URL, 0);
  origin_ = scheme + "://" + part(parts.get(), CURLUPART_HOST, 0) + ":" +
            part(parts.get(), CURLUPART_PORT, CURLU_DEFAULT_PORT);
}

Url Url::joined(const std::string& location) const {
  const UrlParts parts(libcurl().url());
  libcurl().url_set(parts.get(), CURLUPART_URL, text_.c_str(), 0);
  // An absolute location with a scheme of its own replaces all, and is then checked like any other.
  if (libcurl().url_set(parts.get(), CURLUPART_URL, location.c_str(), CURLU_NON_SUPPORT_SCHEME) !=
      CURLUE_OK) {
    fail(QUENCH_INVALID_ARGUMENT, "got the URL '{}', wanted one that begins with https://",
         shown(location));
  }
  return Url(part(parts.get(), CURLUPART_URL, 0));
}

std::string url_quoted(std::string_view text, bool keep_slashes) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~' || (keep_slashes && c == '/');
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

}  // namespace quench
