// How far a reader of UTF-8 is, byte by byte (RFC 3629: no surrogates, no overlong forms).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace quench::tokenizers {

class Utf8State {
 public:
  static constexpr size_t kStates = 8;

  Utf8State() = default;

  bool between_characters() const { return kind_ == kNone; }
  // Below kStates.
  size_t index() const { return kind_; }

  // Nothing where no UTF-8 goes on with `byte`.
  std::optional<Utf8State> after(unsigned char byte) const {
    switch (kind_) {
      case kNone:
        return lead(byte);
      case kOne:
        return within(byte, 0x80, 0xBF, kNone);
      case kTwo:
        return within(byte, 0x80, 0xBF, kOne);
      case kTwoAfterE0:
        return within(byte, 0xA0, 0xBF, kOne);
      case kTwoAfterEd:
        return within(byte, 0x80, 0x9F, kOne);
      case kThree:
        return within(byte, 0x80, 0xBF, kTwo);
      case kThreeAfterF0:
        return within(byte, 0x90, 0xBF, kTwo);
      case kThreeAfterF4:
        return within(byte, 0x80, 0x8F, kTwo);
    }
    return std::nullopt;
  }

 private:
  // Bytes that are missing, and what came before where that narrows the next one.
  enum Kind : uint8_t {
    kNone,
    kOne,
    kTwo,
    kTwoAfterE0,
    kTwoAfterEd,
    kThree,
    kThreeAfterF0,
    kThreeAfterF4,
  };

  explicit Utf8State(Kind kind) : kind_(kind) {}

  static std::optional<Utf8State> within(unsigned char byte, int first, int last, Kind next) {
    return byte >= first && byte <= last ? std::optional(Utf8State(next)) : std::nullopt;
  }

  static std::optional<Utf8State> lead(unsigned char byte) {
    if (byte < 0x80) {
      return Utf8State(kNone);
    }
    if (byte < 0xE0) {
      return within(byte, 0xC2, 0xDF, kOne);
    }
    if (byte < 0xF0) {
      return Utf8State(byte == 0xE0 ? kTwoAfterE0 : byte == 0xED ? kTwoAfterEd : kTwo);
    }
    return within(byte, 0xF0, 0xF4,
                  byte == 0xF0   ? kThreeAfterF0
                  : byte == 0xF4 ? kThreeAfterF4
                                 : kThree);
  }

  Kind kind_ = kNone;
};

}  // namespace quench::tokenizers
