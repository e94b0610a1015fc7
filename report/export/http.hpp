// HTTP requests by libcurl. The first request loads the library: linked into the program, it would
// load about thirty libraries at every start.
#pragma once

#include <string>

namespace quench {

struct HttpReply {
  long status = 0;
  std::string body;
};

// Posts a JSON body; at most 30 seconds, replies of at most 64 MiB, http and https only, no
// redirects. Throws Error: UNSUPPORTED if libcurl is not installed, FAILED_PRECONDITION naming the
// URL if there is no reply.
HttpReply http_post_json(const std::string& url, const std::string& body);

}  // namespace quench
