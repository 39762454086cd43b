// Large products and windows of int8 and fp8 numbers on a Hopper GPU against the reference: every tile, with extents
// that none divides, results and tensors of the epilogue of every type.
#include "backends/cuda_cases.h"
#include "layers/quantized_convolution.h"
#include "layers/quantized_matrix_multiply.h"

namespace tenon::test
{

namespace
{
class LargeQuantized : public CudaKernels
{
};

constexpr DType kOfInt8{DType::kINT8};
constexpr DType kOfFp8{DType::kFP8};
constexpr DType kOfHalf{DType::kHALF};
constexpr EpilogueStep kAddBytes{EpilogueKind::kAdd, 0.05F};
constexpr EpilogueStep kAddReals{EpilogueKind::kAdd};
constexpr EpilogueStep kRelus{EpilogueKind::kRelu};

HostTensor bytesTensor(std::vector<int64_t> extents, DType type)
{
    double const most = type == kOfFp8 ? 4.0 : 127.49;
    return randomTensor(std::move(extents), -most, most, type);
}

//! A step of the result's type, or its rounding; tensor cores add fp8 with fewer digits than float32, so that sums of
//! many products are off by more.
Tolerance toleranceOfBytes(DType out, DType in, int64_t depth)
{
    double const ofSums = in == kOfFp8 ? 5e-6 * static_cast<double>(depth) : 0.0;
    switch (out)
    {
    case DType::kINT8: return {1.0, 0.0};
    case DType::kFP8: return {0.02 + ofSums, 0.126};
    case DType::kHALF: return {3e-3 + ofSums, 2e-3};
    default: return {1.6e-2 + ofSums, 1e-2};
    }
}

//! What both kinds of layers have beside their extents.
struct ByteForm
{
    DType in{kOfInt8};
    float outputScale{0.0F}; //!< 0: the result is of the real type.
    std::vector<EpilogueStep> steps{};
    DType real{kOfHalf};
    bool hasBias{true};
    bool isOfFloat{false}; //!< The bias.
    bool isPerColumn{true};
    std::vector<int64_t> tactics{0, 1, 2, 3};

