#include "corpora/shared/lines.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "quench/kit/host.hpp"

namespace quench::corpora {

namespace {

constexpr uint64_t kMostReadOver = uint64_t{256} << 20;  // about a second's work

}  // namespace

LineReader::LineReader(std::unique_ptr<ByteStream> stream, uint64_t limit)
    : stream_(std::move(stream)), limit_(limit), buffer_(1 << 18) {}

bool LineReader::fill() {
  kit::check_cancelled();
  begin_ = 0;
  end_ = stream_->read(buffer_.data(), buffer_.size());
  return end_ > 0;
}

bool LineReader::read_over() {
  uint64_t left = kMostReadOver;
  while (inside_ && (begin_ < end_ || fill())) {
    const char* first = buffer_.data() + begin_;
    const size_t available = end_ - begin_;
    const auto* newline = static_cast<const char*>(std::memchr(first, '\n', available));
    inside_ = newline == nullptr;
    const size_t taken = inside_ ? available : static_cast<size_t>(newline - first) + 1;
    if (inside_ && taken > left) {
      return false;
    }
    left -= std::min<uint64_t>(left, taken);
    begin_ += taken;
    next_offset_ += taken;
  }
  inside_ = false;  // also if the text ends in it
  return true;
}

LineReader::Outcome LineReader::next(std::string& line) {
  line.clear();
  if (inside_ && !read_over()) {
    return Outcome::kEndless;
  }
  bool any = false;
  bool broken = false;  // whether the line ended with a line break
  offset_ = next_offset_;
  while (!broken && (begin_ < end_ || fill())) {
    any = true;
    const char* first = buffer_.data() + begin_;
    const size_t available = end_ - begin_;
    const auto* newline = static_cast<const char*>(std::memchr(first, '\n', available));
    const size_t length = newline != nullptr ? static_cast<size_t>(newline - first) : available;
    if (line.size() + length > limit_) {
      line.clear();
      inside_ = true;
      ++number_;
      return Outcome::kTooLong;
    }
    line.append(first, length);
    broken = newline != nullptr;
    const size_t taken = length + (broken ? 1 : 0);
    begin_ += taken;
    next_offset_ += taken;
  }
  if (!any) {
    return Outcome::kEnd;
  }
  ++number_;
  if (broken && !line.empty() && line.back() == '\r') {
    line.pop_back();
  }
  return Outcome::kLine;
}

}  // namespace quench::corpora
