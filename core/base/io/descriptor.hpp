// Owns an open descriptor: a socket, a pipe's end, memory without a name.
#pragma once

#include <unistd.h>

#include <utility>

namespace quench {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}  // takes it over; negative: none
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      reset();
      number_ = other.release();
    }
    return *this;
  }
  ~Descriptor() { reset(); }

  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  // The caller closes it from now on.
  int release() { return std::exchange(number_, -1); }
  void reset() {
    if (number_ >= 0) {
      ::close(release());
    }
  }

 private:
  int number_ = -1;
};

}  // namespace quench