    DType out() const
    {
        return outputScale > 0.0F ? in : real;
    }
};

//! Operands behind the kernel: bias, scales and the epilogue's tensors.
void addRestOfBytes(
    std::vector<Operand>& operands, ByteForm const& of, int64_t columns, std::vector<int64_t> const& result)
{
    double const scale = of.in == kOfFp8 ? 0.5 : 0.01;
    DType const bias = of.isOfFloat ? DType::kFLOAT : of.real;
    operands.push_back(of.hasBias ? weight(randomTensor({columns}, -1.0, 1.0, bias)) : absent());
    std::vector<int64_t> scales;
    if (of.isPerColumn)
        scales = {columns};
    operands.push_back(weight(randomTensor(std::move(scales), 0.3 * scale, scale)));
    for (EpilogueStep const& step : of.steps)
        if (step.kind == EpilogueKind::kAdd || step.kind == EpilogueKind::kMultiply)
            operands.push_back(
                input(step.alpha == 0.0F ? randomTensor(result, -1.0, 1.0, of.real) : bytesTensor(result, of.in)));
}

std::vector<Offer> byteOffers(std::vector<int64_t> const& tactics, size_t inputs, Layout layout)
{
    std::vector<Offer> offers;
    for (int64_t const tactic : tactics)
    {
        Offer offer;
        offer.candidate = "large tiles";
        offer.inputs.assign(inputs, layout);
        for (size_t const plain : {1, 2, 3})
            offer.inputs[plain] = Layout::kLinear;
        offer.outputs = {layout};
        offer.tactic = tactic;
        offers.push_back(std::move(offer));
    }
    return offers;
}

struct ByteMatrices
{
    int64_t rows;
    int64_t depth;
    int64_t columns;
    bool isTurned{false};
};

void expectByteProduct(ByteMatrices const& at, ByteForm const& of)
{
    SCOPED_TRACE(fmt::format("{} x {} x {}, {} to {}, {} steps", at.rows, at.columns, at.depth, nameOf(of.in),
        nameOf(of.out()), of.steps.size()));
    QuantizedMatrixMultiply layer;
    layer.product.operation1 = at.isTurned ? nvinfer1::MatrixOperation::kTRANSPOSE : nvinfer1::MatrixOperation::kNONE;
    layer.product.epilogue.steps = of.steps;
    layer.product.alpha = 0.5F;
    layer.inputScale = 0.02F;
    layer.outputScale = of.outputScale;
    layer.realType = of.real;
    std::vector<int64_t> b{at.depth, at.columns};
    if (at.isTurned)
        std::swap(b[0], b[1]);
    std::vector<Operand> operands{input(bytesTensor({at.rows, at.depth}, of.in)), weight(bytesTensor(b, of.in))};
    addRestOfBytes(operands, of, at.columns, {at.rows, at.columns});
    std::vector<Offer> const offers = byteOffers(of.tactics, operands.size(), Layout::kLinear);
    expectOffers(makeLayer(std::move(layer)), std::move(operands), offers, toleranceOfBytes(of.out(), of.in, at.depth));
}

struct ByteWindows
{
    std::vector<int64_t> x;
    int64_t maps;
    int64_t side;
    int64_t stride{1};
    int64_t padding{0};
    int64_t dilation{1};
};

void expectByteWindows(ByteWindows const& at, ByteForm const& of)
{
    SCOPED_TRACE(fmt::format("{} -> {} maps of {}, {} to {}, {} steps", fmt::join(at.x, "x"), at.maps, at.side,
        nameOf(of.in), nameOf(of.out()), of.steps.size()));
    QuantizedConvolution layer;
    layer.product.nbOutputMaps = at.maps;
    layer.product.kernelSize = nvinfer1::Dims2{at.side, at.side};
    layer.product.stride = nvinfer1::Dims2{at.stride, at.stride};
    layer.product.prePadding = layer.product.postPadding = nvinfer1::Dims2{at.padding, at.padding};
    layer.product.dilation = nvinfer1::Dims2{at.dilation, at.dilation};
    layer.product.epilogue.steps = of.steps;
    layer.inputScale = 0.02F;
    layer.outputScale = of.outputScale;
    layer.realType = of.real;
    std::vector<int64_t> result{at.x[0], at.maps};
    for (size_t axis = 2; axis < 4; ++axis)
        result.push_back((at.x[axis] + 2 * at.padding - at.dilation * (at.side - 1) - 1) / at.stride + 1);
    std::vector<Operand> operands{
        input(bytesTensor(at.x, of.in)), weight(bytesTensor({at.maps, at.x[1], at.side, at.side}, of.in))};
    addRestOfBytes(operands, of, at.maps, result);
    std::vector<Offer> const offers = byteOffers(of.tactics, operands.size(), Layout::kChannelsLast);
    expectOffers(makeLayer(std::move(layer)), std::move(operands), offers,
        toleranceOfBytes(of.out(), of.in, at.x[1] * at.side * at.side));
}
} // namespace

TEST_F(LargeQuantized, edgesAndTypes)
{
    for (DType const in : {kOfInt8, kOfFp8})
    {
        expectByteProduct({130, 144, 208}, {.in = in});
        expectByteProduct({270, 272, 400, true}, {.in = in, .outputScale = 0.05F, .tactics = {0, 3}});
        expectByteProduct({1, 16, 16}, {.in = in, .outputScale = 0.02F, .tactics = {4, 5}});
        expectByteProduct({300, 48, 64}, {.in = in, .real = DType::kBF16, .hasBias = false, .tactics = {4, 5}});
        expectByteProduct({7, 400, 264}, {.in = in, .real = DType::kBF16, .isOfFloat = true, .tactics = {1}});
        expectByteProduct({140, 128, 144}, {.in = in, .hasBias = false, .isPerColumn = false, .tactics = {2}});
    }
}

TEST_F(LargeQuantized, epilogues)
{
    for (DType const in : {kOfInt8, kOfFp8})
    {
        expectByteProduct(
            {150, 80, 272}, {.in = in, .outputScale = 0.05F, .steps = {{EpilogueKind::kGeluErf}}, .tactics = {0}});
        expectByteProduct({150, 80, 144}, {.in = in, .steps = {{EpilogueKind::kGeluTanh}}, .tactics = {1}});
        expectByteProduct({300, 48, 208}, {.in = in, .steps = {kAddReals}});
        expectByteProduct({300, 48, 208}, {.in = in, .outputScale = 0.05F, .steps = {kAddBytes, kRelus}});
        expectByteProduct(
            {150, 48, 272}, {.in = in, .outputScale = 0.05F, .steps = {kAddReals, kRelus}, .tactics = {0, 2}});
        expectByteProduct({150, 48, 272}, {.in = in, .steps = {kRelus, kAddBytes}, .tactics = {1, 3}});
        expectByteProduct({150, 48, 272},
            {.in = in,
                .outputScale = 0.04F,
                .steps = {{EpilogueKind::kRound, 0.05F}, {EpilogueKind::kMultiply, 0.02F}, {EpilogueKind::kSigmoid}},
                .tactics = {0}});
    }
}

//! More tiles than a GPU has multiprocessors, an even and an odd number for each: blocks go from tile to tile.
TEST_F(LargeQuantized, manyTiles)
{
    expectByteProduct({128 * 50, 16, 1024}, {.outputScale = 0.05F, .steps = {kAddBytes}, .tactics = {0, 1, 2, 3}});
}

TEST_F(LargeQuantized, windows)
{
    for (DType const in : {kOfInt8, kOfFp8})
    {
        ByteForm const rounded{.in = in, .outputScale = 0.3F, .steps = {kRelus}, .tactics = {4, 5}};
        expectByteWindows({{2, 64, 9, 7}, 64, 3, 1, 1}, rounded); // A step has the 64 channels of a pixel,
        expectByteWindows({{1, 192, 6, 5}, 48, 2}, rounded);
        expectByteWindows({{1, 128, 15, 14}, 144, 3, 2, 1}, {.in = in, .outputScale = 0.3F}); // or 128.
        expectByteWindows({{1, 256, 9, 10}, 80, 3, 1, 2, 2}, {.in = in, .steps = {kAddReals}, .tactics = {0}});
        expectByteWindows({{5, 128, 3, 3}, 80, 2, 1, 1}, {.in = in, .outputScale = 0.3F, .tactics = {3}});
    }
}

TEST_F(LargeQuantized, singlePixels)
{
    for (DType const in : {kOfInt8, kOfFp8})
    {
        ByteForm const rounded{.in = in, .outputScale = 0.05F, .steps = {kAddBytes, kRelus}, .tactics = {0, 3}};
        expectByteWindows({{3, 64, 9, 7}, 208, 1}, rounded);
        expectByteWindows({{3, 160, 10, 7}, 272, 1, 2}, {.in = in, .tactics = {0, 2}});
        expectByteWindows({{3, 48, 10, 7}, 32, 1, 2}, {.in = in, .outputScale = 0.05F, .tactics = {4, 5}});
    }
}

} // namespace tenon::test
