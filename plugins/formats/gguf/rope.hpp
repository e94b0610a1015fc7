// Rotary positions: what the metadata and the tensor rope_freqs.weight say of them.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "formats/gguf/metadata.hpp"

namespace quench::gguf {

// The base of the frequencies; llama.cpp's own where the file is silent.
double rope_theta(const Metadata& metadata, const std::string& architecture);

// config.json's `rope_scaling`: null, or an object of type linear or llama3.
//
// Llama 3's scaling is in a GGUF file only as the divisor of each of the head's `width` / 2
// frequencies (rope_freqs.weight; empty where there is none). They are what writers make of a
// factor and a beginning at 8192 positions, with low_freq_factor 1 and high_freq_factor 4; divisors
// that are not are refused. Throws kit::Error(UNSUPPORTED) for these and for other types.
nlohmann::json rope_scaling(const Metadata& metadata, const std::string& architecture,
                            std::span<const float> divisors, double theta, int64_t width);

}  // namespace quench::gguf
