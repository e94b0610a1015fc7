// File layout, little-endian: magic, key, fingerprint, the counts of ids, offsets, sizes and
// skipped documents (uint64 each), ids (int32), offsets and sizes (uint64), SHA-256 of everything
// before.
#include "core/inputs/corpora/token_cache.hpp"

#include <bit>
#include <system_error>

#include "core/base/io/atomic_file.hpp"
#include "core/base/io/file.hpp"
#include "core/base/io/sha256.hpp"
#include "core/base/json/canonical_json.hpp"
#include "core/error.hpp"
#include "core/plugin/services/host_services.hpp"

namespace quench {

namespace fs = std::filesystem;

namespace {

static_assert(std::endian::native == std::endian::little, "token files hold the bytes of memory");

constexpr std::string_view kMagic = "QTOKENS2";
constexpr uint64_t kDigestBytes = 64;
constexpr uint64_t kHeadBytes = kMagic.size() + 2 * kDigestBytes + 4 * sizeof(uint64_t);
// 2^40 ids are 4 TB; with this bound the sizes below cannot overflow.
constexpr uint64_t kMostElements = uint64_t{1} << 40;

// Writes a file and hashes what it writes.
class CacheWriter {
 public:
  CacheWriter(const fs::path& path, uint64_t bytes) : file_(path, bytes) {}

  void write(const void* data, uint64_t bytes) {
    file_.write(data, bytes);
    hash_.update(data, bytes);
  }
  void write(std::string_view text) { write(text.data(), text.size()); }
  template <typename T>
  void write(const std::vector<T>& values) {
    write(values.data(), values.size() * sizeof(T));
  }
  void commit() {
    file_.write(hash_.hex_digest());
    file_.commit();
  }

 private:
  AtomicFile file_;
  Sha256 hash_;
};

// Reads a file in order and hashes what it reads.
class CacheReader {
 public:
  explicit CacheReader(const fs::path& path) : file_(path) {}

  uint64_t size() const { return file_.size(); }
  void read(void* data, uint64_t bytes) {
    file_.read(at_, data, bytes);
    hash_.update(data, bytes);
    at_ += bytes;
  }
  std::string text(uint64_t bytes) {
    std::string out(bytes, '\0');
    read(out.data(), bytes);
    return out;
  }
  template <typename T>
  std::vector<T> values(uint64_t count) {
    std::vector<T> out(count);
    read(out.data(), count * sizeof(T));
    return out;
  }
  // Whether the digest that follows matches everything read before.
  bool verify() {
    std::string digest(kDigestBytes, '\0');
    file_.read(at_, digest.data(), digest.size());
    return digest == hash_.hex_digest();
  }

 private:
  File file_;
  Sha256 hash_;
  uint64_t at_ = 0;
};

[[noreturn]] void damaged(const char* what) {
  fail(QUENCH_DATA_LOSS, "{}", what);
}

TokenizedCorpus read_tokens(const fs::path& path, const std::string& key) {
  CacheReader reader(path);
  if (reader.size() < kHeadBytes + kDigestBytes) {
    damaged("it is cut short");
  }
  if (reader.text(kMagic.size()) != kMagic || reader.text(kDigestBytes) != key) {
    damaged("it is not the token file of this key");
  }
  TokenizedCorpus out;
  out.fingerprint = reader.text(kDigestBytes);
  const auto counts = reader.values<uint64_t>(4);
  if (counts[0] > kMostElements || counts[1] > kMostElements || counts[2] > kMostElements ||
      reader.size() != kHeadBytes + counts[0] * sizeof(int32_t) +
                           (counts[1] + counts[2]) * sizeof(uint64_t) + kDigestBytes) {
    damaged("its size differs from its header");
  }
  out.skipped = counts[3];
  out.ids = reader.values<int32_t>(counts[0]);
  out.offsets = reader.values<uint64_t>(counts[1]);
  out.bytes = reader.values<uint64_t>(counts[2]);
  if (!reader.verify()) {
    damaged("its checksum does not match");
  }
  return out;
}

void warn(const std::string& line) {
  HostServices::instance().log(QUENCH_LOG_WARNING, "tokens", line);
}

}  // namespace

TokenCache::TokenCache(const fs::path& home)
    : folder_(home.empty() ? fs::path() : home / "tokens") {}

std::string TokenCache::key_of(const nlohmann::json& parts) {
  return sha256_hex(canonical_json(parts));
}

fs::path TokenCache::path_of(const std::string& key) const {
  return folder_ / (key + ".tokens");
}

std::optional<TokenizedCorpus> TokenCache::find(const std::string& key) const {
  std::error_code error;
  if (folder_.empty() || !fs::exists(path_of(key), error)) {
    return std::nullopt;
  }
  try {
    return read_tokens(path_of(key), key);
  } catch (const Error& failure) {
    warn(fmt::format("{}: not used, tokenizing the text again: {}", path_of(key).string(),
                     failure.what()));
    return std::nullopt;
  }
}

void TokenCache::keep(const std::string& key, const TokenizedCorpus& corpus) {
  if (folder_.empty() || !writable_) {
    return;
  }
  try {
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) {
      fail(QUENCH_FAILED_PRECONDITION, "{}: {}", folder_.string(), error.message());
    }
    const uint64_t bytes = kHeadBytes + corpus.ids.size() * sizeof(int32_t) +
                           (corpus.offsets.size() + corpus.bytes.size()) * sizeof(uint64_t) +
                           kDigestBytes;
    CacheWriter writer(path_of(key), bytes);
    writer.write(kMagic);
    writer.write(key);
    writer.write(corpus.fingerprint);
    writer.write(std::vector<uint64_t>{corpus.ids.size(), corpus.offsets.size(),
                                       corpus.bytes.size(), corpus.skipped});
    writer.write(corpus.ids);
    writer.write(corpus.offsets);
    writer.write(corpus.bytes);
    writer.commit();
  } catch (const Error& failure) {
    writable_ = false;
    warn(fmt::format("cannot keep tokenized text for the next run: {}", failure.what()));
  }
}

}  // namespace quench
