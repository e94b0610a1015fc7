#include "core/hub/fetch/http.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <random>
#include <thread>
#include <utility>

#include "core/hub/fetch/libcurl.hpp"
#include "core/parse_text.hpp"
#include "core/version.hpp"

namespace quench {

namespace {

constexpr long kConnectMilliseconds = 10'000;
constexpr long kReceiveBuffer = 512L << 10;
constexpr size_t kMaxHeadBytes = 256u << 10;

struct FreeList {
  void operator()(curl_slist* list) const { libcurl().slist_free_all(list); }
};

bool may_pass(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_PARTIAL_FILE:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
      return true;
    default:
      return false;
  }
}

// A request may take a day; libcurl wants a long.
long milliseconds_left(const TimeLimit& limit) {
  using Milliseconds = std::chrono::milliseconds;
  const auto left =
      std::chrono::duration_cast<Milliseconds>(limit.ends - std::chrono::steady_clock::now());
  return static_cast<long>(std::max(left, Milliseconds(0)).count());
}

// Whether the proxy's address is no address.
bool is_odd_proxy(std::string_view reason) {
  return reason.starts_with("Unsupported proxy");
}

// What went wrong. libcurl's words about a proxy quote its address, and a password may be in it.
std::string words_of(CURLcode code, const char* reason) {
  if (code == CURLE_COULDNT_RESOLVE_PROXY || is_odd_proxy(reason)) {
    return "the proxy in https_proxy, http_proxy or all_proxy is not found, or its address cannot "
           "be read; in a password `#`, `/`, `@` and a space are %23, %2F, %40 and %20";
  }
  return printable(reason[0] != '\0' ? reason : libcurl().easy_strerror(code), 300);
}

[[noreturn]] void fail_late(const HttpRequest& request) {
  fail(QUENCH_FAILED_PRECONDITION,
       "{}: too slow: not all has come in {:.0f} s; the same command goes on with what has",
       request.url.origin(), request.limit.seconds);
}

}  // namespace

std::string HttpHead::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

// One request on its way, as libcurl's callbacks see it.
struct Http::Exchange {
  CURL* curl;
  const Body& body;
  const std::atomic<bool>* cancel;
  HttpHead head = {};
  size_t head_bytes = 0;
  std::exception_ptr failure = nullptr;

  // Runs `work` and keeps what it throws, which must not cross libcurl.
  template <typename Work>
  size_t take(size_t bytes, Work work) noexcept {
    try {
      work();
      return bytes;
    } catch (...) {
      failure = std::current_exception();
      return bytes == 0 ? 1 : 0;  // anything else than `bytes` ends the transfer
    }
  }

  void take_header(std::string_view line) {
    head_bytes += line.size();
    if (head_bytes > kMaxHeadBytes) {
      fail(QUENCH_DATA_LOSS, "the reply's head has more than {} bytes", kMaxHeadBytes);
    }
    if (line.starts_with("HTTP/")) {  // of the reply, after those of "100 Continue" and proxies
      head.headers.clear();
      return;
    }
    constexpr const char* kBlanks = " \t\r\n";
    const size_t colon = line.find(':');
    if (colon != std::string_view::npos) {
      std::string name(trimmed(line.substr(0, colon), kBlanks));
      std::transform(name.begin(), name.end(), name.begin(), [](char c) {
        return static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
      });
      head.headers[name] = trimmed(line.substr(colon + 1), kBlanks);
    }
  }

  void take_body(std::string_view piece) {
    if (head.status == 0) {
      complete_head();
    }
    body(head, piece);
  }

  void complete_head() {
    long status = 0;
    libcurl().easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_off_t wait = 0;
    libcurl().easy_getinfo(curl, CURLINFO_RETRY_AFTER, &wait);
    head.status = static_cast<int>(status);
    if (head.headers.contains("retry-after")) {
      head.retry_after = static_cast<double>(wait);
    }
  }

  static size_t on_header(char* data, size_t size, size_t count, void* self) noexcept {
    auto& exchange = *static_cast<Exchange*>(self);
    return exchange.take(size * count, [&] { exchange.take_header({data, size * count}); });
  }
  static size_t on_body(char* data, size_t size, size_t count, void* self) noexcept {
    auto& exchange = *static_cast<Exchange*>(self);
    return exchange.take(size * count, [&] { exchange.take_body({data, size * count}); });
  }
  static int on_progress(void* self, curl_off_t /*total*/, curl_off_t /*now*/,
                         curl_off_t /*up_total*/, curl_off_t /*up*/) noexcept {
    const auto& exchange = *static_cast<Exchange*>(self);
    return exchange.cancel != nullptr && *exchange.cancel ? 1 : 0;
  }
};

Http::Http(double silence_seconds, const std::atomic<bool>* cancel)
    : silence_seconds_(silence_seconds), cancel_(cancel) {
  curl_ = libcurl().easy_init();
  if (curl_ == nullptr) {
    fail(QUENCH_INTERNAL, "libcurl could not be started");
  }
}

