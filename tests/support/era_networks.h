// ResNet-18 and a two-layer encoder, written by calls once for both ways to say a batch: outside the dims, as programs
// of 8.x did, or as their first extent.
#pragma once

#include "NvInfer.h"
#include "support/device.h"

#include <cmath>
#include <deque>
#include <string>
#include <vector>

namespace tenon::test
{

enum class BatchMode
{
    kImplicit,
    kExplicit,
};

//! Weights that stay where they are until the network is built; the same ones each time.
class WeightStore
{
  public:
    nvinfer1::Weights random(int64_t count, float factor, float offset = 0.0F)
    {
        mAll.push_back(randomFloats(static_cast<size_t>(count), ++mSeed));
        for (float& value : mAll.back())
            value = value * factor + offset;
        return {nvinfer1::DataType::kFLOAT, mAll.back().data(), count};
    }

  private:
    std::deque<std::vector<float>> mAll;
    uint32_t mSeed{100};
};

//! Calls that differ between the two modes in the place of the batch only.
template <BatchMode kMode>
class EraNetwork
{
  public:
    using ITensor = nvinfer1::ITensor;
    using Dims = nvinfer1::Dims;
    static constexpr int32_t kFront{kMode == BatchMode::kExplicit ? 1 : 0};

    EraNetwork(nvinfer1::INetworkDefinition& network, WeightStore& weights)
        : mNetwork{network},
          mWeights{weights}
    {
    }

    //! x [3, size, size] to "scores" [classes, 1, 1].
    void addResNet18(int64_t size, int64_t classes)
    {
        ITensor* x = mNetwork.addInput("x", nvinfer1::DataType::kFLOAT, dims(-1, {3, size, size}));
        x = relu(*normalized(*convolved(*x, 3, 64, 7, 2)));
        x = pooled(*x, nvinfer1::PoolingType::kMAX, 3, 2, 1);
        int64_t channels{64};
        for (int64_t const maps : {64, 128, 256, 512})
            for (int64_t block = 0; block < 2; ++block)
            {
                x = residual(*x, channels, maps, block == 0 && maps != 64 ? 2 : 1);
                channels = maps;
            }
        x = pooled(*x, nvinfer1::PoolingType::kAVERAGE, size / 32, 1, 0);
        x = mNetwork
                .addFullyConnected(*x, static_cast<int32_t>(classes), mWeights.random(classes * 512, 0.05F),
                    mWeights.random(classes, 0.1F))
                ->getOutput(0);
        nvinfer1::ISoftMaxLayer* scores = mNetwork.addSoftMax(*x);
        scores->setAxes(1U << kFront);
        mark(*scores->getOutput(0), "scores");
    }

    //! Tokens [length] to "states" [length, width] and "first" [1, width], the state of the first token.
    void addEncoder(int64_t length, int64_t width, int64_t heads)
    {
        constexpr int64_t kWords{50};
        ITensor* tokens = mNetwork.addInput("tokens", nvinfer1::DataType::kINT32, dims(-1, {length}));
        ITensor* words =
            mNetwork.addConstant(rest({kWords, width}), mWeights.random(kWords * width, 1.0F))->getOutput(0);
        ITensor* x = mNetwork.addGather(*words, *tokens, 0)->getOutput(0);
        x = sum(*x, *constant({length, width}, 0.3F));
        for (int32_t layer = 0; layer < 2; ++layer)
        {
            x = layerNorm(*sum(*x, *attention(*x, length, width, heads)), width);
            ITensor* inner = linear(*x, width, 2 * width);
            ITensor* gate =
                unary(*product(*inner, *constant({1, 1}, 0.0F, std::sqrt(0.5F))), nvinfer1::UnaryOperation::kERF);
            gate = product(*sum(*gate, *constant({1, 1}, 0.0F, 1.0F)), *constant({1, 1}, 0.0F, 0.5F));
            x = layerNorm(*sum(*x, *linear(*product(*inner, *gate), 2 * width, width)), width);
        }
        mark(*x, "states");
        nvinfer1::ISliceLayer* first = mNetwork.addSlice(*x, rest({0, 0}), rest({1, width}), rest({1, 1}));
        if (kMode == BatchMode::kExplicit)
        {
            // The batch is an extent that only running tells: the slice leaves it out by naming its axes.
            first->setAxes(rest({1, 2}));
        }
        mark(*first->getOutput(0), "first");
    }

  private:
    static Dims rest(std::vector<int64_t> const& extents)
    {
        Dims made{static_cast<int32_t>(extents.size()), {}};
        std::copy(extents.begin(), extents.end(), made.d);
        return made;
    }
    //! Extents of one sample behind those of the batch, where it has one.
    static Dims dims(int64_t batch, std::vector<int64_t> extents)
    {
        if (kFront != 0)
            extents.insert(extents.begin(), batch);
        return rest(extents);
    }
    static nvinfer1::Permutation order(std::vector<int32_t> const& axes)
    {
        nvinfer1::Permutation permutation{};
        for (size_t i = 0; i < axes.size(); ++i)
            permutation.order[i + kFront] = axes[i] + kFront;
        return permutation;
    }
    void mark(ITensor& tensor, char const* name)
    {
        tensor.setName(name);
        mNetwork.markOutput(tensor);
    }
    ITensor* constant(std::vector<int64_t> const& extents, float factor, float offset = 0.0F)
    {
        int64_t count{1};
        for (int64_t const extent : extents)
            count *= extent;
        return mNetwork.addConstant(dims(1, extents), mWeights.random(count, factor, offset))->getOutput(0);
    }
    ITensor* sum(ITensor& a, ITensor& b)
    {
        return mNetwork.addElementWise(a, b, nvinfer1::ElementWiseOperation::kSUM)->getOutput(0);
    }
    ITensor* product(ITensor& a, ITensor& b)
    {
        return mNetwork.addElementWise(a, b, nvinfer1::ElementWiseOperation::kPROD)->getOutput(0);
    }
    ITensor* unary(ITensor& x, nvinfer1::UnaryOperation operation)
    {
        return mNetwork.addUnary(x, operation)->getOutput(0);
    }

