#include "promises/loading_promises.hpp"

#include "promises/candidate.hpp"

namespace quench::promises {

namespace {

// They would run beside all that quench measures, and in quench's own process nothing ends them.
void loading_starts_no_thread(Candidate& candidate) {
  if (!candidate.start_afresh() || !candidate.printed()) {
    skip("it has no process of its own, or shares it with an interpreter");
  }
  candidate.item();
  const std::optional<ProcessSize> size = candidate.process_size();
  if (!size) {
    skip("the system does not say which threads its process has");
  }
  expect(size->threads == 1, "{} threads run once it is loaded, wanted none of its own",
         size->threads - 1);
}

constexpr Promise kPromises[] = {
    {"loading it starts no thread", loading_starts_no_thread},
};

}  // namespace

std::span<const Promise> loading_promises() {
  return kPromises;
}

}  // namespace quench::promises
