// EngineWindows: descriptions of images ("im2col mode" of the PTX ISA): the engine goes from result to result, row by
// row and image by image, and reads the pixel of each one's window that an offset names.
#include "backends/cuda/engine_windows.h"

#include <algorithm>
#include <array>

namespace tenon::cuda
{

namespace
{
//! The fake driver writes into a map: the address; channels, width, height, images; bytes from each to the next of the
//! last three; lower and upper corner, x and y each; strides.
constexpr char kEngineWalkText[]{R"(
//! Where the window of a result begins.
struct WindowAt { int image, row, column; };
static __device__ __forceinline__ WindowAt windowAt(WindowWalk const& walk, int result)
{
    int const image = result / walk.results, own = result - image * walk.results;
    int const row = own / walk.across, column = own - row * walk.across;
    return {image, row * walk.strideY + walk.lowerY, column * walk.strideX + walk.lowerX};
}
#ifdef TENON_EMULATED
//! Number k of the depth of the window that is so many behind the one there; a step of the depth has DEPTH of one
//! pixel.
template <typename T = Stored, int DEPTH = 64>
static inline float windowNumber(u64 const (&map)[16], WindowWalk const& walk, WindowAt const& at, int behind, int k)
{
    int const extents[]{(int)map[2], (int)map[3]}, images = (int)map[4];
    int count[2], place[2], begin[2]{at.column, at.row};
    int const tap = k / DEPTH / walk.stepsOfTap, channel = k / DEPTH % walk.stepsOfTap * DEPTH + k % DEPTH;
    int const offset[]{tap % walk.tapsAcross * walk.dilationX, tap / walk.tapsAcross * walk.dilationY};
    for (int axis = 0; axis < 2; ++axis)
        count[axis] = (extents[axis] - 1 + (int)map[10 + axis] - (int)map[8 + axis]) / (int)map[12 + axis] + 1;
    for (int axis = 0; axis < 2; ++axis)
        place[axis] = (begin[axis] - (int)map[8 + axis]) / (int)map[12 + axis];
    int const result = (at.image * count[1] + place[1]) * count[0] + place[0] + behind;
    int const x = result % count[0] * (int)map[12] + (int)map[8] + offset[0];
    int const y = result / count[0] % count[1] * (int)map[13] + (int)map[9] + offset[1];
    int const image = result / count[0] / count[1];
    if (image >= images || x < 0 || x >= extents[0] || y < 0 || y >= extents[1] || channel >= (int)map[1])
        return 0.0f;
    return (float)widen(((T const*)(map[0] + x * map[5] + y * map[6] + image * map[7]))[channel]);
}
#else
//! Of a box of windows from there on, DEPTH channels of one pixel each; what is not there becomes zeros.
template <int DEPTH = 64>
static __device__ __forceinline__ void fetchWindows(
    unsigned to, u64 const (&map)[16], unsigned barrier, WindowWalk const& walk, WindowAt const& at, int step)
{
    int const tap = step / walk.stepsOfTap, channel = (step - tap * walk.stepsOfTap) * DEPTH;
    int const tapRow = tap / walk.tapsAcross;
    unsigned short const y = (unsigned short)(tapRow * walk.dilationY);
    unsigned short const x = (unsigned short)((tap - tapRow * walk.tapsAcross) * walk.dilationX);
    asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes "
        "[%0], [%1, {%3, %4, %5, %6}], [%2], {%7, %8};"
        :: "r"(to), "l"(map), "r"(barrier), "r"(channel), "r"(at.column), "r"(at.row), "r"(at.image), "h"(x), "h"(y)
        : "memory");
}
#endif
)"};
} // namespace

std::string_view windowWalkText() noexcept
{
    return kEngineWalkText;
}

