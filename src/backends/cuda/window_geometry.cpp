// WindowGeometry: from layers to the device.
#include "backends/cuda/window_geometry.h"
#include "layers/convolution.h"

namespace tenon::cuda
{

namespace
{
//! Items are results, in the order of the output's memory: order[axis], slowest first.
constexpr char kPlaces[]{R"(
static __device__ __forceinline__ void placeOf(WindowGeometry const& p, u64 item, i64* at)
{
    u64 left = item;
    if (p.outStrides[1] == 1)
        at[1] = (i64)takeAxis(left, p.outExtents[1], p.isSmall);
    for (int axis = 4; axis >= 2; --axis)
        at[axis] = (i64)takeAxis(left, p.outExtents[axis], p.isSmall);
    if (p.outStrides[1] != 1)
        at[1] = (i64)takeAxis(left, p.outExtents[1], p.isSmall);
    at[0] = (i64)left;
}
static __device__ __forceinline__ i64 offsetOf(i64 const* strides, i64 n, i64 c, i64 z, i64 y, i64 x)
{
    return n * strides[0] + c * strides[1] + z * strides[2] + y * strides[3] + x * strides[4];
}
)"};

//! Extents or strides as image, channel and three spatial axes.
template <typename To>
void putAxes(std::vector<int64_t> const& from, To (&to)[5], int64_t missing)
{
    size_t const spatial = from.size() - 2;
    to[0] = static_cast<To>(from[0]);
    to[1] = static_cast<To>(from[1]);
    for (size_t k = 0; k < 3; ++k)
        to[2 + k] = static_cast<To>(k + spatial < 3 ? missing : from[2 + k + spatial - 3]);
}

} // namespace

Result<WindowGeometry> windowGeometry(
    Window const& window, TensorArg const& in, TensorArg const& out, bool isTransposed)
{
    size_t const spatial = window.rank();
    if (spatial < 1 || spatial > 3 || in.extents.size() != spatial + 2 || blockOf(in.layout) != 1
        || blockOf(out.layout) != 1)
        return badArgument("windows of rank {} over a tensor of rank {}", spatial, in.extents.size());
    WindowGeometry geometry{};
    putAxes(in.extents, geometry.inExtents, 1);
    putAxes(out.extents, geometry.outExtents, 1);
    putAxes(stridesIn(in.layout, in.extents), geometry.inStrides, 0);
    putAxes(stridesIn(out.layout, out.extents), geometry.outStrides, 0);
    for (size_t k = 0; k < 3; ++k)
    {
        bool const isThere = k + spatial >= 3;
        size_t const axis = k + spatial - 3;
        geometry.window[k] = isThere ? window.size[axis] : 1;
        geometry.stride[k] = isThere ? window.stride[axis] : 1;
        geometry.dilation[k] = isThere ? window.dilation[axis] : 1;
        WindowPadding const padding = !isThere ? WindowPadding{}
            : isTransposed                     ? window.transposedPadding(axis)
                                               : window.padding(axis, in.extents[2 + axis]);
        geometry.pre[k] = padding.pre;
        geometry.post[k] = padding.post;
    }
    int64_t const count = volumeOf(out.extents);
    geometry.count = static_cast<uint64_t>(count);
    geometry.isSmall = isSmall(count) ? 1 : 0;
    return geometry;
}

std::string windowText()
{
    return std::string{kWindowGeometryText} + kPlaces;
}

std::vector<Offer> windowOffers(Problem const& problem, double multiplications)
{
    std::vector<Offer> offers;
    for (Layout const layout : {Layout::kLinear, Layout::kChannelsLast})
    {
        Offer offer;
        offer.inputs.assign(problem.node->inputs.size(), Layout::kLinear);
        offer.inputs[0] = layout;
        offer.outputs = {layout};
        offer.cost = costOf(problem, multiplications, bytesOf(problem));
        offers.push_back(std::move(offer));
    }
    return offers;
}

} // namespace tenon::cuda
