// libcurl, which is loaded when something is first fetched: with the thirty libraries that it
// brings every start of the program would take 6 ms more.
#pragma once

#include <curl/curl.h>

namespace quench {

// The functions that are used here, with libcurl's own types.
struct LibCurl {
  decltype(&curl_global_init) global_init;
  decltype(&curl_easy_init) easy_init;
  decltype(&curl_easy_cleanup) easy_cleanup;
  decltype(&curl_easy_reset) easy_reset;
  decltype(&curl_easy_setopt) easy_setopt;
  decltype(&curl_easy_getinfo) easy_getinfo;
  decltype(&curl_easy_perform) easy_perform;
  decltype(&curl_easy_strerror) easy_strerror;
  decltype(&curl_slist_append) slist_append;
  decltype(&curl_slist_free_all) slist_free_all;
  decltype(&curl_url) url;
  decltype(&curl_url_cleanup) url_cleanup;
  decltype(&curl_url_get) url_get;
  decltype(&curl_url_set) url_set;
  decltype(&curl_free) free;
};

// Loaded and started on the first call; stays loaded. Throws Error(FAILED_PRECONDITION) where it is
// not installed. [thread-safe]
const LibCurl& libcurl();

}  // namespace quench
