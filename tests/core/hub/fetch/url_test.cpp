#include "core/hub/fetch/url.hpp"

#include <catch2/catch.hpp>

#include "tests/support/throws.hpp"

using quench::Url;
using quench::test::message_of;

TEST_CASE("url: an origin is scheme, host and port, whatever follows", "[fetch]") {
  CHECK(Url("https://huggingface.co/a/b?c=d").origin() == "https://huggingface.co:443");
  CHECK(Url("http://127.0.0.1:8080").origin() == "http://127.0.0.1:8080");
  CHECK(Url("HTTPS://Host.example/").origin() == Url("https://Host.example:443/x").origin());
  CHECK(Url("https://a.example").origin() != Url("https://a.example:444").origin());
  CHECK(Url("http://a.example").origin() != Url("https://a.example").origin());
  CHECK(Url("https://a.example").is_https());
  CHECK_FALSE(Url("http://a.example").is_https());
}

TEST_CASE("url: a redirect may be relative, or lead to another host", "[fetch]") {
  const Url from("https://hub.example/org/old/resolve/main/x");
  CHECK(from.joined("/org/new/resolve/main/x").text() ==
        "https://hub.example/org/new/resolve/main/x");
  CHECK(from.joined("https://cdn.example/x?s=1").origin() == "https://cdn.example:443");
  CHECK(from.joined("//cdn.example/x").origin() == "https://cdn.example:443");
}

TEST_CASE("url: other schemes, users and passwords are refused, and no query is shown", "[fetch]") {
  const std::string wanted = "', wanted one that begins with https://";
  CHECK(message_of([] { Url("file:///etc/passwd"); }) ==
        "got the URL 'file:///etc/passwd" + wanted);
  CHECK(message_of([] { Url("ftp://a.example/x?signature=1"); }) ==
        "got the URL 'ftp://a.example/x" + wanted);
  CHECK(message_of([] { Url(""); }) == "got the URL '" + wanted);
  CHECK(message_of([] { Url("https://"); }) == "got the URL 'https://" + wanted);
  CHECK(message_of([] { Url("https://me:secret@a.example/"); }) ==
        "a URL has a user or a password in it, wanted one without");
  const Url from("https://hub.example/x");
  CHECK(message_of([&] { from.joined("file:///etc/passwd"); }) ==
        "got the URL 'file:///etc/passwd" + wanted);
  CHECK(message_of([&] { from.joined("gopher://a.example/"); }) ==
        "got the URL 'gopher://a.example/" + wanted);
}

TEST_CASE("url: names are percent-encoded", "[fetch]") {
  CHECK(quench::url_quoted("refs/pr/1", false) == "refs%2Fpr%2F1");
  CHECK(quench::url_quoted("a b/c#?%&+\xC3\xA4.json", true) == "a%20b/c%23%3F%25%26%2B%C3%A4.json");
}
