#include "core/base/io/sha256.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "core/base/io/file.hpp"
#include "core/error.hpp"

namespace quench {

namespace {

constexpr uint64_t kChunk = uint64_t{1} << 20;

void check(int result, const char* what) {
  if (result != 1) {
    // These algorithms are always there, so that it is memory that lacks, which passes.
    fail(QUENCH_UNAVAILABLE, "OpenSSL: {} failed", what);
  }
}

std::string hex(const unsigned char* bytes, unsigned count) {
  std::string out;
  for (unsigned i = 0; i < count; ++i) {
    out += fmt::format("{:02x}", bytes[i]);
  }
  return out;
}

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

// One running message digest.
class Digest {
 public:
  explicit Digest(const EVP_MD* algorithm) : context_(EVP_MD_CTX_new()) {
    check(context_ != nullptr && EVP_DigestInit_ex(context_.get(), algorithm, nullptr) == 1,
          "EVP_DigestInit_ex");
  }
  void update(const void* data, uint64_t bytes) {
    check(EVP_DigestUpdate(context_.get(), data, bytes), "EVP_DigestUpdate");
  }
  void update(const File& file, const std::atomic<bool>* cancel) {
    std::vector<char> buffer(std::min(kChunk, file.size()));
    for (uint64_t offset = 0; offset < file.size(); offset += buffer.size()) {
      const uint64_t bytes = std::min<uint64_t>(buffer.size(), file.size() - offset);
      stop_if_asked(cancel);
      file.read(offset, buffer.data(), bytes);
      update(buffer.data(), bytes);
    }
  }
  std::string hex_digest() {
    unsigned char bytes[EVP_MAX_MD_SIZE];
    unsigned count = 0;
    check(EVP_DigestFinal_ex(context_.get(), bytes, &count), "EVP_DigestFinal_ex");
    return hex(bytes, count);
  }

 private:
  std::unique_ptr<EVP_MD_CTX, FreeContext> context_;
};

}  // namespace

struct Sha256::State {
  Digest digest{EVP_sha256()};
};

Sha256::Sha256() : state_(std::make_unique<State>()) {}
Sha256::~Sha256() = default;

void Sha256::update(const void* data, uint64_t bytes) {
  state_->digest.update(data, bytes);
}

void Sha256::update_number(uint64_t value) {
  unsigned char bytes[8];
  for (unsigned char& byte : bytes) {
    byte = static_cast<unsigned char>(value & 0xFF);
    value >>= 8;
  }
  update(bytes, sizeof bytes);
}

std::string Sha256::hex_digest() {
  return state_->digest.hex_digest();
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.hex_digest();
}

uint64_t sha256_head(std::string_view bytes) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  check(EVP_Digest(bytes.data(), bytes.size(), digest, nullptr, EVP_sha256(), nullptr),
        "EVP_Digest");
  uint64_t out = 0;
  for (int i = 0; i < 8; ++i) {
    out = out << 8 | digest[i];
  }
  return out;
}

std::string sha256_of(const File& file, const std::atomic<bool>* cancel) {
  static std::mutex mutex;
  static std::map<FileIdentity, std::string> known;
  file.check_unchanged();
  {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto found = known.find(file.identity());
    if (found != known.end()) {
      return found->second;
    }
  }
  Digest digest(EVP_sha256());
  digest.update(file, cancel);
  std::string result = digest.hex_digest();
  const std::lock_guard<std::mutex> lock(mutex);
  known.emplace(file.identity(), result);
  return result;
}

std::string git_blob_id(const File& file, const std::atomic<bool>* cancel) {
  Digest digest(EVP_sha1());
  const std::string head = fmt::format("blob {}", file.size());
  digest.update(head.c_str(), head.size() + 1);
  digest.update(file, cancel);
  return digest.hex_digest();
}

std::string git_blob_id(std::string_view content) {
  Digest digest(EVP_sha1());
  const std::string head = fmt::format("blob {}", content.size());
  digest.update(head.c_str(), head.size() + 1);
  digest.update(content.data(), content.size());
  return digest.hex_digest();
}

}  // namespace quench
