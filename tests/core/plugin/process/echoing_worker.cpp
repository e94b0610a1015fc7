// A worker that says what it got: to each packet "<bytes of text> <descriptors>", after writing the
// text into each descriptor. To "hold N" it first takes N bytes of memory. It ends when the socket
// closes, with code 7.
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "core/plugin/process/control_socket.hpp"

int main() {
  constexpr int kControl = 3;
  constexpr int kClosed = 7;
  std::vector<std::string> held;
  try {
    while (const auto packet = quench::receive_packet(kControl, -1)) {
      if (packet->text.starts_with("hold ")) {
        held.emplace_back(std::strtoull(packet->text.c_str() + 5, nullptr, 10), 'x');
      }
      bool written = true;
      for (const quench::Descriptor& each : packet->descriptors) {
        written = ::write(each.get(), packet->text.data(), packet->text.size()) >= 0 && written;
      }
      quench::send_packet(kControl, written ? std::to_string(packet->text.size()) + " " +
                                                  std::to_string(packet->descriptors.size())
                                            : "a descriptor that cannot be written to");
    }
  } catch (const std::exception&) {
    return 1;
  }
  return kClosed;
}
