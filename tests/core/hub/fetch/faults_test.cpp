// What hubs and lines do wrong: each fault ends right, or with one line that says what to do.
#include <catch2/catch.hpp>
#include <chrono>

#include "core/hub/resolve.hpp"
#include "tests/core/hub/fetch/scene.hpp"
#include "tests/support/throws.hpp"

namespace fs = std::filesystem;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using quench::test::FetchScene;

namespace {

const std::string kToken = "hf_SecretSecretSecret";

struct Scene : FetchScene {
  explicit Scene(const std::vector<std::string>& options) {
    server.add_model("org/name/main");
    server.start(options);
  }
  size_t incomplete() const {
    size_t count = 0;
    for (const auto& entry : fs::directory_iterator(blobs())) {
      count += entry.path().extension() == ".incomplete" ? 1 : 0;
    }
    return count;
  }
};

}  // namespace

TEST_CASE("faults: those that pass are outlived", "[fetch]") {
  const auto [fault, waits] = GENERATE(values<std::pair<std::string, size_t>>({
      {"cut:safetensors:50000", 5},  // always, but each time there is more
      {"cut:safetensors:0:2", 2},    // before the first byte
      {"cut:config.json:5:1", 1},
      {"cut:/tree/:10:1", 1},
      {"short:safetensors:1000:1", 1},
      {"stall:safetensors:1000:1", 1},  // as long as silence may last
      {"status:safetensors:503:2", 2},
      {"status:/refs:500:1", 1},
      {"status:/tree/:429:1", 1},
      {"flip:safetensors:123:1", 1},
      {"flip:config.json:3:1", 1},
      {"slow:safetensors:20000", 0},
      {"badrange:safetensors::1", 0},  // nobody asked for a range
      {"norange:safetensors", 0},
  }));
  CAPTURE(fault);
  Scene scene({"--fault", fault});
  CHECK(scene.failure("hf://org/name") == "");
  CHECK(scene.waits.size() == waits);
  CHECK(scene.has_weights("hf://org/name"));
  CHECK(scene.incomplete() == 0);
}

TEST_CASE("faults: those that stay end in one line, and nothing gets a name", "[fetch]") {
  struct Case {
    std::string fault;
    std::string message;
  };
  const auto [fault, message] = GENERATE(values<Case>({
      {"cut:safetensors:0", "; gave up after 5 tries"},
      {"short:safetensors:1000", "hf://org/name/model.safetensors: "},
      {"long:safetensors:5",
       "hf://org/name/model.safetensors: the server sends more than the 300000 bytes that the hub "
       "lists"},
      {"flip:safetensors:123",
       "hf://org/name: model.safetensors: what came has another hash than "},
      {"status:/refs:503", "hf://org/name: HUB answers 503: told to; gave up after 5 tries"},
      {"status:/tree/:418", "hf://org/name: HUB answers 418, wanted 200: told to"},
      {"garbage:/refs:100000", "hf://org/name: the hub's reply makes no sense: reply:1:"},
      {"garbage:/tree/:0", "hf://org/name: the hub's reply makes no sense: reply:1:"},
      {"commit:safetensors",
       "hf://org/name/model.safetensors: the server has it of commit ffffffffff"},
      {"loop:safetensors", "HUB"},
      {"scheme:safetensors",
       "got the URL 'file:///etc/passwd', wanted one that begins with https://"},
  }));
  CAPTURE(fault);
  Scene scene({"--fault", fault});
  const std::string got = scene.failure("hf://org/name");
  CHECK_THAT(got, Contains(message));
  CHECK(got.find('\n') == std::string::npos);
  CHECK(got.find("Signature") == std::string::npos);
  CHECK_FALSE(fs::exists(scene.cache() / "models--org--name/refs/main"));
  CHECK(fs::exists(scene.cache() / "models--org--name/snapshots") ==
        fs::exists(scene.cache() / "models--org--name"));
}

TEST_CASE("faults: a server that ignores ranges and cuts the line makes no progress", "[fetch]") {
  Scene scene({"--fault", "norange:safetensors", "--fault", "cut:safetensors:100000"});
  CHECK_THAT(scene.failure("hf://org/name"), Contains("gave up after 5 tries"));
}

TEST_CASE("faults: a server without end is left, and what came of a file is kept", "[fetch]") {
  const auto [fault, message] = GENERATE(values<std::pair<std::string, std::string>>({
      {"pages:/tree/", "hf://org/name: the list of its files has 10 pages without a file in a row"},
      {"drip:/tree/:2", "HUB: too slow: not all has come in 2 s"},
      {"drip:safetensors:2", ": too slow: not all has come in 2 s"},
  }));
  CAPTURE(fault);
  Scene scene({"--fault", fault});
  scene.access.whole_seconds = 2;
  scene.access.slowest_bytes_per_second = 1e9;
  const auto start = std::chrono::steady_clock::now();
  CHECK_THAT(scene.failure("hf://org/name"), Contains(message));
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
  if (fault.starts_with("drip:safetensors")) {
    CHECK(scene.incomplete() == 1);
  }
}

