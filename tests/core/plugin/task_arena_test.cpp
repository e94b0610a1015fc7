#include "core/plugin/services/task_arena.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <vector>

#include "core/plugin/services/host_services.hpp"

using quench::copy_on_all_threads;
using quench::HostServices;

namespace {

// Threads for one test.
class Threads {
 public:
  explicit Threads(uint32_t threads) : before_(HostServices::instance().threads()) {
    HostServices::instance().set_threads(threads);
  }
  ~Threads() { HostServices::instance().set_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  uint32_t before_;
};

}  // namespace

TEST_CASE("copy on all threads: every byte and none beside it", "[core][plugin]") {
  for (const uint32_t threads : {1u, 2u, 3u}) {
    const Threads budget(threads);
    for (const size_t bytes : {0ul, 1ul, 4095ul, (4ul << 20) - 1, 4ul << 20, (9ul << 20) + 3}) {
      std::vector<unsigned char> from(bytes);
      for (size_t i = 0; i < bytes; ++i) {
        from[i] = static_cast<unsigned char>(i * 2654435761u >> 13);
      }
      std::vector<unsigned char> to(bytes + 2, 77);
      copy_on_all_threads(to.data() + 1, from.data(), bytes);
      CHECK(to.front() == 77);
      CHECK(to.back() == 77);
      CHECK((bytes == 0 || std::memcmp(to.data() + 1, from.data(), bytes) == 0));
    }
  }
}
