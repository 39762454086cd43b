// Storage: the element types that tensors of real numbers have in memory. Kernels compute in float whatever they store:
// a load makes floats of half-precision elements, a store rounds them to the nearest even.
#pragma once

#include <cstdint>
#include <type_traits>

namespace tenon::cpu
{

//! An IEEE binary16 number in memory.
struct Half
{
    uint16_t bits;
};

//! The upper half of a float in memory.
struct Bfloat
{
    uint16_t bits;
};

template <typename T>
inline constexpr bool kIsFloat{std::is_same_v<T, float>};

} // namespace tenon::cpu

//! Row(float) and so on: for the explicit instances of what is compiled once per instruction set and storage.
#define TENON_FOR_EACH_STORAGE(Row)                                                                                    \
    Row(float);                                                                                                        \
    Row(Half);                                                                                                         \
    Row(Bfloat)
