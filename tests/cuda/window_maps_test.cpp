// Descriptions of images for the copy engine, walked as the driver's documentation has it ("im2col"): hundreds of
// convolutions, each of whose windows is the one that the convolution itself names, and what no description has room
// for.
#include "backends/cuda/engine_windows.h"
#include "cuda/fake_device.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace tenon::test
{

namespace
{
using cuda::ConvolutionShape;
using cuda::EngineWindows;
using cuda::WindowWalk;

struct WindowedCase
{
    std::vector<int64_t> in;
    ConvolutionShape layer;
    std::vector<int64_t> out;
};

//! Of one axis of the image.
int64_t resultsOf(Window const& window, size_t axis, int64_t extent)
{
    return window.outputExtent(axis, ShapeExpr{extent}).constant().value_or(0);
}

std::vector<int64_t> outOf(Window const& window, std::vector<int64_t> const& in, int64_t maps)
{
    return {in[0], maps, resultsOf(window, 0, in[2]), resultsOf(window, 1, in[3])};
}

WindowedCase caseOf(std::vector<int64_t> in, Convolution const& conv)
{
    WindowedCase made{std::move(in), {.window = conv.window(), .epilogue = {}}, {}};
    made.out = outOf(made.layer.window, made.in, 8);
    return made;
}

//! Any that a convolution may be, its window within the padded image; empty results where there is none.
WindowedCase anyCase(std::mt19937& random)
{
    auto const upTo = [&](int64_t most) { return std::uniform_int_distribution<int64_t>{0, most}(random); };
    Convolution conv;
    conv.nbOutputMaps = 8;
    conv.kernelSize = nvinfer1::Dims2{1 + upTo(4), 1 + upTo(4)};
    conv.stride = nvinfer1::Dims2{1 + upTo(3), 1 + upTo(3)};
    conv.dilation = nvinfer1::Dims2{1 + upTo(2), 1 + upTo(2)};
    conv.prePadding = nvinfer1::Dims2{upTo(4), upTo(4)};
    conv.postPadding = nvinfer1::Dims2{upTo(4), upTo(4)};
    bool const isOfPixels = conv.kernelSize.d[0] * conv.kernelSize.d[1] == 1;
    std::vector<int64_t> in{1 + upTo(2), isOfPixels ? 72 : 128, 1 + upTo(19), 1 + upTo(19)};
    for (int32_t axis = 0; axis < 2; ++axis)
    {
        int64_t const reach = (conv.kernelSize.d[axis] - 1) * conv.dilation.d[axis] + 1;
        int64_t const whole = in[static_cast<size_t>(axis) + 2] + conv.prePadding.d[axis] + conv.postPadding.d[axis];
        in[static_cast<size_t>(axis) + 2] += std::max<int64_t>(reach - whole, 0);
    }
    return caseOf(std::move(in), conv);
}

//! What the driver is told of an image.
struct ImageMap
{
    alignas(64) unsigned long long words[16];

    int64_t word(size_t at) const
    {
        return static_cast<int64_t>(words[at]);
    }
    int64_t extent(size_t axis) const //!< Across, down, images.
    {
        return word(2 + axis);
    }
    int64_t lower(size_t axis) const
    {
        return word(8 + axis);
    }
    //! Of the last pixel of the box.
    int64_t upper(size_t axis) const
    {
        return extent(axis) - 1 + word(10 + axis);
    }
    int64_t stride(size_t axis) const
    {
        return word(12 + axis);
    }
};

Result<ImageMap> described(EngineWindows windows)
{
    cuda::Current const current{fake()};
    windows.boxRows = 64;
    ImageMap map{};
    std::array<char, 32> memory{};
    Call const call{};
    auto const address = (reinterpret_cast<uintptr_t>(memory.data()) + 15) / 16 * 16;
    TENON_TRY(describeWindows({fake(), fake().api(), nullptr, call}, map.words, reinterpret_cast<void*>(address),
        cuda::kTensorMapHalf, windows));
    return map;
}

//! The engine's way from pixel to pixel of the box.
struct PixelWalk
{
    ImageMap const& map;
    int64_t x;
    int64_t y;
    int64_t image;

    void next()
    {
        x += map.stride(0);
        if (x <= map.upper(0))
            return;
        x = map.lower(0);
        y += map.stride(1);
        if (y <= map.upper(1))
            return;
        y = map.lower(1);
        ++image;
    }
};

//! Where a pixel lies in memory; −1: beside the image, where zeros are read.
int64_t pixelAt(std::vector<int64_t> const& in, int64_t image, int64_t y, int64_t x)
{
    bool const isThere = image < in[0] && y >= 0 && y < in[2] && x >= 0 && x < in[3];
    return isThere ? (image * in[2] + y) * in[3] + x : -1;
}

//! From every result on, for each pixel of the window, a box of results behind each other.
void expectWindows(WindowedCase const& of)
{
    constexpr int64_t kBox{64};
    auto const windows = cuda::engineWindowsOf(of.layer, of.in, of.out);
    ASSERT_TRUE(windows);
    auto const map = described(*windows);
    ASSERT_TRUE(map) << map.error().message;
    WindowWalk const& walk = windows->walk;
    Window const& window = of.layer.window;
    int64_t const results = of.out[0] * of.out[2] * of.out[3];
    for (int64_t tap = 0; tap < window.size[0] * window.size[1]; ++tap)
        for (int64_t first = 0; first < results; first += first % 3 + 5)
        {
            int64_t const own = first % walk.results;
            PixelWalk at{*map, own % walk.across * walk.strideX + walk.lowerX,
                own / walk.across * walk.strideY + walk.lowerY, first / walk.results};
            int64_t const offsetX = tap % walk.tapsAcross * walk.dilationX;
            int64_t const offsetY = tap / walk.tapsAcross * walk.dilationY;
            for (int64_t r = first; r < std::min(first + kBox, results); ++r, at.next())
            {
                int64_t const x = r % of.out[3] * window.stride[1] - window.padding(1, of.in[3]).pre
                    + tap % window.size[1] * window.dilation[1];
                int64_t const y = r / of.out[3] % of.out[2] * window.stride[0] - window.padding(0, of.in[2]).pre
                    + tap / window.size[1] * window.dilation[0];
                ASSERT_EQ(pixelAt(of.in, at.image, at.y + offsetY, at.x + offsetX),
                    pixelAt(of.in, r / of.out[3] / of.out[2], y, x))
                    << "result " << r << " from " << first << " on, pixel " << tap << " of the window";
            }
        }
}

std::string textOf(WindowedCase const& of)
{
    Window const& window = of.layer.window;
    return fmt::format("{} by {}, stride {}, dilation {}, to {}", fmt::join(of.in, " x "),
        fmt::join(window.size, " x "), fmt::join(window.stride, " x "), fmt::join(window.dilation, " x "),
        fmt::join(of.out, " x "));
}
} // namespace

TEST(WindowMaps, theEngineWalksFromWindowToWindow)
{
    constexpr int kCases{600};
    std::mt19937 random{7};
    for (int i = 0; i < kCases && !HasFatalFailure(); ++i)
    {
        WindowedCase const of = anyCase(random);
        SCOPED_TRACE(textOf(of));
        expectWindows(of);
    }
}

//! Corners and offsets of eight bits, strides of up to eight, steps of 64 channels.
TEST(WindowMaps, whatADescriptionHasNoRoomForIsLeftToOthers)
{
    auto const isTaken = [](std::vector<int64_t> in, auto const& change) {
        Convolution conv;
        conv.nbOutputMaps = 8;
        conv.kernelSize = nvinfer1::Dims2{3, 3};
        conv.prePadding = conv.postPadding = nvinfer1::Dims2{1, 1};
        change(conv);
        WindowedCase const of = caseOf(std::move(in), conv);
        auto const windows = cuda::engineWindowsOf(of.layer, of.in, of.out);
        EXPECT_TRUE(!windows || described(*windows)) << textOf(of);
        return windows.has_value();
    };
    auto const plain = [](Convolution&) {};
    std::vector<int64_t> const image{2, 64, 300, 300};
    EXPECT_TRUE(isTaken(image, plain));
    EXPECT_FALSE(isTaken({2, 72, 300, 300}, plain)) << "channels of no whole steps";
    EXPECT_TRUE(isTaken({2, 72, 300, 300}, [](Convolution& conv) { conv.kernelSize = nvinfer1::Dims2{1, 1}; }));
    EXPECT_FALSE(isTaken({2, 68, 300, 300}, [](Convolution& conv) { conv.kernelSize = nvinfer1::Dims2{1, 1}; }));
    EXPECT_TRUE(isTaken(image, [](Convolution& conv) { conv.stride = nvinfer1::Dims2{8, 8}; }));
    EXPECT_FALSE(isTaken(image, [](Convolution& conv) { conv.stride = nvinfer1::Dims2{1, 9}; }));
    EXPECT_TRUE(isTaken(image, [](Convolution& conv) { conv.prePadding = nvinfer1::Dims2{127, 1}; }));
    EXPECT_FALSE(isTaken(image, [](Convolution& conv) { conv.prePadding = nvinfer1::Dims2{128, 1}; }));
    EXPECT_TRUE(isTaken(image, [](Convolution& conv) { conv.postPadding = nvinfer1::Dims2{1, 129}; }));
    EXPECT_FALSE(isTaken(image, [](Convolution& conv) { conv.postPadding = nvinfer1::Dims2{1, 130}; }));
    EXPECT_TRUE(isTaken(image, [](Convolution& conv) { conv.dilation = nvinfer1::Dims2{1, 63}; }));
    EXPECT_FALSE(isTaken(image, [](Convolution& conv) { conv.dilation = nvinfer1::Dims2{64, 1}; }));
}

} // namespace tenon::test
