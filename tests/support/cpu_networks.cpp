// CpuNetwork: calls with random weights; and the networks.
#include "support/cpu_networks.h"

#include "api/faces/face_calls.h"
#include "ir/host_tensor.h"
#include "support/device.h"
#include "tenon/network.h"

#include <cmath>

namespace tenon::test
{

using namespace nvinfer1;

namespace
{
using Tensor = CpuNetwork::Tensor;
using Ewise = ElementWiseOperation;

Dims dimsOf(std::vector<int64_t> const& extents)
{
    Dims dims{};
    for (int64_t const extent : extents)
        dims.d[dims.nbDims++] = extent;
    return dims;
}
} // namespace

CpuNetwork::CpuNetwork(DataType type)
    : mType{type},
      mBuilder{static_cast<IBuilder*>(tenonFaceCreateInferBuilder(&mMessages, NV_TENSORRT_VERSION))},
      mNetwork{mBuilder->createNetworkV2(
          type == DataType::kFLOAT ? 0U : 1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED))}
{
}

Tensor& CpuNetwork::input(char const* name, List low, List best, List high)
{
    mBounds.push_back({name, dimsOf(low), dimsOf(best), dimsOf(high)});
    for (size_t i = 0; i < low.size(); ++i)
        best[i] = low[i] == high[i] ? low[i] : -1;
    return *mNetwork->addInput(name, mType, dimsOf(best));
}

Weights CpuNetwork::weights(int64_t count, float scale)
{
    auto const seed = static_cast<uint32_t>(mReals.size() + 1);
    HostTensor values{mType, {count}};
    std::vector<float> const random = randomFloats(static_cast<size_t>(count), seed);
    for (int64_t i = 0; i < count; ++i)
        values.set(i, static_cast<double>(random[static_cast<size_t>(i)] * scale));
    Bytes& stored = mReals.emplace_back(static_cast<size_t>(bytesOf(mType, count)));
    values.toBytes(stored.data());
    return {mType, stored.data(), count};
}

Tensor& CpuNetwork::floats(List const& extents, float scale)
{
    int64_t count{1};
    for (int64_t const extent : extents)
        count *= extent;
    return *mNetwork->addConstant(dimsOf(extents), weights(count, scale))->getOutput(0);
}

Tensor& CpuNetwork::integers(List const& extents, std::vector<int64_t> values)
{
    std::vector<int64_t> const& kept = mIntegers.emplace_back(std::move(values));
    Weights const contents{DataType::kINT64, kept.data(), static_cast<int64_t>(kept.size())};
    return *mNetwork->addConstant(dimsOf(extents), contents)->getOutput(0);
}

Tensor& CpuNetwork::convolution(char const* name, Tensor& x, int64_t channels, int64_t maps, Window window)
{
    int64_t const products = channels / window.groups * window.kernel * window.kernel;
    Weights const kernel = weights(maps * products, 1.0F / std::sqrt(static_cast<float>(products)));
    IConvolutionLayer* layer =
        mNetwork->addConvolutionNd(x, maps, dimsOf({window.kernel, window.kernel}), kernel, weights(maps, 0.5F));
    layer->setStrideNd(dimsOf({window.stride, window.stride}));
    layer->setPaddingNd(dimsOf({window.padding, window.padding}));
    layer->setNbGroups(window.groups);
    layer->setName(name);
    return *layer->getOutput(0);
}

Tensor& CpuNetwork::relu(Tensor& x)
{
    return activation(x, ActivationType::kRELU);
}

Tensor& CpuNetwork::activation(Tensor& x, ActivationType type, float alpha, float beta)
{
    IActivationLayer* layer = mNetwork->addActivation(x, type);
    layer->setAlpha(alpha);
    layer->setBeta(beta);
    return *layer->getOutput(0);
}

Tensor& CpuNetwork::binary(Tensor& a, Tensor& b, ElementWiseOperation operation)
{
    return *mNetwork->addElementWise(a, b, operation)->getOutput(0);
}

