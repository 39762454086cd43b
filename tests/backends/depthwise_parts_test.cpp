// Depthwise convolutions of parts of lines: the pixels that are asked for, as those of whole lines, and no others.
#include "backends/cpu/depthwise.h"
#include "backends/cpu/isa_functions.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tenon::test
{

namespace
{
using cpu::Depthwise;

constexpr float kNotWritten{77.0F};

//! Two images of a few lines.
struct DepthwiseImages
{
    DepthwiseImages(int64_t width, int64_t taps, int64_t stride, bool adds)
    {
        constexpr int64_t kHeight{5};
        constexpr int64_t kChannels{35};
        work.images = 2;
        work.channels = kChannels;
        cpu::GemmWindow& w = work.window;
        w.outHeight = kHeight;
        w.outWidth = width;
        w.inHeight = (kHeight - 1) * stride + 1;
        w.inWidth = (width - 1) * stride + 1;
        w.kernelHeight = w.kernelWidth = taps;
        w.strideX = w.strideY = stride;
        w.padTop = w.padLeft = taps / 2;
        w.pixelStride = kChannels;
        w.lineStride = w.inWidth * kChannels;
        w.imageStride = w.inHeight * w.lineStride;
        in = random(work.images * w.imageStride);
        kernel = random(taps * taps * kChannels);
        residual = random(work.images * kHeight * width * kChannels);
        zeros.resize(kChannels);
        work.in = in.data();
        work.kernel = kernel.data();
        work.zeros = zeros.data();
        work.low = -0.5F;
        work.high = 0.5F;
        if (adds)
        {
            work.residual = residual.data();
            work.residualStride = kChannels;
        }
    }
    std::vector<float> run(int64_t first, int64_t last, int64_t left, int64_t right)
    {
        std::vector<float> out(residual.size(), kNotWritten);
        work.out = out.data();
        work.left = left;
        work.right = right;
        cpu::storageFunctions<float>().runDepthwise(work, first, last);
        return out;
    }

    Depthwise<float> work;

  private:
    static std::vector<float> random(int64_t count)
    {
        static std::mt19937 engine{5};
        std::uniform_real_distribution<float> each{-1.0F, 1.0F};
        std::vector<float> numbers(static_cast<size_t>(count));
        for (float& number : numbers)
            number = each(engine);
        return numbers;
    }

    std::vector<float> in;
    std::vector<float> kernel;
    std::vector<float> residual;
    std::vector<float> zeros;
};
} // namespace

TEST(DepthwiseParts, areThePixelsOfWholeLines)
{
    struct Share
    {
        int64_t first;
        int64_t last;
    };
    for (int64_t const taps : {3, 5})
        for (int64_t const stride : {1, 2})
            for (int64_t const width : {1, 4, 7, 9, 15, 30})
                for (bool const adds : {false, true})
                {
                    DepthwiseImages images{width, taps, stride, adds};
                    std::vector<float> const whole = images.run(0, 10, 0, 0);
                    int64_t const perPixel = images.work.channels;
                    for (Share const share : {Share{0, 1}, {2, 4}, {3, 10}})
                        for (int64_t const left : {int64_t{0}, width / 3, width / 2})
                            for (int64_t const right : {int64_t{0}, width / 4, (width - 1) / 2})
                            {
                                if (share.first + 1 == share.last && left + right >= width)
                                    continue;
                                std::vector<float> expected(whole.size(), kNotWritten);
                                auto const from = (share.first * width + left) * perPixel;
                                auto const to = (share.last * width - right) * perPixel;
                                std::copy(whole.begin() + from, whole.begin() + to, expected.begin() + from);
                                EXPECT_TRUE(images.run(share.first, share.last, left, right) == expected)
                                    << taps << " taps, stride " << stride << ", width " << width << ", lines "
                                    << share.first << " to " << share.last << " but " << left << " and " << right;
                            }
                }
}

} // namespace tenon::test
