// Which revisions lie on the disk while a run goes through its sets of weights.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace quench {

// Where the revisions lie: the hub's cache, or a simulated one for a plan.
class RevisionStore {
 public:
  virtual ~RevisionStore() = default;
  // Bytes that were brought and are still there.
  virtual uint64_t used() = 0;
  virtual bool has(size_t revision) = 0;
  // Bytes that fetch() would bring.
  virtual uint64_t missing(size_t revision) = 0;
  virtual void fetch(size_t revision) = 0;
  // Removes what was brought and belongs to none of these.
  virtual void keep_only(const std::set<size_t>& revisions) = 0;
  // These are read or fetched from now on: no other process may remove them.
  virtual void claim(const std::set<size_t>& revisions) = 0;
};

// Step by step: the revisions of this step, and of what comes later as much as the limit allows.
// Where the limit binds, those that are needed last go first, and are fetched again. The members of
// an average are one step, so they are there together.
class RevisionWindow {
 public:
  // `steps`: what each reads; empty for one that needs nothing. `limit`: bytes, 0: none. `evict`:
  // revisions that no later step needs are removed. `store` must outlive it.
  RevisionWindow(std::vector<std::set<size_t>> steps, uint64_t limit, bool evict,
                 RevisionStore& store);

  // Removes what no step from this one on needs, then fetches what this one lacks. Throws
  // Error(RESOURCE_EXHAUSTED) if that exceeds the limit, and what the store throws.
  void begin(size_t step);
  // After begin(step): the revision that may be fetched while the step computes, unless one is
  // ahead already; room is made.
  std::optional<size_t> next(size_t step);
  // Nothing is needed any more.
  void end();

 private:
  // Whether the revision fits, after removing what is needed later than `wanted`.
  bool make_room(size_t revision, size_t step, const std::set<size_t>& wanted);
  std::optional<size_t> next_use(size_t revision, size_t from) const;

  std::vector<std::set<size_t>> steps_;
  uint64_t limit_;
  bool evict_;
  RevisionStore& store_;
  std::set<size_t> kept_;  // which may stay on the disk
  std::set<size_t> used_;  // of them, those that a step has read: the others are ahead
};

// One file of a revision, for a plan.
struct SimulatedFile {
  std::string name;  // the same for the same content of one repository
  uint64_t bytes = 0;
  bool holds_weights = false;
};

// What a run would take: every step of a window through a simulated cache.
struct WindowForecast {
  uint64_t peak = 0;     // bytes on the disk at a time
  uint64_t fetched = 0;  // bytes, with those that are fetched again
  uint64_t least = 0;    // the limit below which a step does not fit
  size_t least_step = 0;
};
// `revisions`: the files of each that are not somebody else's in the cache already; `present`:
// names of files that this run brought before.
WindowForecast forecast(const std::vector<std::set<size_t>>& steps, uint64_t limit, bool evict,
                        const std::vector<std::vector<SimulatedFile>>& revisions,
                        const std::set<std::string>& present = {});

}  // namespace quench
