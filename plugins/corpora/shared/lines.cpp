#include "corpora/shared/lines.hpp"

#include <cstring>
#include <utility>

namespace quench::corpora {

LineReader::LineReader(std::unique_ptr<ByteStream> stream, uint64_t limit)
    : stream_(std::move(stream)), limit_(limit), buffer_(1 << 18) {}

bool LineReader::fill() {
  begin_ = 0;
  end_ = stream_->read(buffer_.data(), buffer_.size());
  return end_ > 0;
}

LineReader::Outcome LineReader::next(std::string& line) {
  line.clear();
  bool too_long = false;
  bool any = false;
  bool broken = false;  // whether the line ended with a line break
  offset_ = next_offset_;
  while (!broken && (begin_ < end_ || fill())) {
    any = true;
    const char* first = buffer_.data() + begin_;
    const size_t available = end_ - begin_;
    const auto* newline = static_cast<const char*>(std::memchr(first, '\n', available));
    broken = newline != nullptr;
    const size_t length = broken ? static_cast<size_t>(newline - first) : available;
    too_long = too_long || line.size() + length > limit_;
    if (!too_long) {
      line.append(first, length);
    }
    const size_t taken = length + (broken ? 1 : 0);
    begin_ += taken;
    next_offset_ += taken;
  }
  if (!any) {
    return Outcome::kEnd;
  }
  ++number_;
  if (too_long) {
    line.clear();
    return Outcome::kTooLong;
  }
  if (broken && !line.empty() && line.back() == '\r') {
    line.pop_back();
  }
  return Outcome::kLine;
}

}  // namespace quench::corpora
