// What a hub answers: plain paths, hashes and commits, or an Error. The first byte says which
// reply.
#include <cstdint>
#include <cstdlib>

#include "core/hub/fetch/hub_replies.hpp"
#include "core/hub/fetch/url.hpp"

namespace {

void expect(bool promise) {
  if (!promise) {
    std::abort();
  }
}

void read_reply(char kind, const std::string& text) {
  if (kind == 'r') {
    for (const auto& [name, commit] : quench::read_references(text, "hf://org/name")) {
      expect(quench::is_plain_path(name) && quench::is_commit(commit));
    }
  } else if (kind == 'c') {
    expect(quench::is_commit(quench::read_commit(text, "hf://org/name")));
  } else if (kind == 't') {
    std::vector<quench::HubFile> files;
    quench::read_tree(text, "hf://org/name", files);
    for (const quench::HubFile& file : files) {
      const bool hexadecimal = file.hash.find_first_not_of("0123456789abcdef") == std::string::npos;
      expect(quench::is_plain_path(file.path) && hexadecimal &&
             (file.hash.size() == 40 || file.hash.size() == 64));
    }
  } else {
    const quench::Url from("https://hub.example/org/name?a=b");
    const quench::Url to = from.joined(quench::next_page(text));
    expect(to.origin().starts_with("http://") || to.origin().starts_with("https://"));
    expect(to.origin().find('@') == std::string::npos);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  try {
    read_reply(static_cast<char>(data[0]),
               std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  } catch (const quench::Error&) {
  }
  return 0;
}
