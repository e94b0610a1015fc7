// Reader of the pickles that torch.save writes, and of plain objects that pickle.dump wrote. It
// interprets data and executes nothing.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "formats/torch_archive/pickle_value.hpp"

namespace quench::formats {

inline constexpr uint64_t kPickleMaxBytes = uint64_t{64} << 20;

// Interprets `pickle` (protocol 2), which must outlive the graph. Known are the instructions that
// plain data, tensors and OrderedDict need; every other instruction and every other name is refused
// by its name. Work and memory are linear in the input: at most 2^21 values, 2^22 references and
// 2^20 stack entries. `name` begins every message, which gives the byte of the instruction. Throws
// Error: INVALID_ARGUMENT, UNSUPPORTED.
PickleGraph read_pickle(std::string_view pickle, const std::string& name);

struct PickleClass {
  std::string_view module;
  std::string_view name;
};

// The same of protocols 2 to 5, in which objects of these classes (and calls of these functions)
// may stand beside plain data. An object is its class, its arguments and its state: none is made.
PickleGraph read_objects(std::string_view pickle, const std::string& name,
                         std::span<const PickleClass> classes);

}  // namespace quench::formats
