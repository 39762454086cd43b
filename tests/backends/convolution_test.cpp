// Convolutions on the CPU against the reference.
#include "backends/dims.h"
#include "backends/kernel_case.h"
#include "layers/convolution.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace tenon::test
{

namespace
{
struct Form
{
    std::vector<int64_t> x;
    int64_t maps;
    std::vector<int64_t> kernel;
    int64_t groups{1};
    std::vector<int64_t> stride{};
    std::vector<int64_t> dilation{};
    std::vector<int64_t> pre{};
    std::vector<int64_t> post{};
};

Convolution layerOf(Form const& form)
{
    Convolution layer;
    layer.nbOutputMaps = form.maps;
    layer.kernelSize = extentsAsDims(form.kernel);
    layer.nbGroups = form.groups;
    layer.stride = extentsAsDims(form.stride);
    layer.dilation = extentsAsDims(form.dilation);
    layer.prePadding = extentsAsDims(form.pre);
    layer.postPadding = extentsAsDims(form.post);
    return layer;
}

std::vector<Operand> operandsOf(Form const& form, bool hasBias = true)
{
    std::vector<int64_t> kernel{form.maps, form.x[1] / form.groups};
    kernel.insert(kernel.end(), form.kernel.begin(), form.kernel.end());
    std::vector<Operand> operands{input(randomTensor(form.x)), weight(randomTensor(kernel))};
    operands.push_back(hasBias ? weight(randomTensor({form.maps})) : absent());
    return operands;
}

//! Minimal filtering errs relative to the sums around, not to each: operands of [-1, 1] make sums whose deviation is
//! √(9 · channels) / 3, of which the largest error is less than 1.5e-5 (decision 39).
Tolerance toleranceOfTiles(int64_t channels)
{
    return {1.5e-5 * std::sqrt(static_cast<double>(channels)), 1e-4};
}

//! Instruction set and threads decide whether a window is done by minimal filtering, for which it must be dense.
Tolerance toleranceOf(Form const& form)
{
    auto const isOne = [](int64_t step) { return step == 1; };
    bool const isDense = form.kernel == std::vector<int64_t>{3, 3} && form.groups == 1
        && std::ranges::all_of(form.stride, isOne) && std::ranges::all_of(form.dilation, isOne);
    return isDense ? toleranceOfTiles(form.x[1]) : Tolerance{};
}

void expectForm(Form const& form, std::string_view candidate = "rows", bool hasBias = true)
{
    expectKernels(layerOf(form), operandsOf(form, hasBias), candidate, toleranceOf(form));
}

//! The kernel comes with the run, the bias with the plan or with the run.
void expectRunTimeKernel(Form const& form, std::string_view candidate = "rows")
{
    SCOPED_TRACE("kernel of the run");
    std::vector<Operand> operands = operandsOf(form);
    operands[1].isConstant = false;
    expectKernels(layerOf(form), operands, candidate);
    operands[2].isConstant = false;
    expectKernels(layerOf(form), operands, candidate);
}
} // namespace

TEST(CpuConvolution, kernelsOfTheRun)
{
    expectRunTimeKernel({{2, 32, 7, 7}, 64, {1, 1}});
    expectRunTimeKernel({{1, 16, 9, 11}, 33, {3, 3}, 1, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
    expectRunTimeKernel({{1, 10, 9, 8}, 40, {1, 3}, 1, {2, 1}, {1, 1}, {0, 0}, {1, 2}});
    expectRunTimeKernel({{1, 12, 20, 20}, 20, {3, 3}, 1, {1, 1}, {4, 4}, {4, 4}, {4, 4}});
    expectRunTimeKernel({{2, 3, 17, 19}, 21, {5, 5}, 1, {2, 2}, {1, 1}, {2, 2}, {2, 2}}); // Staged.
    expectRunTimeKernel({{2, 18, 6, 7}, 51, {3, 3}, 3, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
    expectRunTimeKernel({{2, 13, 31}, 18, {4}, 1, {2}, {1}, {1}, {2}});
    expectRunTimeKernel({{3, 20, 1, 1}, 17, {3, 3}, 1, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
    expectRunTimeKernel({{2, 37, 9, 8}, 37, {3, 3}, 37, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, "depthwise");
    expectRunTimeKernel({{1, 16, 40}, 16, {5}, 16, {2}, {1}, {2}, {2}}, "depthwise");
}

TEST(CpuConvolution, pointwise)
{
    expectForm({{2, 32, 7, 7}, 64, {1, 1}});
    expectForm({{1, 17, 5, 9}, 23, {1, 1}});
    expectForm({{1, 24, 13, 13}, 144, {1, 1}}, "rows", false);
    expectForm({{1, 96, 8, 8}, 24, {1, 1}, 1, {2, 2}});
}

TEST(CpuConvolution, windows)
{
    expectForm({{1, 16, 9, 11}, 33, {3, 3}, 1, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
    expectForm({{2, 9, 12, 12}, 16, {3, 3}, 1, {2, 2}, {1, 1}, {1, 1}, {1, 1}});
    expectForm({{1, 12, 20, 20}, 20, {3, 3}, 1, {1, 1}, {4, 4}, {4, 4}, {4, 4}});
    expectForm({{1, 10, 9, 8}, 40, {1, 3}, 1, {2, 1}, {1, 1}, {0, 0}, {1, 2}});
    expectForm({{1, 10, 9, 8}, 7, {5, 1}, 1, {1, 2}, {1, 1}, {2, 0}, {1, 0}});
    expectForm({{1, 9, 4, 3}, 70, {7, 7}, 1, {1, 1}, {1, 1}, {3, 3}, {3, 3}});
    // Lines of several tiles.
    expectForm({{1, 9, 5, 131}, 40, {3, 3}, 1, {2, 2}, {1, 1}, {1, 1}, {1, 1}});
    expectForm({{2, 9, 3, 75}, 24, {1, 3}, 1, {1, 1}, {1, 2}, {0, 1}, {0, 0}});
}

//! Long enough for shares in pieces: by rows, which begin and end within lines of the image and within images, and by
//! columns (GemmShare.everyPanelOfEveryRowBelongsToOnePiece).
TEST(CpuConvolution, windowsInPieces)
{
    Tolerance const ofLongSums{4e-5, 1e-4}; // Of hundreds of products, which cancel in some places.
    for (Form const& form : {Form{{1, 10, 65, 67}, 32, {5, 5}, 1, {1, 1}, {1, 1}, {2, 2}, {2, 2}},
             Form{{2, 32, 77, 79}, 31, {3, 3}, 1, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
             Form{{1, 64, 9, 9}, 512, {3, 3}, 1, {1, 1}, {2, 2}, {2, 2}, {2, 2}}})
        expectKernels(layerOf(form), operandsOf(form), "rows", ofLongSums);
}

//! In float16 and bfloat16 these become floats by parts of a depth that ends within a tap, by rows of which there are
//! several passes, and by columns whose sums do not all wait at once.
TEST(CpuConvolution, partsOfTheDepth)
{
    for (Form const& form : {Form{{1, 100, 9, 21}, 290, {3, 3}, 1, {2, 1}, {1, 1}, {1, 1}, {1, 1}},
             Form{{2, 530, 14, 11}, 20, {1, 1}}, Form{{2, 40, 16, 17}, 9, {1, 1}}})
        expectKernels(
            layerOf(form), operandsOf(form, true), "rows", toleranceOfSums(form.x[1] * volumeOf(form.kernel)));
}

//! Windows of whole packs of channels, some beside the image, so few that GPUs share out their depth.
TEST(CpuConvolution, fewWindows)
{
    expectForm({{1, 64, 7, 7}, 64, {3, 3}, 1, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
    expectForm({{2, 24, 9, 6}, 40, {3, 3}, 1, {2, 2}, {1, 1}, {1, 1}, {1, 1}});
    expectForm({{1, 8, 11, 10}, 72, {5, 3}, 1, {1, 2}, {2, 1}, {4, 0}, {3, 2}}, "rows", false);
    expectForm({{3, 72, 5, 5}, 16, {1, 1}, 1, {2, 2}, {1, 1}, {0, 0}, {0, 0}});
    expectForm({{1, 320, 4, 4}, 8, {3, 3}, 1, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
    expectForm({{2, 16, 40}, 24, {5}, 1, {2}, {2}, {3}, {4}});
    constexpr int64_t kFar{int64_t{1} << 30}; // All but the middle of the window lies so far beside the image.
    expectForm({{1, 64, 3, 3}, 8, {3, 1}, 1, {1, 1}, {kFar, 1}, {kFar, 0}, {kFar, 0}});
    Form const form{{1, 64, 10, 10}, 72, {3, 3}, 1, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
    Convolution layer = layerOf(form);
    layer.epilogue.steps = {{EpilogueKind::kAdd}, {EpilogueKind::kRelu}};
    std::vector<Operand> operands = operandsOf(form);
    operands.push_back(input(randomTensor({1, 72, 10, 10})));
    expectKernels(layer, operands, "rows", toleranceOf(form));
}

//! Rows within a line and across lines, whole and half vectors at the end, and what tiles leave. Repeated, it goes on
//! with other shapes.
TEST(CpuConvolution, tilesOfAllSizes)
{
    static std::mt19937 random{17};
    auto const between = [](int64_t low, int64_t high) { return std::uniform_int_distribution{low, high}(random); };
    for (int32_t i = 0; i < 10; ++i)
    {
        int64_t const height = between(1, 3);
        int64_t const width = between(1, 3);
        int64_t const stride = height == 3 && width == 3 ? 2 : between(1, 2); // Or minimal filtering may do it.
        int64_t const dilation = between(1, 2);
        Form const form{{between(1, 2), between(5, 40), between(5, 12), between(5, 60)}, between(1, 90),
            {height, width}, 1, {stride, stride}, {dilation, dilation}, {between(0, 2), between(0, 2)},
            {between(0, 2), between(0, 2)}};
        SCOPED_TRACE(fmt::format("{} channels, {} x {}, {} maps, kernel {} x {}, stride {}, dilation {}", form.x[1],
            form.x[2], form.x[3], form.maps, height, width, stride, dilation));
        expectForm(form, "rows", i % 2 == 0);
    }
}

TEST(CpuConvolution, volumes)
{
    for (bool const hasBias : {false, true})
    {
        expectForm({{1, 16, 5, 7, 9}, 33, {3, 3, 3}, 1, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}}, "planes", hasBias);
        expectForm(
            {{2, 3, 6, 12, 11}, 20, {3, 5, 5}, 1, {2, 2, 2}, {1, 1, 1}, {1, 2, 2}, {0, 2, 1}}, "planes", hasBias);
        expectForm({{2, 8, 7, 5, 4}, 12, {2, 1, 3}, 4, {1, 2, 1}, {3, 1, 2}, {2, 0, 2}, {1, 0, 0}}, "planes", hasBias);
        expectForm({{1, 6, 3, 8, 8}, 6, {3, 3, 3}, 3, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}}, "planes", hasBias);
        expectForm({{2, 9, 4, 6, 7}, 16, {1, 3, 3}, 1, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}}, "planes", hasBias);
        expectForm({{2, 9, 4, 6, 7}, 16, {3, 1, 1}, 1, {1, 1, 1}, {1, 1, 1}, {1, 0, 0}, {1, 0, 0}}, "planes", hasBias);
        expectForm({{2, 9, 4, 6, 7}, 16, {1, 1, 1}, 1, {2, 1, 1}}, "planes", hasBias);
    }
    Convolution layer = layerOf({{1, 5, 4, 6, 7}, 8, {2, 2, 2}});
    layer.epilogue.steps = {{EpilogueKind::kAdd}, {EpilogueKind::kRelu}};
    std::vector<Operand> operands = operandsOf({{1, 5, 4, 6, 7}, 8, {2, 2, 2}});
    operands.push_back(input(randomTensor({1, 8, 3, 5, 6})));
    expectKernels(layer, operands, "planes");
}

//! One kernel per channel: sums of planes, of which some output planes read none.
TEST(CpuConvolution, volumesOfChannels)
{
    for (Form const& form : {Form{{2, 37, 5, 7, 9}, 37, {3, 3, 3}, 37, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
             {{1, 16, 6, 12, 11}, 16, {3, 5, 3}, 16, {2, 2, 2}, {1, 1, 1}, {1, 2, 1}, {0, 2, 1}},
             {{2, 8, 7, 5, 6}, 8, {2, 1, 3}, 8, {1, 2, 1}, {3, 1, 2}, {2, 0, 2}, {1, 0, 0}},
             {{1, 24, 2, 8, 8}, 24, {2, 3, 3}, 24, {1, 1, 1}, {1, 1, 1}, {3, 1, 1}, {4, 1, 1}}})
        for (bool const hasBias : {false, true})
        {
            expectKernels(layerOf(form), operandsOf(form, hasBias), "planes-depthwise", {}, Types::kFloatOnly);
            Convolution layer = layerOf(form);
            std::vector<Operand> operands = operandsOf(form, hasBias);
            layer.epilogue.steps = {{EpilogueKind::kRelu}, {EpilogueKind::kGeluErf}};
            expectKernels(layer, operands, "planes-depthwise", {}, Types::kFloatOnly);
        }
    Form const form{{1, 20, 4, 6, 7}, 20, {3, 2, 2}, 20, {1, 1, 1}, {1, 1, 1}, {1, 0, 0}, {1, 0, 0}};
    for (std::vector<EpilogueStep> const& steps :
        std::vector<std::vector<EpilogueStep>>{{{EpilogueKind::kAdd}, {EpilogueKind::kClip, -0.5F, 0.5F}},
            {{EpilogueKind::kSilu}, {EpilogueKind::kMultiply}}})
    {
        Convolution layer = layerOf(form);
        layer.epilogue.steps = steps;
        std::vector<Operand> operands = operandsOf(form);
        operands.push_back(input(randomTensor({1, 20, 4, 5, 6})));
        expectKernels(layer, operands, "planes-depthwise", {}, Types::kFloatOnly);
    }
}

TEST(CpuConvolution, minimalFiltering)
{
    expectForm({{1, 32, 14, 15}, 48, {3, 3}, 1, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
    expectForm({{2, 17, 33, 31}, 21, {3, 3}, 1, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
    expectForm({{1, 16, 12, 40}, 16, {3, 3}, 1, {1, 1}, {1, 1}, {0, 2}, {1, 0}}, "rows", false);
    expectForm({{1, 64, 60, 60}, 64, {3, 3}, 1, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
    expectForm({{1, 24, 8, 9}, 40, {3, 3}, 1, {1, 1}, {1, 1}, {1, 1}, {1, 1}});   // Small tiles,
    expectForm({{3, 70, 18, 23}, 30, {3, 3}, 1, {1, 1}, {1, 1}, {2, 0}, {1, 2}}); // large ones, cut on all sides.
    expectForm({{1, 80, 8, 8}, 272, {3, 3}, 1, {1, 1}, {1, 1}, {1, 1}, {1, 1}});  // Two lanes share these.
    Form const form{{2, 20, 13, 14}, 35, {3, 3}, 1, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
    for (EpilogueKind const kind : {EpilogueKind::kAdd, EpilogueKind::kMultiply})
        for (std::vector<int64_t> const& extra :
            std::vector<std::vector<int64_t>>{{2, 35, 13, 14}, {2, 35, 1, 1}, {2, 1, 13, 14}})
        {
            Convolution layer = layerOf(form);
            layer.epilogue.steps = {{kind}, {EpilogueKind::kClip, -0.5F, 0.5F}, {EpilogueKind::kGeluErf}};
            std::vector<Operand> operands = operandsOf(form);
            operands.push_back(input(randomTensor(extra)));
            expectKernels(layer, operands, "rows", toleranceOfTiles(20));
        }
}

TEST(CpuConvolution, fewChannels)
{
    expectForm({{2, 3, 21, 19}, 32, {7, 7}, 1, {2, 2}, {1, 1}, {3, 3}, {3, 3}});
    expectForm({{1, 3, 32, 32}, 48, {16, 16}, 1, {16, 16}});
    expectForm({{1, 1, 9, 9}, 5, {3, 3}, 1, {1, 1}, {1, 1}, {0, 1}, {2, 0}});
    expectForm({{1, 4, 8, 8}, 20, {2, 2}, 1, {2, 2}});
    expectForm({{2, 3, 20, 37}, 72, {3, 3}, 1, {2, 2}, {1, 1}, {1, 1}, {1, 1}});
}

TEST(CpuConvolution, groups)
{
    expectForm({{2, 12, 6, 6}, 21, {3, 3}, 3, {1, 1}, {1, 1}, {1, 1}, {1, 1}});
}

TEST(CpuConvolution, oneDimension)
{
    expectForm({{2, 20, 31}, 18, {5}, 1, {1}, {1}, {2}, {2}});
    expectForm({{2, 3, 31}, 18, {5}, 1, {2}, {1}, {2}, {1}});
    expectForm({{2, 20, 31}, 20, {3}, 20, {1}, {2}, {2}, {2}}, "depthwise");
}

TEST(CpuConvolution, depthwise)
{
    expectForm({{2, 32, 9, 9}, 32, {3, 3}, 32, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, "depthwise");
    expectForm({{1, 37, 14, 15}, 37, {3, 3}, 37, {2, 2}, {1, 1}, {1, 1}, {1, 1}}, "depthwise");
    expectForm({{1, 24, 9, 25}, 24, {7, 7}, 24, {1, 1}, {1, 1}, {3, 3}, {3, 3}}, "depthwise");
    expectForm({{1, 16, 12, 12}, 16, {5, 5}, 16, {1, 1}, {2, 2}, {4, 4}, {4, 4}}, "depthwise", false);
    expectForm({{1, 40, 8, 13}, 40, {5, 5}, 40, {2, 1}, {1, 1}, {2, 2}, {2, 2}}, "depthwise");
    expectForm({{2, 40, 9, 31}, 40, {5, 5}, 40, {1, 1}, {1, 1}, {2, 2}, {2, 2}}, "depthwise");
    expectForm({{1, 19, 20, 21}, 19, {5, 5}, 19, {2, 2}, {1, 1}, {2, 2}, {2, 2}}, "depthwise");
    // Two lines at a time, of tiles that fit the width, overlap, or are wider than it.
    for (int64_t const taps : {3, 5})
        for (int64_t const width : {5, 7, 8, 10, 14, 23})
            expectForm(
                {{2, 21, 5, width}, 21, {taps, taps}, 21, {1, 1}, {1, 1}, {taps / 2, 1}, {1, taps / 2}}, "depthwise");
    // More lines than a tile takes, widths of each size of tile, and rows that many or no line of a tile reads.
    for (int64_t const stride : {1, 2})
        for (int64_t const width : {1, 2, 13, 28, 31})
            expectForm({{1, 35, 21, width}, 35, {3, 3}, 35, {stride, stride}, {1, 1}, {1, 1}, {1, 1}}, "depthwise");
    expectForm({{1, 17, 40, 16}, 17, {9, 3}, 17, {3, 1}, {1, 1}, {4, 1}, {4, 1}}, "depthwise");
    // Too many taps for halves to become floats first; strides at which they do not; lines that read nothing at all.
    expectForm({{1, 17, 30, 16}, 17, {7, 5}, 17, {1, 1}, {1, 1}, {3, 2}, {3, 2}}, "depthwise");
    expectForm({{1, 17, 60, 30}, 17, {3, 3}, 17, {9, 2}, {1, 1}, {1, 1}, {1, 1}}, "depthwise");
    expectForm({{1, 17, 4, 16}, 17, {3, 3}, 17, {1, 1}, {1, 1}, {6, 1}, {11, 1}}, "depthwise");
    expectForm({{1, 17, 19, 16}, 17, {3, 7}, 17, {1, 1}, {1, 1}, {2, 3}, {2, 3}}, "depthwise");
    expectForm({{1, 17, 3, 16}, 17, {2, 5}, 17, {1, 1}, {1, 1}, {3, 2}, {3, 2}}, "depthwise");
    // So large that what the next tile reads is fetched.
    for (int64_t const stride : {1, 2})
        expectForm({{1, 48, 75, 80}, 48, {5, 5}, 48, {stride, stride}, {1, 1}, {2, 2}, {2, 2}}, "depthwise");
    expectForm({{1, 16, 4, 12}, 16, {3, 3}, 16, {1, 1}, {1, 1}, {0, 2}, {2, 0}}, "depthwise", false);
    expectForm({{1, 16, 12, 29}, 16, {3, 1}, 16, {2, 2}, {1, 1}, {1, 0}, {1, 0}}, "depthwise");
    expectForm({{1, 16, 12, 13}, 16, {1, 3}, 16, {1, 2}, {1, 2}, {0, 2}, {0, 2}}, "depthwise");
}

//! Channels of no whole register, tiles of no whole line, and windows that leave the image on all sides.
//! --gtest_shuffle with --gtest_repeat draws others each time.
TEST(CpuConvolution, randomForms)
{
    std::mt19937 random{static_cast<unsigned>(testing::UnitTest::GetInstance()->random_seed())};
    auto const upTo = [&](int64_t most) { return std::uniform_int_distribution<int64_t>{1, most}(random); };
    for (int i = 0; i < 36; ++i)
    {
        bool const isDepthwise = i % 3 != 0;
        bool const hasFewChannels = i % 6 == 0;
        int64_t const channels = isDepthwise ? 1 + upTo(69) : hasFewChannels ? upTo(8) : upTo(40);
        int64_t const taps = std::array<int64_t, 4>{3, 5, 3, upTo(7)}[static_cast<size_t>(i % 4)];
        int64_t const stride = upTo(3);
        int64_t const dilation = upTo(4) == 1 ? 2 : 1;
        int64_t const across = hasFewChannels || !isDepthwise || upTo(3) > 1 ? taps : upTo(7);
        auto const padding = [&](int64_t size) { return upTo(size * dilation) - 1; };
        Form const form{{upTo(2), channels, taps * 2 + upTo(24), across * 2 + upTo(40)},
            isDepthwise ? channels : upTo(50), {taps, across}, isDepthwise ? channels : 1, {upTo(3), stride},
            {dilation, hasFewChannels ? 1 : dilation}, {padding(taps), padding(across)},
            {padding(taps), padding(across)}};
        SCOPED_TRACE(fmt::format("case {}: {} x {} x {} x {}, {} maps, {} x {} taps, stride {} x {}, dilation {}", i,
            form.x[0], channels, form.x[2], form.x[3], form.maps, taps, across, form.stride[0], stride, dilation));
        expectKernels(layerOf(form), operandsOf(form, upTo(2) == 1), isDepthwise ? "depthwise" : "rows",
            isDepthwise ? toleranceOfSums(taps * across) : toleranceOfTiles(channels));
    }
}

TEST(CpuConvolution, epilogues)
{
    Form const form{{2, 20, 6, 7}, 35, {3, 3}, 1, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
    Form const depthwise{{2, 20, 6, 7}, 20, {3, 3}, 20, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
    Form const wide{{2, 20, 4, 9}, 20, {3, 3}, 20, {1, 1}, {1, 1}, {1, 1}, {1, 1}}; // A tile moves back.
    for (int32_t kind = static_cast<int32_t>(EpilogueKind::kRelu); kind <= static_cast<int32_t>(EpilogueKind::kLinear);
         ++kind)
    {
        SCOPED_TRACE(kind);
        for (Form const& each : {form, depthwise, wide})
        {
            Convolution layer = layerOf(each);
            float const alpha = static_cast<EpilogueKind>(kind) == EpilogueKind::kClip ? -0.5F : 0.2F;
            layer.epilogue.steps = {{static_cast<EpilogueKind>(kind), alpha, 0.5F}};
            expectKernels(layer, operandsOf(each), each.groups == 1 ? "rows" : "depthwise", toleranceOf(each));
        }
    }
}

//! The largest number in front of the last step of the layer's epilogue.
double largestPartial(Convolution layer, std::vector<Operand> const& operands)
{
    HostTensors in;
    for (Operand const& operand : operands)
        in.push_back(operand.isAbsent ? nullptr : &operand.tensor);
    double largest{0};
    while (!layer.epilogue.steps.empty())
    {
        EpilogueKind const last = layer.epilogue.steps.back().kind;
        if (last == EpilogueKind::kAdd || last == EpilogueKind::kMultiply)
            in.pop_back();
        layer.epilogue.steps.pop_back();
        Result<std::vector<HostTensor>> const out = layer.reference(in);
        EXPECT_TRUE(out) << (out ? "" : out.error().message);
        for (int64_t i = 0; out && i < out->at(0).count(); ++i)
            largest = std::max(largest, std::fabs(out->at(0).real(i)));
    }
    return largest;
}

//! Steps that sums in registers go through, in front of and behind others, on every number of rows of a tile.
TEST(CpuConvolution, shortStepsAmongOthers)
{
    using enum EpilogueKind;
    std::vector<EpilogueStep> const gate{{kHardSwish, 0.2F, 0.5F}, {kLinear, 1.5F, -0.25F}};
    std::vector<EpilogueStep> const most{{kRelu}, {kLinear, 1.5F, -0.25F}, {kGeluTanh}, {kHardSwish, 0.2F, 0.5F}};
    for (std::vector<EpilogueStep> const& steps : {gate, most})
        for (int64_t const width : {1, 3, 5, 8, 13, 14, 29})
            for (Form const& form : {Form{{1, 5, 3, width}, 77, {1, 1}}, Form{{1, 5, 1, width}, 150, {1, 1}},
                     Form{{2, 5, 2, width}, 9, {1, 1}},
                     Form{{1, 37, 3, width}, 37, {3, 3}, 37, {1, 1}, {1, 1}, {1, 1}, {1, 1}}})
            {
                SCOPED_TRACE(fmt::format("{} steps, {} columns, {} maps", steps.size(), width, form.maps));
                Convolution layer = layerOf(form);
                layer.epilogue.steps = steps;
                std::vector<Operand> const operands = operandsOf(form);
                expectKernels(layer, operands, form.groups == 1 ? "rows" : "depthwise", {}, Types::kAll,
                    largestPartial(layer, operands));
            }
}

TEST(CpuConvolution, residualsAndFactors)
{
    for (Form const& form :
        {Form{{2, 20, 6, 7}, 35, {1, 1}}, Form{{2, 20, 6, 7}, 20, {3, 3}, 20, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
            Form{{2, 20, 6, 9}, 20, {3, 3}, 20, {1, 1}, {1, 1}, {1, 1}, {1, 1}}})
    {
        int64_t const width = form.x[3];
        std::vector<int64_t> const out{2, form.maps, 6, width};
        for (std::vector<int64_t> const& extra : std::vector<std::vector<int64_t>>{out, {1, form.maps, 1, 1},
                 {2, form.maps, 1, 1}, {1, 1, 1, 1}, {2, 1, 6, width}, {1, form.maps, 6, width}})
            for (EpilogueKind const kind : {EpilogueKind::kAdd, EpilogueKind::kMultiply})
            {
                Convolution layer = layerOf(form);
                layer.epilogue.steps = {
                    {kind}, {EpilogueKind::kRelu}, {EpilogueKind::kSilu}, {kind}, {EpilogueKind::kClip, 0.1F, 0.4F}};
                std::vector<Operand> operands = operandsOf(form);
                operands.push_back(input(randomTensor(extra)));
                operands.push_back(weight(randomTensor(out)));
                expectKernels(layer, operands, form.groups == 1 ? "rows" : "depthwise", {}, Types::kAll,
                    largestPartial(layer, operands));
            }
    }
}

//! What adds a tensor may write over it, also with a single output map, and reads its own part of it in each group.
TEST(CpuConvolution, sumsWithOneMapAndWithGroups)
{
    for (Form const& form : {Form{{2, 4, 8, 8}, 1, {1, 1}},
             Form{{1, 16, 7, 9}, 1, {3, 3}, 1, {1, 1}, {1, 1}, {1, 1}, {1, 1}}, Form{{1, 8, 1, 1}, 1, {1, 1}},
             Form{{2, 16, 5, 6}, 16, {1, 1}, 2}, Form{{1, 16, 5, 6}, 24, {3, 3}, 4, {1, 1}, {1, 1}, {1, 1}, {1, 1}}})
    {
        SCOPED_TRACE(fmt::format("{} maps, {} groups", form.maps, form.groups));
        std::vector<int64_t> const out{form.x[0], form.maps, form.x[2], form.x[3]};
        for (std::vector<EpilogueStep> const& steps : std::vector<std::vector<EpilogueStep>>{
                 {{EpilogueKind::kAdd}}, {{EpilogueKind::kRelu}, {EpilogueKind::kAdd}}, {{EpilogueKind::kMultiply}}})
        {
            Convolution layer = layerOf(form);
            layer.epilogue.steps = steps;
            std::vector<Operand> operands = operandsOf(form);
            operands.push_back(input(randomTensor(out)));
            expectKernels(layer, operands, "rows");
        }
    }
}

} // namespace tenon::test
