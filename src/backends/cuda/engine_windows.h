// EngineWindows: windows over images, channels last, as rows of a product that the copy engine (TMA) fetches: what its
// descriptions of images say, and how kernels find their way through them.
#pragma once

#include "backends/cuda/convolution_shape.h"
#include "backends/cuda/engine_product.h"

#include <string_view>

namespace tenon::cuda
{

//! Results of an image and of a row, what the windows of neighbours are apart, where the first one begins, and what of
//! the depth is one pixel's: so many steps, each as many channels as a row in shared memory has.
TENON_DEVICE_STRUCT(WindowWalk, int results; int across; int strideY; int strideX; int lowerY; int lowerX;
                    int dilationY; int dilationX; int tapsAcross; int stepsOfTap;);

//! Text of `windowAt`, `fetchWindows`, and without a GPU `windowNumber`. Wants copyEngineText and the struct in front.
std::string_view windowWalkText() noexcept;

//! Images of two spatial axes; a box: so many results by a row's channels.
struct EngineWindows
{
    int64_t images;
    int64_t height;
    int64_t width;
    int64_t channels;
    int64_t results[2];
    WindowWalk walk;
    int boxRows;
    EngineRow row{};

    //! The product whose rows the windows are.
    StepProduct product(ConvolutionShape const& layer, TensorArg const& out) const;
};

//! Windows whose depth stands behind that of a product's rows, which ends with a step: of input kFirstExtra.
struct SecondWindows
{
    EngineWindows windows;
    int64_t firstDepth;

    //! As tiles of so many rows fetch them.
    EngineWindows ofTile(int rows) const
    {
        EngineWindows made = windows;
        made.boxRows = rows;
        return made;
    }
};

//! Where the engine can fetch windows: one group, channels by 16 bytes, by whole rows where a window has several
//! pixels, and extents that its descriptions have room for.
std::optional<EngineWindows> engineWindowsOf(
    ConvolutionShape const& layer, std::vector<int64_t> const& in, std::vector<int64_t> const& out, EngineRow row = {});
//! The same where all lies channels last, the filter, too.
std::optional<EngineWindows> engineWindowsOf(
    ConvolutionShape const& layer, TensorArg const& in, TensorArg const& filter, TensorArg const& out);

//! Describes images for the engine: a parameter of the kernel.
Result<Done> describeWindows(CudaCall const& at, unsigned long long (&to)[16], void const* address, TensorMapType type,
    EngineWindows const& windows);

} // namespace tenon::cuda
