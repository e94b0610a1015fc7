#include "corpora/shared/gzip.hpp"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "quench/kit/error.hpp"

namespace quench::corpora {

struct GzipStream::Inflater {
  z_stream stream{};
};

std::string_view compressor_of(const File& file) {
  char bytes[10] = {};
  const std::string_view first(bytes, file.read(0, bytes, sizeof bytes));
  constexpr std::string_view kBzipBlock = "1AY&SY";  // after "BZh" and a digit
  return first.starts_with("\x1f\x8b")                                         ? "gzip"
         : first.starts_with("\x28\xb5\x2f\xfd")                               ? "zstd"
         : first.starts_with("\xfd\x37zXZ")                                    ? "xz"
         : first.starts_with("BZh") && first.substr(4).starts_with(kBzipBlock) ? "bzip2"
                                                                               : "";
}

void refuse_compressed(const File& file, std::string_view compressor, const char* wanted) {
  const std::string program(compressor);
  kit::fail(QUENCH_INVALID_ARGUMENT, "%s: got a file that %s compressed, wanted %s: %s -d FILE",
            file.path().c_str(), program.c_str(), wanted, program.c_str());
}

GzipStream::GzipStream(const File& file)
    : file_(file), inflater_(std::make_unique<Inflater>()), input_(1 << 16) {
  constexpr int kGzipOnly = 15 + 16;  // the largest window; a gzip header is required
  if (inflateInit2(&inflater_->stream, kGzipOnly) != Z_OK) {
    throw kit::Error(QUENCH_RESOURCE_EXHAUSTED, "zlib cannot start: out of memory");
  }
}

GzipStream::~GzipStream() {
  inflateEnd(&inflater_->stream);
}

unsigned long long GzipStream::position() const {
  return read_ - inflater_->stream.avail_in;
}

void GzipStream::fill() {
  z_stream& zlib = inflater_->stream;
  if (zlib.avail_in == 0) {
    const size_t got = file_.read(read_, input_.data(), input_.size());
    read_ += got;
    zlib.next_in = reinterpret_cast<Bytef*>(input_.data());
    zlib.avail_in = static_cast<uInt>(got);
  }
}

void GzipStream::next_member() {
  z_stream& zlib = inflater_->stream;
  if (*zlib.next_in != 0x1f) {
    kit::fail(QUENCH_DATA_LOSS, "%s: gzip: garbage after the last member, at byte %llu",
              file_.path().c_str(), position());
  }
  inflateReset(&zlib);
  inside_ = true;
}

size_t GzipStream::read(char* into, size_t bytes) {
  z_stream& zlib = inflater_->stream;
  const auto wanted = static_cast<uInt>(std::min<size_t>(bytes, std::numeric_limits<uInt>::max()));
  zlib.next_out = reinterpret_cast<Bytef*>(into);
  zlib.avail_out = wanted;
  while (zlib.avail_out == wanted) {
    fill();
    if (zlib.avail_in == 0) {
      if (inside_) {
        kit::fail(QUENCH_DATA_LOSS, "%s: gzip: truncated at byte %llu, inside a member",
                  file_.path().c_str(), position());
      }
      return 0;
    }
    if (!inside_) {
      next_member();
    }
    const int status = inflate(&zlib, Z_NO_FLUSH);
    if (status == Z_STREAM_END) {
      inside_ = false;
    } else if (status != Z_OK) {
      kit::fail(status == Z_MEM_ERROR ? QUENCH_RESOURCE_EXHAUSTED : QUENCH_DATA_LOSS,
                "%s: gzip: %s near byte %llu", file_.path().c_str(),
                zlib.msg != nullptr ? zlib.msg : "broken data", position());
    }
  }
  return wanted - zlib.avail_out;
}

}  // namespace quench::corpora
