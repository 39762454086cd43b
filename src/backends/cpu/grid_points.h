// GridPoints: points of a grid with what they read, as handed to the code that is compiled once per instruction set.
#pragma once

#include <cstdint>

namespace tenon::cpu
{

inline constexpr int64_t kGridBlock{64}; //!< Points whose places and weights are found together; whole vectors.

//! Neighbouring output points of one image. places[t · kGridBlock + p] is where tap t of point p stands in the image's
//! plane; a weight of 0 says that it is not read.
template <typename T>
struct GridPoints
{
    int64_t channels{0};
    int64_t plane{0};    //!< Elements of an input plane.
    int64_t outPlane{0}; //!< Elements of an output plane.
    bool isChannelsLast{false};
    int64_t taps{1};
    int64_t count{0}; //!< At most kGridBlock.
    int32_t const* places{nullptr};
    float const* weights{nullptr};
    T const* in{nullptr}; //!< The image.
    T* out{nullptr};      //!< Its first point of the block: in the first plane, or the first channel.
};

} // namespace tenon::cpu