    ITensor* convolved(ITensor& x, int64_t channels, int64_t maps, int64_t window, int64_t stride)
    {
        float const factor = 1.0F / std::sqrt(static_cast<float>(channels * window * window));
        auto* layer = mNetwork.addConvolutionNd(x, maps, rest({window, window}),
            mWeights.random(maps * channels * window * window, factor), {nvinfer1::DataType::kFLOAT, nullptr, 0});
        layer->setStrideNd(rest({stride, stride}));
        layer->setPaddingNd(rest({window / 2, window / 2}));
        mChannels = maps;
        return layer->getOutput(0);
    }
    //! A batch normalization, as importers of that time wrote it.
    ITensor* normalized(ITensor& x)
    {
        nvinfer1::Weights const shift = mWeights.random(mChannels, 0.1F);
        nvinfer1::Weights const scale = mWeights.random(mChannels, 0.1F, 1.0F);
        return mNetwork
            .addScale(x, nvinfer1::ScaleMode::kCHANNEL, shift, scale, {nvinfer1::DataType::kFLOAT, nullptr, 0})
            ->getOutput(0);
    }
    ITensor* relu(ITensor& x)
    {
        return mNetwork.addActivation(x, nvinfer1::ActivationType::kRELU)->getOutput(0);
    }
    ITensor* pooled(ITensor& x, nvinfer1::PoolingType type, int64_t window, int64_t stride, int64_t padding)
    {
        auto* layer = mNetwork.addPoolingNd(x, type, rest({window, window}));
        layer->setStrideNd(rest({stride, stride}));
        layer->setPaddingNd(rest({padding, padding}));
        return layer->getOutput(0);
    }
    ITensor* residual(ITensor& x, int64_t channels, int64_t maps, int64_t stride)
    {
        ITensor* inner = relu(*normalized(*convolved(x, channels, maps, 3, stride)));
        inner = normalized(*convolved(*inner, maps, maps, 3, 1));
        ITensor* around = &x;
        if (channels != maps)
            around = normalized(*convolved(x, channels, maps, 1, stride));
        return relu(*sum(*inner, *around));
    }

    ITensor* linear(ITensor& x, int64_t from, int64_t to)
    {
        using Matrix = nvinfer1::MatrixOperation;
        ITensor* weights = constant({from, to}, 1.0F / std::sqrt(static_cast<float>(from)));
        ITensor* y = mNetwork.addMatrixMultiply(x, Matrix::kNONE, *weights, Matrix::kNONE)->getOutput(0);
        return sum(*y, *constant({1, to}, 0.1F));
    }
    //! [length, width] as [heads, length, width / heads].
    ITensor* split(ITensor& x, int64_t length, int64_t width, int64_t heads)
    {
        nvinfer1::IShuffleLayer* layer = mNetwork.addShuffle(x);
        layer->setReshapeDimensions(dims(0, {length, heads, width / heads}));
        layer->setSecondTranspose(order({1, 0, 2}));
        return layer->getOutput(0);
    }
    ITensor* attention(ITensor& x, int64_t length, int64_t width, int64_t heads)
    {
        using Matrix = nvinfer1::MatrixOperation;
        ITensor* q = split(*linear(x, width, width), length, width, heads);
        ITensor* k = split(*linear(x, width, width), length, width, heads);
        ITensor* v = split(*linear(x, width, width), length, width, heads);
        ITensor* scores = mNetwork.addMatrixMultiply(*q, Matrix::kNONE, *k, Matrix::kTRANSPOSE)->getOutput(0);
        float const factor = 1.0F / std::sqrt(static_cast<float>(width / heads));
        nvinfer1::ISoftMaxLayer* soft = mNetwork.addSoftMax(*product(*scores, *constant({1, 1, 1}, 0.0F, factor)));
        soft->setAxes(1U << (2 + kFront));
        ITensor* mixed =
            mNetwork.addMatrixMultiply(*soft->getOutput(0), Matrix::kNONE, *v, Matrix::kNONE)->getOutput(0);
        nvinfer1::IShuffleLayer* joined = mNetwork.addShuffle(*mixed);
        joined->setFirstTranspose(order({1, 0, 2}));
        joined->setReshapeDimensions(dims(0, {length, width}));
        return linear(*joined->getOutput(0), width, width);
    }
    ITensor* layerNorm(ITensor& x, int64_t width)
    {
        ITensor* scale = constant({1, width}, 0.1F, 1.0F);
        ITensor* bias = constant({1, width}, 0.1F);
        return mNetwork.addNormalization(x, *scale, *bias, 1U << (1 + kFront))->getOutput(0);
    }

    nvinfer1::INetworkDefinition& mNetwork;
    WeightStore& mWeights;
    int64_t mChannels{0};
};

} // namespace tenon::test