Http::~Http() {
  libcurl().easy_cleanup(curl_);
}

HttpHead Http::get(const HttpRequest& request, const Body& body) {
  constexpr long kSoon = 10;  // ms
  const long left = milliseconds_left(request.limit);
  if (left < kSoon) {
    fail_late(request);
  }
  const LibCurl& lib = libcurl();
  CURL* curl = curl_;
  Exchange exchange{curl, body, cancel_};
  char reason[CURL_ERROR_SIZE] = "";
  curl_slist* lines = lib.slist_append(nullptr, "Accept-Encoding: identity");
  if (!request.token.empty()) {
    lines = lib.slist_append(lines, ("Authorization: Bearer " + request.token).c_str());
  }
  const std::unique_ptr<curl_slist, FreeList> header(lines);
  const std::string agent = std::string("quench/") + kVersion;
  const std::string range = std::to_string(request.from) + "-";
  lib.easy_reset(curl);  // keeps its connections
  lib.easy_setopt(curl, CURLOPT_URL, request.url.text().c_str());
  lib.easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  lib.easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  lib.easy_setopt(curl, CURLOPT_HTTPHEADER, header.get());
  lib.easy_setopt(curl, CURLOPT_HEADEROPT, static_cast<long>(CURLHEADER_SEPARATE));
  lib.easy_setopt(curl, CURLOPT_USERAGENT, agent.c_str());
  lib.easy_setopt(curl, CURLOPT_RANGE, request.from > 0 ? range.c_str() : nullptr);
  lib.easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  lib.easy_setopt(curl, CURLOPT_BUFFERSIZE, kReceiveBuffer);
  lib.easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
  lib.easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, kConnectMilliseconds);
  lib.easy_setopt(curl, CURLOPT_TIMEOUT_MS, left);
  lib.easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  lib.easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, std::max(1L, static_cast<long>(silence_seconds_)));
  lib.easy_setopt(curl, CURLOPT_ERRORBUFFER, reason);
  lib.easy_setopt(curl, CURLOPT_HEADERFUNCTION, &Exchange::on_header);
  lib.easy_setopt(curl, CURLOPT_HEADERDATA, &exchange);
  lib.easy_setopt(curl, CURLOPT_WRITEFUNCTION, &Exchange::on_body);
  lib.easy_setopt(curl, CURLOPT_WRITEDATA, &exchange);
  lib.easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  lib.easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, &Exchange::on_progress);
  lib.easy_setopt(curl, CURLOPT_XFERINFODATA, &exchange);
  const CURLcode code = lib.easy_perform(curl);
  if (exchange.failure) {
    std::rethrow_exception(exchange.failure);
  }
  stop_if_asked(cancel_);
  if (code == CURLE_OPERATION_TIMEDOUT && milliseconds_left(request.limit) < kSoon) {
    fail_late(request);
  }
  if (code != CURLE_OK) {
    const std::string message = fmt::format("{}: {}", request.url.origin(), words_of(code, reason));
    if (may_pass(code) && !is_odd_proxy(reason)) {
      throw TryAgain(message);
    }
    fail(QUENCH_FAILED_PRECONDITION, "{}", message);
  }
  exchange.complete_head();
  return std::move(exchange.head);
}

namespace {

void pause(double seconds, const std::atomic<bool>* cancel) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kLook{50};
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  while (Clock::now() < end) {
    stop_if_asked(cancel);
    std::this_thread::sleep_for(std::min<Clock::duration>(
        kLook, std::chrono::duration_cast<Clock::duration>(end - Clock::now())));
  }
}

// Seconds before the next try, of which `last` is the part that doubles.
double seconds_after(const TryAgain& failure, const RetryPolicy& policy, int failures,
                     double& last) {
  static thread_local std::mt19937 random{std::random_device{}()};
  if (failures >= policy.tries) {
    fail(QUENCH_FAILED_PRECONDITION, "{}; gave up after {} tries", failure.what(), policy.tries);
  }
  const double asked = failure.wait_seconds().value_or(0);
  if (asked > policy.longest_asked_seconds) {
    fail(QUENCH_FAILED_PRECONDITION, "{}; the server asks for {:.0f} s without requests",
         failure.what(), asked);
  }
  last = std::min(failures == 1 ? policy.first_seconds : 2 * last, policy.longest_seconds);
  return asked + last * std::uniform_real_distribution<double>(0.5, 1.0)(random);
}

}  // namespace

void retry(const RetryPolicy& policy, const std::function<void(int& failures)>& work) {
  int failures = 0;
  double last = 0;
  for (;;) {
    try {
      work(failures);
      return;
    } catch (const TryAgain& failure) {
      const double seconds = seconds_after(failure, policy, ++failures, last);
      policy.on_wait(fmt::format("{}; trying again in {:.1f} s ({} of {})", failure.what(), seconds,
                                 failures + 1, policy.tries));
      pause(seconds, policy.cancel);
    }
  }
}

}  // namespace quench
