#include "model/counter_rng.h"

#include <cmath>
#include <numbers>

namespace normlab::model {
namespace {

constexpr double kUnit = 0x1.0p-53;

uint64_t Fnv1a(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3;
  }
  return hash;
}

}  // namespace

uint64_t Mix64(uint64_t z) {
  z ^= z >> 30;
  z *= 0xbf58476d1ce4e5b9;
  z ^= z >> 27;
  z *= 0x94d049bb133111eb;
  z ^= z >> 31;
  return z;
}

CounterRng::CounterRng(uint64_t seed, std::string_view purpose, uint64_t index)
    : key_(Mix64((Mix64(Mix64(seed + kGolden) ^ Fnv1a(purpose))) + index)) {}

uint64_t CounterRng::Bits(uint64_t position) const {
  return Mix64(key_ + (position + 1) * kGolden);
}

void CounterRng::FillNormal(double* out, int64_t count) const {
  for (int64_t i = 0; i < count; i += 2) {
    const double u = static_cast<double>((Bits(i) >> 11) + 1) * kUnit;
    const double w = static_cast<double>(Bits(i + 1) >> 11) * kUnit;
    const double radius = std::sqrt(-2.0 * std::log(u));
    const double turn = 2.0 * std::numbers::pi * w;
    out[i] = radius * std::cos(turn);
    if (i + 1 < count) out[i + 1] = radius * std::sin(turn);
  }
}

}  // namespace normlab::model
