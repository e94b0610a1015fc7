// The blocks of GGUF's quantized types as float32, in the roundings of the reference: every product
// and every difference is rounded once, and none is fused.
//
// d and m stand for float16 numbers, s for a scale of a sub-block, q for a code. The types whose
// name ends in _K hold 256 elements in sub-blocks of 16 or 32, the others 32.
#pragma once

#include <cstddef>

namespace quench::gguf {

void decode_q4_0(const std::byte* block, float* elements);  // d (q - 8)
void decode_q4_1(const std::byte* block, float* elements);  // d q + m
void decode_q5_0(const std::byte* block, float* elements);  // d (q - 16)
void decode_q5_1(const std::byte* block, float* elements);  // d q + m
void decode_q8_0(const std::byte* block, float* elements);  // d q
void decode_q2_k(const std::byte* block, float* elements);  // (d s) q - (m s')
void decode_q3_k(const std::byte* block, float* elements);  // (d (s - 32)) (q - 4)
void decode_q4_k(const std::byte* block, float* elements);  // (d s) q - (m s')
void decode_q5_k(const std::byte* block, float* elements);  // (d s) q - (m s')
void decode_q6_k(const std::byte* block, float* elements);  // (d s) (q - 32)

}  // namespace quench::gguf
