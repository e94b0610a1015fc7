#include "core/hub/fetch/hub_access.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>

#include "tests/support/temporary.hpp"
#include "tests/support/throws.hpp"

using quench::HubAccess;
using quench::HubEnvironment;
using quench::test::message_of;
using quench::test::TemporaryDir;

namespace {

// Sets the hub's variables for a while, and no others of them.
class Variables {
 public:
  explicit Variables(const std::map<std::string, std::string>& values) {
    for (const char* name : kNames) {
      unsetenv(name);
    }
    for (const auto& [name, value] : values) {
      setenv(name.c_str(), value.c_str(), 1);
    }
  }
  ~Variables() {
    for (const char* name : kNames) {
      unsetenv(name);
    }
  }
  Variables(const Variables&) = delete;
  Variables& operator=(const Variables&) = delete;

 private:
  static constexpr const char* kNames[] = {"HF_ENDPOINT",
                                           "HF_TOKEN",
                                           "HUGGING_FACE_HUB_TOKEN",
                                           "HF_TOKEN_PATH",
                                           "HF_HUB_OFFLINE",
                                           "TRANSFORMERS_OFFLINE",
                                           "HF_HUB_DOWNLOAD_TIMEOUT"};
};

HubAccess access(const std::map<std::string, std::string>& values,
                 const HubEnvironment& environment = {}) {
  const Variables set(values);
  return quench::hub_access_from_process(environment);
}

}  // namespace

TEST_CASE("hub access: without variables it is the public hub, without a token", "[fetch]") {
  const HubAccess found = access({});
  CHECK(found.endpoint == "https://huggingface.co");
  CHECK(found.token.empty());
  CHECK_FALSE(found.offline);
  CHECK(found.silence_seconds == 10);
}

TEST_CASE("hub access: the token is the variable's, else the file's", "[fetch]") {
  const TemporaryDir home;
  home.write("token", "hf_file\n");
  home.write("other", " hf_other ");
  HubEnvironment environment;
  environment.hf_home = home.path().string();
  CHECK(access({}, environment).token == "hf_file");
  CHECK(access({}, environment).token_from == home / "token");
  CHECK(access({{"HF_TOKEN_PATH", home / "other"}}, environment).token == "hf_other");
  CHECK(access({{"HF_TOKEN", "hf_variable"}}, environment).token == "hf_variable");
  CHECK(access({{"HF_TOKEN", "hf_variable"}}, environment).token_from == "HF_TOKEN");
  CHECK(access({{"HUGGING_FACE_HUB_TOKEN", "hf_old"}}, environment).token == "hf_old");
  environment.hf_home.clear();
  home.write("cache/huggingface/token", "hf_xdg");
  environment.xdg_cache_home = home / "cache";
  CHECK(access({}, environment).token == "hf_xdg");
  environment.xdg_cache_home.clear();
  home.write(".cache/huggingface/token", "hf_home");
  environment.home = home.path().string();
  CHECK(access({}, environment).token == "hf_home");
}

TEST_CASE("hub access: a token with a line break is refused and not shown", "[fetch]") {
  CHECK(message_of([] {
          access({{"HF_TOKEN", "hf_a\r\nHost: x"}});
        }) == "HF_TOKEN: got something else than a token, wanted one word");
}

TEST_CASE("hub access: a mirror, patience and being offline", "[fetch]") {
  CHECK(access({{"HF_ENDPOINT", "https://mirror.example/hf/"}}).endpoint ==
        "https://mirror.example/hf");
  CHECK(message_of([] {
          access({{"HF_ENDPOINT", "mirror"}});
        }) == "HF_ENDPOINT: got the URL 'mirror', wanted one that begins with https://");
  CHECK(message_of([] {
          access({{"HF_ENDPOINT", "https://me:secret@mirror"}});
        }) == "HF_ENDPOINT: a URL has a user or a password in it, wanted one without");
  for (const char* more : {"/?token=secret", "?token=secret", "/hf#secret"}) {
    CHECK(message_of([&] {
            access({{"HF_ENDPOINT", "https://mirror" + std::string(more)}});
          }) == "HF_ENDPOINT: a URL has something behind a `?` or `#`, wanted one without");
  }
  for (const char* value : {"1", "true", "YES", "on"}) {
    CHECK(access({{"HF_HUB_OFFLINE", value}}).offline);
  }
  CHECK(access({{"TRANSFORMERS_OFFLINE", "1"}}).offline);
  CHECK_FALSE(access({{"HF_HUB_OFFLINE", "0"}}).offline);
  CHECK(access({{"HF_HUB_DOWNLOAD_TIMEOUT", "60"}}).silence_seconds == 60);
  CHECK(message_of([] {
          access({{"HF_HUB_DOWNLOAD_TIMEOUT", "soon"}});
        }) == "HF_HUB_DOWNLOAD_TIMEOUT: got 'soon', wanted seconds from 1 to 86400");
}

TEST_CASE("hub access: a token is taken out of foreign text, wherever it stands", "[fetch]") {
  HubAccess with;
  with.token = "hf_x";
  CHECK(quench::without_token("hf_xhf_x and hf_y", with) == "[token][token] and hf_y");
  CHECK(quench::without_token("nothing", HubAccess()) == "nothing");
}
