// The four Unicode normalization forms (UAX 15).
//
// utf8proc orders combining marks in quadratic time, so ordering is done here with a stable sort
// and utf8proc is asked for decomposition, character by character, and for composition only.
#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <vector>

#include "tokenizers/shared/utf8.hpp"
#include "tokenizers/tokenizer_json/limits.hpp"
#include "tokenizers/tokenizer_json/normalizers/normalizer.hpp"

namespace quench::tokenizers {

namespace {

class UnicodeForm final : public Normalizer {
 public:
  UnicodeForm(bool compose, bool compatibility) : compose_(compose), compatibility_(compatibility) {
    // Below these, characters never change, and never join the one before. UAX 15, section 9.
    first_affected_ = compose && !compatibility ? 0x300 : 0x80;
  }

  // Its expansion is bounded by Unicode, so that the limit is looked at afterwards.
  bool apply(std::string_view text, size_t limit, std::string& out,
             size_t& from_first) const override {
    size_t affected = next_affected(text, 0);
    if (affected == text.size()) {
      return false;
    }
    out.clear();
    out.reserve(text.size());
    size_t done = 0;
    while (affected < text.size()) {
      // The character before may combine with what follows it.
      const size_t begin = affected > done ? previous(text, affected) : affected;
      size_t end = affected;
      for (size_t i = end; i < text.size() && decode(text, i) >= first_affected_;) {
        end = i;
      }
      out.append(text, done, begin - done);
      normalize(text.substr(begin, end - begin), out);
      done = end;
      affected = next_affected(text, done);
    }
    out.append(text, done);
    check_rewritten(out.size(), limit);
    if (out == text) {
      return false;
    }
    from_first = moved(text.substr(0, from_first), out);
    return true;
  }

 private:
  // What became of the beginning of a text in `out`: a character that a mark behind it joins
  // counts.
  size_t moved(std::string_view beginning, std::string_view out) const {
    std::string alone;
    normalize(beginning, alone);
    size_t same = 0;
    while (same < alone.size()) {
      const size_t end = same + sequence_length(alone[same]);
      if (out.substr(same, end - same) != std::string_view(alone).substr(same, end - same)) {
        return same < out.size() ? same + sequence_length(out[same]) : same;
      }
      same = end;
    }
    return same;
  }

  // Offset of the next character that is not below first_affected_.
  size_t next_affected(std::string_view text, size_t i) const {
    while (i < text.size()) {
      if (static_cast<unsigned char>(text[i]) < 0x80) {
        ++i;
        continue;
      }
      size_t after = i;
      if (decode(text, after) >= first_affected_) {
        return i;
      }
      i = after;
    }
    return i;
  }

  void decompose(char32_t code, std::vector<utf8proc_int32_t>& out) const {
    std::array<utf8proc_int32_t, 32> parts{};  // The longest expansion in Unicode has 18.
    const int options =
        UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | (compatibility_ ? UTF8PROC_COMPAT : 0);
    int boundary = 0;
    const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code), parts.data(),
                                               static_cast<utf8proc_ssize_t>(parts.size()),
                                               static_cast<utf8proc_option_t>(options), &boundary);
    if (count < 0 || static_cast<size_t>(count) > parts.size()) {
      fail(QUENCH_INTERNAL, "no decomposition of U+{:04X}", static_cast<uint32_t>(code));
    }
    out.insert(out.end(), parts.begin(), parts.begin() + count);
  }

  void normalize(std::string_view text, std::string& out) const {
    std::vector<utf8proc_int32_t> codes;
    codes.reserve(text.size());
    for (size_t i = 0; i < text.size();) {
      decompose(decode(text, i), codes);
    }
    order_marks(codes);
    size_t size = codes.size();
    if (compose_) {
      const auto composed = utf8proc_normalize_utf32(
          codes.data(), static_cast<utf8proc_ssize_t>(size),
          static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
      if (composed < 0) {
        fail(QUENCH_INTERNAL, "composition failed: {}", utf8proc_errmsg(composed));
      }
      size = static_cast<size_t>(composed);
    }
    for (size_t i = 0; i < size; ++i) {
      append_utf8(static_cast<char32_t>(codes[i]), out);
    }
  }

  // Canonical ordering: each run of marks by combining class, equal ones as they stood.
  static void order_marks(std::vector<utf8proc_int32_t>& codes) {
    const auto mark_class = [](utf8proc_int32_t code) {
      return utf8proc_get_property(code)->combining_class;
    };
    for (size_t i = 0; i < codes.size(); ++i) {
      size_t end = i;
      while (end < codes.size() && mark_class(codes[end]) != 0) {
        ++end;
      }
      if (end - i > 1) {
        const auto at = [&](size_t k) { return codes.begin() + static_cast<ptrdiff_t>(k); };
        std::stable_sort(at(i), at(end),
                         [&](auto a, auto b) { return mark_class(a) < mark_class(b); });
      }
      i = end;
    }
  }

  bool compose_;
  bool compatibility_;
  char32_t first_affected_;
};

}  // namespace

std::unique_ptr<Normalizer> make_unicode_form(const std::string& type) {
  return std::make_unique<UnicodeForm>(type.back() == 'C', type.size() == 4);
}

}  // namespace quench::tokenizers
