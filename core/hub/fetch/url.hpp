// URLs of the hub and of the hosts that it redirects to.
#pragma once

#include <string>
#include <string_view>

namespace quench {

class Url {
 public:
  // Takes http and https only, and no user or password in it. Throws Error(INVALID_ARGUMENT), whose
  // message shows no part behind a '?'.
  explicit Url(const std::string& text);

  // Where a redirect leads: `location` may be relative. Throws like the constructor.
  Url joined(const std::string& location) const;

  const std::string& text() const { return text_; }
  // "https://host:443": what decides who may see a token.
  const std::string& origin() const { return origin_; }
  bool is_https() const { return origin_.starts_with("https:"); }

 private:
  std::string text_;
  std::string origin_;
};

// Percent-encodes everything but letters, digits and "-._~"; keeps '/' if `keep_slashes`.
std::string url_quoted(std::string_view text, bool keep_slashes);

}  // namespace quench
