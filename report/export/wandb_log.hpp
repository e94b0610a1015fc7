// The container of Weights & Biases' offline files: a header of seven bytes, then records, split
// into pieces so that none crosses a block.
#pragma once

#include <span>
#include <string>

namespace quench {

// Header: ":W&B", 0xBEE1 as 16 bits, version 0. A piece: CRC-32 (as in zlib) of its kind and its
// bytes, their number (16 bits), its kind (8 bits: 1 whole, 2 first, 3 middle, 4 last), the bytes.
// A block has 32768 bytes; the first one includes the header. If fewer than seven bytes are left in
// a block, they are zero. Numbers are little-endian.
std::string wandb_log(std::span<const std::string> records);

}  // namespace quench