TEST_CASE("faults: a range from elsewhere is refused, and a whole answer to a range starts over",
          "[fetch]") {
  Scene wrong({"--fault", "cut:safetensors:100000:1", "--fault", "badrange:safetensors::1"});
  CHECK(wrong.failure("hf://org/name") == "");
  CHECK(wrong.waits.size() == 2);
  CHECK(wrong.has_weights("hf://org/name"));
  Scene whole({"--fault", "cut:safetensors:100000:1", "--fault", "norange:safetensors"});
  CHECK(whole.failure("hf://org/name") == "");
  CHECK(whole.has_weights("hf://org/name"));
}

TEST_CASE("faults: a file that changes between two ranges is fetched anew", "[fetch]") {
  // The first answer has other bytes from 10 on and ends at 100,000; the second goes on with the
  // right ones, so only the hash can tell.
  Scene scene({"--fault", "change:safetensors:10:1", "--fault", "cut:safetensors:100000:1"});
  CHECK(scene.failure("hf://org/name") == "");
  CHECK(scene.has_weights("hf://org/name"));
  REQUIRE(scene.waits.size() == 2);
  CHECK_THAT(scene.waits[1], Contains("what came is damaged"));
}

TEST_CASE("faults: 429 waits as long as the server asks", "[fetch]") {
  Scene scene({"--fault", "status:safetensors:429:1"});
  const auto start = std::chrono::steady_clock::now();
  CHECK(scene.failure("hf://org/name") == "");
  CHECK(std::chrono::steady_clock::now() - start >= std::chrono::seconds(1));
  scene.policy.longest_asked_seconds = 0.5;
  Scene patient({"--fault", "status:safetensors:429:1"});
  patient.policy.longest_asked_seconds = 0.5;
  CHECK_THAT(patient.failure("hf://org/name"),
             Contains("answers 429: told to; the server asks for 1 s without requests"));
}

TEST_CASE("faults: a token goes to the hub alone", "[fetch]") {
  const auto [fault, redirects] = GENERATE(values<std::pair<std::string, size_t>>({
      {"slow:nothing", 1},      // of the large file
      {"away:config.json", 2},  // and of a small one
  }));
  CAPTURE(fault);
  Scene scene({"--token", kToken, "--fault", fault});
  scene.access.token = kToken;
  scene.access.token_from = "HF_TOKEN";
  CHECK(scene.failure("hf://org/name") == "");
  size_t with = 0;
  size_t elsewhere = 0;
  for (const nlohmann::json& request : scene.server.requests()) {
    const bool has_token = !request["authorization"].is_null();
    with += has_token ? 1 : 0;
    elsewhere += request["host"] == "cdn" ? 1 : 0;
    CHECK(has_token == (request["host"] == "hub"));
  }
  CHECK(with >= 3);
  CHECK(elsewhere == redirects);
}

TEST_CASE("faults: without the right token the message says what to do", "[fetch]") {
  Scene none({"--token", kToken});
  CHECK(none.failure("hf://org/name") ==
        "hf://org/name: HUB has no such repository, or it is private and wants a token in "
        "HF_TOKEN");
  Scene gated({"--token", kToken, "--gated"});
  CHECK(gated.failure("hf://org/name") ==
        "hf://org/name/config.json: gated: log in at HUB/org/name, click \"Agree and access "
        "repository\" there, make a token that may read at HUB/settings/tokens, and set HF_TOKEN "
        "to it");
  gated.access.token = "hf_AnotherAccount";
  gated.access.token_from = "HF_TOKEN";
  CHECK(gated.failure("hf://org/name") ==
        "hf://org/name/config.json: gated, and the account of the token from HF_TOKEN has no "
        "access: log in at HUB/org/name and click \"Agree and access repository\" there");
}

TEST_CASE("faults: a token that a server repeats is not in the message", "[fetch]") {
  Scene scene({"--fault", "echo:/refs"});
  scene.access.token = kToken;
  CHECK(scene.failure("hf://org/name") ==
        "hf://org/name: HUB answers 400, wanted 200: got Bearer [token]");
}

TEST_CASE("faults: nobody listens", "[fetch]") {
  FetchScene scene;
  scene.server.add_model("org/name/main");
  scene.server.start();
  const std::string endpoint = scene.server.endpoint();
  quench::HubAccess access;
  access.endpoint = "http://127.0.0.1:1";
  quench::RetryPolicy policy;
  policy.first_seconds = 0.01;
  quench::HubApi api(access, policy);
  CHECK_THAT(quench::test::message_of([&] { api.references(quench::parse_hub_spec("hf://a/b")); }),
             StartsWith("http://127.0.0.1:1: ") && Contains("gave up after 5 tries"));
}
