// ByteNumbers: how bytes stand for real numbers, with one scale and one zero point.
#pragma once

#include <cstdint>

namespace tenon::cpu
{

struct ByteNumbers
{
    float scale{1.0F};
    float zeroPoint{0.0F}; //!< Of int8 numbers: one of uint8 less 128. To quantize by, whole and within int8.
    bool isSigned{true};   //!< int8; or uint8, whose numbers are those of int8 and 128.
    int32_t ofNan{0};      //!< The int8 number that what is no number becomes.
};

} // namespace tenon::cpu
