// What the device is told while a recording is open is not done but kept, as a CUDA graph keeps it.
#pragma once

#include <functional>
#include <optional>
#include <vector>

namespace quench::test {

using Told = std::vector<std::function<void()>>;

// One recording of the whole process; false if one is open.
bool begin_recording();
bool is_recording();
// Something was asked that cannot be recorded: the recording is lost, and has to be ended all the
// same. Does nothing where none is open.
void spoil_recording();
// Nothing of a recording that was spoilt.
std::optional<Told> end_recording();
// Does `work`, or keeps it for the recording that is open.
void tell(const std::function<void()>& work);

}  // namespace quench::test