Tensor& CpuNetwork::add(Tensor& a, Tensor& b)
{
    return binary(a, b, Ewise::kSUM);
}

Tensor& CpuNetwork::unary(Tensor& x, UnaryOperation operation)
{
    return *mNetwork->addUnary(x, operation)->getOutput(0);
}

Tensor& CpuNetwork::linear(char const* name, Tensor& x, int64_t rows, int64_t columns)
{
    int32_t const rank = x.getDimensions().nbDims;
    List extents(static_cast<size_t>(rank), 1);
    extents.back() = columns;
    Tensor& bias = floats(extents, 0.5F);
    extents[extents.size() - 2] = rows;
    Tensor& matrix = floats(extents, 1.0F / std::sqrt(static_cast<float>(rows)));
    IMatrixMultiplyLayer* layer =
        mNetwork->addMatrixMultiply(x, MatrixOperation::kNONE, matrix, MatrixOperation::kNONE);
    layer->setName(name);
    return add(*layer->getOutput(0), bias);
}

Tensor& CpuNetwork::reshape(Tensor& x, List const& dims)
{
    IShuffleLayer* layer = mNetwork->addShuffle(x);
    layer->setReshapeDimensions(dimsOf(dims));
    return *layer->getOutput(0);
}

Tensor& CpuNetwork::transpose(Tensor& x, std::vector<int32_t> const& order)
{
    IShuffleLayer* layer = mNetwork->addShuffle(x);
    Permutation permutation{};
    std::copy(order.begin(), order.end(), permutation.order);
    layer->setFirstTranspose(permutation);
    return *layer->getOutput(0);
}

Tensor& CpuNetwork::castTo(Tensor& x, DataType type)
{
    return *mNetwork->addCast(x, type)->getOutput(0);
}

void CpuNetwork::output(Tensor& x, char const* name)
{
    x.setName(name);
    mNetwork->markOutput(x);
}

Bytes CpuNetwork::build()
{
    std::unique_ptr<IBuilderConfig> const config{mBuilder->createBuilderConfig()};
    IOptimizationProfile* profile = mBuilder->createOptimizationProfile();
    for (Bounds const& bounds : mBounds)
    {
        profile->setDimensions(bounds.name.c_str(), OptProfileSelector::kMIN, bounds.low);
        profile->setDimensions(bounds.name.c_str(), OptProfileSelector::kOPT, bounds.best);
        profile->setDimensions(bounds.name.c_str(), OptProfileSelector::kMAX, bounds.high);
    }
    config->addOptimizationProfile(profile);
    std::unique_ptr<IHostMemory> const plan{mBuilder->buildSerializedNetwork(*mNetwork, *config)};
    if (plan == nullptr)
    {
        std::fprintf(stderr, "%s", mMessages.errors.c_str());
        return {};
    }
    auto const* first = static_cast<uint8_t const*>(plan->data());
    return {first, first + plan->size()};
}

std::unique_ptr<IRuntime> cpuRuntime(ILogger& logger)
{
    return std::unique_ptr<IRuntime>{static_cast<IRuntime*>(tenonFaceCreateInferRuntime(&logger, NV_TENSORRT_VERSION))};
}

Bytes planOf(CpuCase const& one, DataType type)
{
    CpuNetwork net{type};
    one.write(net);
    return net.build();
}