std::optional<EngineWindows> engineWindowsOf(
    ConvolutionShape const& layer, std::vector<int64_t> const& in, std::vector<int64_t> const& out, EngineRow row)
{
    constexpr size_t kAxes{2};
    constexpr int64_t kMaxCorner{127}; // Of eight bits, as are offsets within a window.
    constexpr int64_t kMaxStride{8};
    Window const& window = layer.window;
    if (layer.groups != 1 || layer.isTransposed || window.rank() != kAxes || volumeOf(out) == 0)
        return std::nullopt;
    int64_t const channels = in[1];
    int64_t const taps = window.size[0] * window.size[1];
    if (channels <= 0 || channels % (taps == 1 ? row.grain() : row.elements()) != 0)
        return std::nullopt;
    std::array<int, kAxes> lower{};
    for (size_t axis = 0; axis < kAxes; ++axis)
    {
        int64_t const first = -window.padding(axis, in[axis + 2]).pre;
        int64_t const last = first + (out[axis + 2] - 1) * window.stride[axis] - (in[axis + 2] - 1);
        int64_t const reach = (window.size[axis] - 1) * window.dilation[axis];
        if (first < -kMaxCorner || last < -kMaxCorner || last > kMaxCorner || reach > kMaxCorner
            || window.stride[axis] > kMaxStride)
            return std::nullopt;
        lower[axis] = static_cast<int>(first);
    }
    int64_t const largest = std::max({volumeOf(in), volumeOf(out), taps * channels * out[1]});
    if (!isSmall(largest))
        return std::nullopt;
    auto const small = [](int64_t value) { return static_cast<int>(value); };
    return EngineWindows{.images = in[0],
        .height = in[2],
        .width = in[3],
        .channels = channels,
        .results = {out[2], out[3]},
        .walk = {.results = small(out[2] * out[3]),
            .across = small(out[3]),
            .strideY = small(window.stride[0]),
            .strideX = small(window.stride[1]),
            .lowerY = lower[0],
            .lowerX = lower[1],
            .dilationY = small(window.dilation[0]),
            .dilationX = small(window.dilation[1]),
            .tapsAcross = small(window.size[1]),
            .stepsOfTap = small(blocksOf(channels, row.elements()))},
        .boxRows = 0,
        .row = row};
}

std::optional<EngineWindows> engineWindowsOf(
    ConvolutionShape const& layer, TensorArg const& in, TensorArg const& filter, TensorArg const& out)
{
    bool const isLast = in.layout == Layout::kChannelsLast && out.layout == Layout::kChannelsLast
        && (layer.isChannelsLast || !dependsOnOrder(filter.extents));
    return isLast ? engineWindowsOf(layer, in.extents, out.extents) : std::nullopt;
}

StepProduct EngineWindows::product(ConvolutionShape const& layer, TensorArg const& out) const
{
    return productOf(layer, out, channels * volumeOf(layer.window.size));
}

Result<Done> describeWindows(CudaCall const& at, unsigned long long (&to)[16], void const* address, TensorMapType type,
    EngineWindows const& windows)
{
    constexpr unsigned kRank{4};
    auto const unsigned64 = [](int64_t value) { return static_cast<uint64_t>(value); };
    std::array const extents{unsigned64(windows.channels), unsigned64(windows.width), unsigned64(windows.height),
        unsigned64(windows.images)};
    std::array<uint64_t, 3> strides{};
    auto bytes = static_cast<uint64_t>(windows.row.elementBytes);
    for (size_t i = 0; i < strides.size(); ++i)
        strides[i] = bytes *= extents[i];
    WindowWalk const& walk = windows.walk;
    // From the first result's window to the last one's: the latter relative to the image's last pixel.
    std::array const lower{walk.lowerX, walk.lowerY};
    std::array const upper{
        walk.lowerX + static_cast<int>((windows.results[1] - 1) * walk.strideX - (windows.width - 1)),
        walk.lowerY + static_cast<int>((windows.results[0] - 1) * walk.strideY - (windows.height - 1))};
    std::array const steps{1U, static_cast<unsigned>(walk.strideX), static_cast<unsigned>(walk.strideY), 1U};
    TensorMap map{};
    Code const code = at.api.cuTensorMapEncodeIm2col(&map, type, kRank, const_cast<void*>(address), extents.data(),
        strides.data(), lower.data(), upper.data(), static_cast<unsigned>(windows.row.elements()),
        static_cast<unsigned>(windows.boxRows), steps.data(), kTensorMapNotInterleaved, windows.row.swizzle(),
        kTensorMapPromotion256, kTensorMapZeros);
    if (code != kSuccess)
        return at.device.noted(code, "cuTensorMapEncodeIm2col");
    std::ranges::copy(map.words, to);
    return Done{};
}

} // namespace tenon::cuda
