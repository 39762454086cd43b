// GridPoints and GridTaps: points of a grid and what they read, as handed to the code that is compiled once per
// instruction set.
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

//! Axes of an image that a grid samples, at most.
inline constexpr int32_t kMaxGridAxes{3};

//! What a block of grid points reads, to be found: nearest elements or linear weights, outside of the image nothing or
//! its edge. Written are `places` and `weights` of GridPoints, whole vectors of points.
template <typename T>
struct GridTaps
{
    T const* grid{nullptr}; //!< [count][axes], the innermost axis first.
    int64_t count{0};       //!< At most kGridBlock.
    int32_t axes{0};
    int64_t extents[kMaxGridAxes]{};
    bool isNearest{false};
    bool isClamped{false};
    bool alignCorners{false};
    int32_t* places{nullptr};
    float* weights{nullptr};
};

} // namespace tenon::cpu
