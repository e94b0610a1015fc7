// Requests over HTTP, by libcurl, which is loaded when the first one is made: linked into the
// program it would bring some thirty libraries into every start.
#pragma once

#include <string>

namespace quench {

struct HttpReply {
  long status = 0;
  std::string body;
};

// POST of a JSON body, at most 30 seconds, replies of at most 64 MiB, http and https alone, no
// redirects. Throws Error: UNSUPPORTED where libcurl is not installed, FAILED_PRECONDITION naming
// the URL where no reply comes.
HttpReply http_post_json(const std::string& url, const std::string& body);

}  // namespace quench
