#include "report/export/http.hpp"

#include <curl/curl.h>
#include <dlfcn.h>

#include <memory>

#include "core/error.hpp"

namespace quench {

namespace {

constexpr size_t kMaxReply = size_t{64} << 20;
constexpr long kSeconds = 30;

// The functions of libcurl that this file uses.
struct Curl {
  decltype(&curl_global_init) global_init;
  decltype(&curl_easy_init) init;
  decltype(&curl_easy_setopt) setopt;
  decltype(&curl_easy_perform) perform;
  decltype(&curl_easy_getinfo) getinfo;
  decltype(&curl_easy_cleanup) cleanup;
  decltype(&curl_easy_strerror) text;
  decltype(&curl_slist_append) append;
  decltype(&curl_slist_free_all) free_all;
};

template <typename Function>
void look_up(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) {
    fail(QUENCH_UNSUPPORTED, "libcurl.so.4: has no {}", name);
  }
}

const Curl& curl() {
  static const Curl kCurl = [] {
    void* library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      fail(QUENCH_UNSUPPORTED, "libcurl.so.4 is needed for HTTP and cannot be loaded: {}",
           printable(dlerror(), 200));
    }
    Curl out{};
    look_up(library, "curl_global_init", out.global_init);
    look_up(library, "curl_easy_init", out.init);
    look_up(library, "curl_easy_setopt", out.setopt);
    look_up(library, "curl_easy_perform", out.perform);
    look_up(library, "curl_easy_getinfo", out.getinfo);
    look_up(library, "curl_easy_cleanup", out.cleanup);
    look_up(library, "curl_easy_strerror", out.text);
    look_up(library, "curl_slist_append", out.append);
    look_up(library, "curl_slist_free_all", out.free_all);
    out.global_init(CURL_GLOBAL_DEFAULT);
    return out;
  }();
  return kCurl;
}

size_t take_reply(char* data, size_t size, size_t count, void* to) {
  auto& body = *static_cast<std::string*>(to);
  if (body.size() + size * count > kMaxReply) {
    return 0;  // ends the transfer
  }
  body.append(data, size * count);
  return size * count;
}

}  // namespace

HttpReply http_post_json(const std::string& url, const std::string& body) {
  const Curl& c = curl();
  const std::unique_ptr<CURL, decltype(c.cleanup)> handle(c.init(), c.cleanup);
  const std::unique_ptr<curl_slist, decltype(c.free_all)> headers(
      c.append(nullptr, "Content-Type: application/json"), c.free_all);
  if (handle == nullptr || headers == nullptr) {
    fail(QUENCH_RESOURCE_EXHAUSTED, "{}: libcurl gives no handle", printable(url, 400));
  }
  HttpReply reply;
  c.setopt(handle.get(), CURLOPT_URL, url.c_str());
  c.setopt(handle.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  c.setopt(handle.get(), CURLOPT_NOSIGNAL, 1L);
  c.setopt(handle.get(), CURLOPT_TIMEOUT, kSeconds);
  c.setopt(handle.get(), CURLOPT_HTTPHEADER, headers.get());
  c.setopt(handle.get(), CURLOPT_POSTFIELDS, body.data());
  c.setopt(handle.get(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  c.setopt(handle.get(), CURLOPT_WRITEFUNCTION, take_reply);
  c.setopt(handle.get(), CURLOPT_WRITEDATA, &reply.body);
  if (const CURLcode code = c.perform(handle.get()); code != CURLE_OK) {
    fail(QUENCH_FAILED_PRECONDITION, "{}: {}", printable(url, 400), c.text(code));
  }
  c.getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &reply.status);
  return reply;
}

}  // namespace quench
