#include "core/hub/fetch/libcurl.hpp"

#include <dlfcn.h>

#include "core/error.hpp"

namespace quench {

namespace {

constexpr const char* kLibrary = "libcurl.so.4";

template <typename Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) {
    fail(QUENCH_FAILED_PRECONDITION, "{} has no function {}; wanted libcurl 7.85 or newer",
         kLibrary, name);
  }
}

LibCurl load() {
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    fail(QUENCH_FAILED_PRECONDITION,
         "libcurl, by which quench fetches, cannot be loaded ({}); Debian's package is libcurl4",
         printable(dlerror(), 200));
  }
  LibCurl out{};
  find(library, "curl_global_init", out.global_init);
  find(library, "curl_easy_init", out.easy_init);
  find(library, "curl_easy_cleanup", out.easy_cleanup);
  find(library, "curl_easy_reset", out.easy_reset);
  find(library, "curl_easy_setopt", out.easy_setopt);
  find(library, "curl_easy_getinfo", out.easy_getinfo);
  find(library, "curl_easy_perform", out.easy_perform);
  find(library, "curl_easy_strerror", out.easy_strerror);
  find(library, "curl_slist_append", out.slist_append);
  find(library, "curl_slist_free_all", out.slist_free_all);
  find(library, "curl_url", out.url);
  find(library, "curl_url_cleanup", out.url_cleanup);
  find(library, "curl_url_get", out.url_get);
  find(library, "curl_url_set", out.url_set);
  find(library, "curl_free", out.free);
  if (out.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
    fail(QUENCH_INTERNAL, "libcurl could not be started");
  }
  return out;
}

}  // namespace

const LibCurl& libcurl() {
  static const LibCurl kLoaded = load();
  return kLoaded;
}

}  // namespace quench
