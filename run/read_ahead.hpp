// Reads the weights of the checkpoint after the one at work, on the one I/O thread.
#pragma once

#include <thread>
#include <utility>
#include <vector>

#include "run/grid/identity.hpp"

namespace quench {

// Hashing needs every byte of the weights anyway; done ahead, it leaves them in the system's file
// cache, and opening the checkpoint waits for no disk. Where the hash is remembered the system is
// asked to read the files. What goes wrong here is left for whoever opens the checkpoint to say.
class ReadAhead {
 public:
  ReadAhead(Identities& identities, HubEnvironment hub)
      : identities_(identities), hub_(std::move(hub)) {}
  ~ReadAhead() { wait(); }
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // Waits for what was begun before, then reads these. `cells` must stay where they are.
  void begin(std::vector<const CheckpointCell*> cells);
  void wait();

 private:
  Identities& identities_;
  HubEnvironment hub_;
  std::thread thread_;
};

}  // namespace quench
