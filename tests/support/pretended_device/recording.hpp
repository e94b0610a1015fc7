// What the device is told while a recording is open is not done but kept, as a CUDA graph keeps it.
#pragma once

#include <functional>
#include <vector>

namespace quench::test {

using Told = std::vector<std::function<void()>>;

// One recording of the whole process; false if one is open.
bool begin_recording();
Told end_recording();
bool is_recording();
// Does `work`, or keeps it for the recording that is open.
void tell(const std::function<void()>& work);

}  // namespace quench::test
