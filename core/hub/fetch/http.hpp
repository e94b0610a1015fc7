// One HTTP request at a time, by libcurl.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.hpp"
#include "core/hub/fetch/url.hpp"

namespace quench {

// A failure that another try may not meet: a cut line, silence, a server that is too busy.
class TryAgain : public Error {
 public:
  explicit TryAgain(const std::string& message, std::optional<double> wait_seconds = {})
      : Error(QUENCH_FAILED_PRECONDITION, message), wait_seconds_(wait_seconds) {}
  // How long the server asks to be left alone.
  std::optional<double> wait_seconds() const { return wait_seconds_; }

 private:
  std::optional<double> wait_seconds_;
};

// The time for something whole: a server that always sends a little is not silent and has no end.
struct TimeLimit {
  explicit TimeLimit(double at_most)
      : seconds(at_most),
        ends(std::chrono::steady_clock::now() +
             std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                 std::chrono::duration<double>(at_most))) {}
  double seconds;
  std::chrono::steady_clock::time_point ends;
};

struct HttpRequest {
  Url url;
  std::string token;  // sent as "Authorization: Bearer"; "": none
  uint64_t from;      // the first byte that is wanted
  TimeLimit limit;
};

struct HttpHead {
  int status = 0;
  std::map<std::string, std::string> headers;  // names in lower case
  std::optional<double> retry_after;           // seconds

  // The value of a header, or "".
  std::string header(const std::string& name) const;
};

class Http {
 public:
  // A line that stays silent for `silence_seconds` is cut. `cancel`, if there is one, ends requests
  // within about a second.
  Http(double silence_seconds, const std::atomic<bool>* cancel);
  ~Http();
  Http(const Http&) = delete;
  Http& operator=(const Http&) = delete;

  // Takes the body piece by piece; what it throws ends the request and is thrown on.
  using Body = std::function<void(const HttpHead&, std::string_view)>;
  // Sends a GET and follows no redirect. The proxies of the environment (https_proxy, no_proxy,
  // ...) are libcurl's business. Connections are kept for the next request. Throws Error: TryAgain,
  // CANCELLED, FAILED_PRECONDITION for what no other try mends, as when the time is over, DATA_LOSS
  // for a head without end.
  HttpHead get(const HttpRequest& request, const Body& body);

 private:
  struct Exchange;
  void* curl_;
  double silence_seconds_;
  const std::atomic<bool>* cancel_;
};

// What all requests of one fetch share.
struct RetryPolicy {
  int tries = 5;             // in a row without anything received
  double first_seconds = 1;  // before the second try; doubles with each
  double longest_seconds = 30;
  double longest_asked_seconds = 600;  // a server that asks for more is not waited for
  const std::atomic<bool>* cancel = nullptr;
  // One line for people on what is waited for.
  std::function<void(const std::string&)> on_wait = [](const std::string&) {};
};

// Runs `work` until it does not throw TryAgain; `failures` are those in a row, and work that gets
// something on sets them to 0. Waits before the next try as long as the server asked, else twice
// as long as the last time, less a random part, so that many processes do not come back together.
// Throws Error(FAILED_PRECONDITION) after the last try, CANCELLED, and what `work` throws.
void retry(const RetryPolicy& policy, const std::function<void(int& failures)>& work);

}  // namespace quench
