// Reads the weights of the next checkpoint ahead, on the one I/O thread.
#pragma once

#include <thread>
#include <utility>
#include <vector>

#include "run/grid/identity.hpp"

namespace quench {

// Hashing needs every byte of the weights anyway; done ahead, it leaves them in the system's file
// cache, so that opening the checkpoint need not wait for the disk. If the hash is remembered, asks
// the system to read the files. Ignores errors: they are reported when the checkpoint is opened.
class ReadAhead {
 public:
  ReadAhead(Identities& identities, HubEnvironment hub)
      : identities_(identities), hub_(std::move(hub)) {}
  ~ReadAhead() { wait(); }
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // Waits for the previous read, then reads these. `cells` must stay where they are.
  void begin(std::vector<const CheckpointCell*> cells);
  void wait();

 private:
  Identities& identities_;
  HubEnvironment hub_;
  std::thread thread_;
};

}  // namespace quench