namespace
{
Tensor& image(CpuNetwork& net, int64_t channels)
{
    return net.input("x", {1, channels, 8, 10}, {1, channels, 9, 10}, {2, channels, 12, 10});
}

void convolutions(CpuNetwork& net)
{
    Tensor& first = net.relu(net.convolution("first", image(net, 3), 3, 8, {}));
    Tensor& second = net.relu(net.convolution("second", first, 8, 8, {}));
    Tensor& third = net.relu(net.add(net.convolution("third", second, 8, 8, {}), first));
    Tensor& fourth = net.convolution("fourth", third, 8, 24, {1, 2, 0, 1});
    Tensor& fifth = net.activation(net.convolution("fifth", fourth, 24, 24, {1, 1, 0, 1}), ActivationType::kTANH);
    Tensor& sixth = net.activation(net.convolution("sixth", fifth, 24, 12, {3, 1, 2, 4}), ActivationType::kSIGMOID);
    net.output(sixth, "y");
}

//! Enough channels and pixels for minimal filtering.
void tiles(CpuNetwork& net)
{
    Tensor& first = net.relu(net.convolution("first", image(net, 3), 3, 16, {}));
    Tensor& second = net.relu(net.add(net.convolution("second", first, 16, 16, {}), first));
    net.output(net.convolution("third", second, 16, 20, {}), "y");
}

void depthwise(CpuNetwork& net)
{
    Tensor& first = net.activation(
        net.convolution("deep", image(net, 16), 16, 16, {3, 1, 1, 16}), ActivationType::kCLIP, 0.0F, 6.0F);
    Tensor& second = net.convolution("point", first, 16, 20, {1, 1, 0, 1});
    Tensor& gate = net.activation(second, ActivationType::kHARD_SIGMOID, 0.2F, 0.5F);
    Tensor& third = net.convolution("deeper", net.binary(second, gate, Ewise::kPROD), 20, 20, {5, 2, 2, 20});
    IDeconvolutionLayer* up = net.get().addDeconvolutionNd(
        third, 6, dimsOf({2, 2}), Weights{net.type(), nullptr, 0}, Weights{net.type(), nullptr, 0});
    up->setInput(1, net.floats({20, 6, 2, 2}, 0.3F));
    up->setStrideNd(dimsOf({2, 2}));
    net.output(*up->getOutput(0), "y");
}

Tensor& tokens(CpuNetwork& net, int64_t width)
{
    return net.input("x", {1, 2, width}, {1, 5, width}, {2, 9, width});
}

void products(CpuNetwork& net)
{
    Tensor& x = tokens(net, 16);
    Tensor& wide = net.activation(net.linear("wide", x, 16, 24), ActivationType::kGELU_ERF);
    Tensor& narrow = net.add(net.linear("narrow", wide, 24, 16), x);
    Tensor& last = net.relu(net.linear("last", narrow, 16, 24));
    IMatrixMultiplyLayer* gram =
        net.get().addMatrixMultiply(last, MatrixOperation::kNONE, last, MatrixOperation::kTRANSPOSE);
    net.output(*gram->getOutput(0), "y");
}

Tensor& heads(CpuNetwork& net, char const* name, Tensor& x)
{
    return net.transpose(net.reshape(net.linear(name, x, 16, 16), {0, 0, 2, 8}), {0, 2, 1, 3});
}

void attention(CpuNetwork& net)
{
    Tensor& x = tokens(net, 16);
    Tensor& q = heads(net, "query", x);
    Tensor& k = heads(net, "key", x);
    Tensor& v = heads(net, "value", x);
    Tensor& scores =
        *net.get().addMatrixMultiply(q, MatrixOperation::kNONE, k, MatrixOperation::kTRANSPOSE)->getOutput(0);
    ISoftMaxLayer* shares = net.get().addSoftMax(net.binary(scores, net.floats({1, 1, 1, 1}), Ewise::kPROD));
    shares->setAxes(1U << 3);
    Tensor& mixed = *net.get()
                         .addMatrixMultiply(*shares->getOutput(0), MatrixOperation::kNONE, v, MatrixOperation::kNONE)
                         ->getOutput(0);
    Tensor& joined = net.reshape(net.transpose(mixed, {0, 2, 1, 3}), {0, 0, 16});
    net.output(net.add(net.linear("joined", joined, 16, 16), x), "y");
}

void pointwise(CpuNetwork& net)
{
    Tensor& x = tokens(net, 7);
    Tensor& scaled = net.binary(x, net.floats({1, 1, 7}), Ewise::kPROD);
    Tensor& bent = net.unary(net.unary(scaled, UnaryOperation::kABS), UnaryOperation::kSQRT);
    Tensor& bounded = net.binary(bent, net.floats({1, 1, 1}), Ewise::kMAX);
    Tensor& isMore = net.binary(x, net.floats({1, 1, 1}), Ewise::kGREATER);
    Tensor& chosen = *net.get().addSelect(isMore, bounded, net.unary(x, UnaryOperation::kERF))->getOutput(0);
    net.output(net.binary(chosen, net.unary(x, UnaryOperation::kEXP), Ewise::kDIV), "y");
}

void rows(CpuNetwork& net)
{
    Tensor& x = tokens(net, 24);
    INormalizationLayer* norm = net.get().addNormalization(x, net.floats({1, 1, 24}), net.floats({1, 1, 24}), 1U << 2);
    ISoftMaxLayer* shares = net.get().addSoftMax(*norm->getOutput(0));
    shares->setAxes(1U << 2);
    Tensor& mean = *net.get().addReduce(x, ReduceOperation::kAVG, 1U << 1, true)->getOutput(0);
    ITopKLayer* best = net.get().addTopK(x, TopKOperation::kMAX, 3, 1U << 2);
    net.output(net.binary(*shares->getOutput(0), mean, Ewise::kSUB), "y");
    net.output(*best->getOutput(1), "best");
}

void pictures(CpuNetwork& net)
{
    Tensor& x = net.relu(net.convolution("pre", image(net, 3), 3, 16, {}));
    IPoolingLayer* most = net.get().addPoolingNd(x, PoolingType::kMAX, dimsOf({2, 2}));
    most->setStrideNd(dimsOf({2, 2}));
    IPoolingLayer* mean = net.get().addPoolingNd(*most->getOutput(0), PoolingType::kAVERAGE, dimsOf({3, 3}));
    mean->setPaddingNd(dimsOf({1, 1}));
    IResizeLayer* larger = net.get().addResize(*mean->getOutput(0));
    float const scales[]{1.0F, 1.0F, 2.0F, 3.0F};
    larger->setScales(scales, 4);
    larger->setResizeMode(InterpolationMode::kLINEAR);
    larger->setCoordinateTransformation(ResizeCoordinateTransformation::kHALF_PIXEL);
    IResizeLayer* near = net.get().addResize(*mean->getOutput(0));
    near->setScales(scales, 4);
    near->setResizeMode(InterpolationMode::kNEAREST);
    Tensor* const both[]{larger->getOutput(0), near->getOutput(0)};
    IConcatenationLayer* joined = net.get().addConcatenation(both, 2);
    joined->setAxis(1);
    Tensor& norm = *net.get()
                        .addNormalization(*joined->getOutput(0), net.floats({1, 32, 1, 1}), net.floats({1, 32, 1, 1}),
                            1U << 2 | 1U << 3)
                        ->getOutput(0);
    Tensor& squeezed = *net.get().addReduce(norm, ReduceOperation::kAVG, 1U << 2 | 1U << 3, true)->getOutput(0);
    net.output(net.binary(norm, net.activation(squeezed, ActivationType::kSIGMOID), Ewise::kPROD), "y");
}

void moves(CpuNetwork& net)
{
    Tensor& x = net.input("x", {2, 4, 6}, {3, 5, 6}, {6, 9, 6});
    Tensor& whole = *net.get().addShape(x)->getOutput(0);
    Tensor& half = net.binary(whole, net.integers({3}, {2, 1, 1}), Ewise::kFLOOR_DIV);
    ISliceLayer* part = net.get().addSlice(x, dimsOf({0, 1, 2}), dimsOf({1, 1, 1}), dimsOf({1, 1, 1}));
    part->setInput(2, net.binary(half, net.integers({3}, {0, 1, 2}), Ewise::kSUB));
    Tensor& picked = *net.get().addGather(x, net.integers({4}, {1, 0, -1, 1}), 0)->getOutput(0);
    IShuffleLayer* flat = net.get().addShuffle(*part->getOutput(0));
    Tensor* const ends[]{&net.integers({1}, {0}), &net.integers({1}, {-1})};
    flat->setInput(1, *net.get().addConcatenation(ends, 2)->getOutput(0));
    net.output(*flat->getOutput(0), "part");
    net.output(net.transpose(picked, {2, 0, 1}), "picked");
    net.output(half, "half");
}

//! What looks for elements, moves them by index, counts up or reads beyond its input.
void searches(CpuNetwork& net)
{
    Tensor& x = net.input("x", {2, 4, 6}, {3, 5, 6}, {6, 9, 6});
    ITopKLayer* best = net.get().addTopK(x, TopKOperation::kMAX, 2, 1U << 1);
    Tensor& sums =
        *net.get().addCumulative(x, net.integers({}, {1}), CumulativeOperation::kSUM, false, true)->getOutput(0);
    IScatterLayer* moved = net.get().addScatter(sums, *best->getOutput(1), *best->getOutput(0), ScatterMode::kELEMENT);
    moved->setAxis(1);
    Tensor& largest = *net.get().addTopK(x, TopKOperation::kMAX, 1, 1U << 2)->getOutput(1);
    Tensor& marks = *net.get().addOneHot(largest, net.floats({2}), net.integers({}, {6}), 2)->getOutput(0);
    ISliceLayer* padded = net.get().addSlice(x, dimsOf({0, 0, -2}), dimsOf({2, 4, 10}), dimsOf({1, 1, 1}));
    padded->setMode(SampleMode::kREFLECT);
    IFillLayer* ramp = net.get().addFill(dimsOf({}), FillOperation::kLINSPACE, net.type());
    ramp->setInput(0, *net.get().addShape(x)->getOutput(0));
    ramp->setInput(1, net.floats({}));
    ramp->setInput(2, net.floats({3}));
    net.output(net.add(*moved->getOutput(0), *ramp->getOutput(0)), "moved");
    net.output(marks, "marks");
    net.output(*padded->getOutput(0), "padded");
}

void found(CpuNetwork& net)
{
    Tensor& x = net.relu(net.input("x", {3, 4}, {5, 4}, {9, 4}));
    Tensor& places = *net.get().addNonZero(x, DataType::kINT64)->getOutput(0);
    Tensor& pairs = net.transpose(places, {1, 0});
    IGatherLayer* values = net.get().addGatherV2(x, pairs, GatherMode::kND);
    net.output(net.unary(*values->getOutput(0), UnaryOperation::kEXP), "values");
    net.output(pairs, "places");
}

//! Both ways through sequences, with units that fill no vector; in float32, which alone has a kernel.
void recurrent(CpuNetwork& net)
{
    constexpr int64_t kHidden{40};
    auto const in = [&net](Tensor& x, DataType type) { return net.get().addCast(x, type)->getOutput(0); };
    Tensor& x = net.input("x", {1, 2, 24}, {30, 2, 24}, {90, 5, 24});
    int32_t const activations[]{1, 2, 2, 1, 2, 2};
    float const none[6]{};
    TenonRecurrentNetwork recurrent{};
    recurrent.cell = 2;
    recurrent.direction = 2;
    recurrent.activationCount = 6;
    recurrent.activations = activations;
    recurrent.alphas = none;
    recurrent.betas = none;
    recurrent.tensors[0] = in(x, DataType::kFLOAT);
    recurrent.tensors[1] = in(net.floats({2, 4 * kHidden, 24}, 0.2F), DataType::kFLOAT);
    recurrent.tensors[2] = in(net.floats({2, 4 * kHidden, kHidden}, 0.2F), DataType::kFLOAT);
    recurrent.tensors[3] = in(net.floats({2, 8 * kHidden}), DataType::kFLOAT);
    auto* const layer = static_cast<ILayer*>(tenonAddRecurrentNetwork(&net.get(), &recurrent));
    net.output(*in(*layer->getOutput(0), net.type()), "all");
    Tensor& last = net.binary(*layer->getOutput(1), *layer->getOutput(2), Ewise::kPROD);
    net.output(*in(last, net.type()), "last");
}

//! A scale of all elements.
Tensor& scaleOf(CpuNetwork& net, float const& value)
{
    return *net.get().addConstant(dimsOf({}), Weights{DataType::kFLOAT, &value, 1})->getOutput(0);
}

constexpr float kWideScale{0.0625F};
constexpr float kFineScale{0.03125F};

//! Rounded to int8 and back: what quantized networks have between their layers.
Tensor& roundedBy(CpuNetwork& net, Tensor& x, float const& scale)
{
    Tensor& numbers = *net.get().addQuantize(x, scaleOf(net, scale), DataType::kINT8)->getOutput(0);
    return *net.get().addDequantize(numbers, scaleOf(net, scale), DataType::kFLOAT)->getOutput(0);
}

Tensor& int8Convolution(
    CpuNetwork& net, char const* name, Tensor& x, int64_t channels, int64_t maps, CpuNetwork::Window window)
{
    Tensor& kernel =
        net.castTo(net.floats({maps, channels / window.groups, window.kernel, window.kernel}), DataType::kFLOAT);
    IConvolutionLayer* layer = net.get().addConvolutionNd(x, maps, dimsOf({window.kernel, window.kernel}),
        Weights{DataType::kFLOAT, nullptr, 0}, Weights{DataType::kFLOAT, nullptr, 0});
    layer->setInput(1, roundedBy(net, kernel, kFineScale));
    layer->setStrideNd(dimsOf({window.stride, window.stride}));
    layer->setPaddingNd(dimsOf({window.padding, window.padding}));
    layer->setNbGroups(window.groups);
    layer->setName(name);
    return roundedBy(net, *layer->getOutput(0), kWideScale);
}

//! Products of int8 numbers, of images and of matrices.
void quantized(CpuNetwork& net)
{
    Tensor& x = roundedBy(net, net.castTo(image(net, 3), DataType::kFLOAT), kFineScale);
    Tensor& first = roundedBy(net, net.relu(int8Convolution(net, "first", x, 3, 16, {})), kWideScale);
    Tensor& deep = int8Convolution(net, "deep", first, 16, 16, {3, 1, 1, 16});
    Tensor& sum = roundedBy(net, net.add(int8Convolution(net, "point", deep, 16, 16, {1, 1, 0, 1}), first), kWideScale);
    IPoolingLayer* pool = net.get().addPoolingNd(sum, PoolingType::kMAX, dimsOf({2, 2}));
    pool->setStrideNd(dimsOf({2, 2}));
    Tensor& pooled = roundedBy(net, *pool->getOutput(0), kWideScale);
    Tensor& rows = net.reshape(pooled, {0, 16, -1});
    Tensor& matrix = roundedBy(net, net.castTo(net.floats({1, 16, 12}), DataType::kFLOAT), kFineScale);
    IMatrixMultiplyLayer* product = net.get().addMatrixMultiply(
        net.transpose(rows, {0, 2, 1}), MatrixOperation::kNONE, matrix, MatrixOperation::kNONE);
    Tensor& features = roundedBy(net, *product->getOutput(0), kWideScale);
    IMatrixMultiplyLayer* scores =
        net.get().addMatrixMultiply(features, MatrixOperation::kNONE, features, MatrixOperation::kTRANSPOSE);
    net.output(*scores->getOutput(0), "scores");
    net.output(sum, "sum");
}

constexpr CpuCase kCases[]{{"convolutions", convolutions}, {"tiles", tiles}, {"depthwise", depthwise},
    {"products", products}, {"attention", attention}, {"pointwise", pointwise}, {"rows", rows}, {"pictures", pictures},
    {"moves", moves}, {"searches", searches}, {"recurrent", recurrent}, {"found", found}, {"quantized", quantized}};
} // namespace

std::span<CpuCase const> cpuCases() noexcept
{
    return kCases;
}

} // namespace tenon::test
