// Signals: windows, and Fourier transforms as products with the matrix of the transform.
#include "../operators.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tenon::onnx
{
namespace
{

constexpr double kTurn{2.0 * std::numbers::pi};
constexpr int64_t kMaxWindow{int64_t{1} << 24};
constexpr int64_t kMaxMatrix{int64_t{1} << 24}; //!< Elements: a transform of some 2000 points.

//! Types by their numbers in ONNX.
DataType windowType(Node const& node)
{
    int64_t const number = node.intOr("output_datatype", 1);
    switch (number)
    {
    case 1: return DataType::kFLOAT;
    case 11: return typeOfOnnx(::onnx::TensorProto::DOUBLE);
    case 10: return DataType::kHALF;
    case 16: return DataType::kBF16;
    case 6: return DataType::kINT32;
    case 7: return DataType::kINT64;
    default: fail(ErrorCode::kUNSUPPORTED_NODE_DATATYPE, fmt::format("a window of output_datatype {}", number));
    }
}

//! a − b · cos(turn) + c · cos(2 · turn)
Outputs cosineWindow(Node& node, double a, double b, double c)
{
    auto const size = static_cast<int64_t>(node.number(0, "size", 0.0));
    if (size < 0 || size > kMaxWindow)
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("a window of {} elements", size));
    }
    auto const period = static_cast<double>(node.intOr("periodic", 1) != 0 ? size : std::max<int64_t>(size - 1, 1));
    std::vector<double> elements;
    for (int64_t i = 0; i < size; ++i)
    {
        double const turn = kTurn * static_cast<double>(i) / period;
        elements.push_back(a - b * std::cos(turn) + c * std::cos(2.0 * turn));
    }
    return {node.numbers(elements, {size}, windowType(node))};
}

Outputs importHann(Node& node)
{
    return cosineWindow(node, 0.5, 0.5, 0.0);
}

Outputs importHamming(Node& node)
{
    return cosineWindow(node, 25.0 / 46.0, 21.0 / 46.0, 0.0);
}

Outputs importBlackman(Node& node)
{
    return cosineWindow(node, 0.42, 0.5, 0.08);
}

//! The transform of `points` numbers with `parts` (1: real, 2: complex) parts each, of which `read` are there:
//! [read · parts, bins · 2].
struct Transform
{
    int64_t read{0};
    int64_t parts{1};
    int64_t points{0};
    int64_t bins{0};
    bool isInverse{false};
    int64_t made{2}; //!< Parts of a bin; 1: of real numbers, from the first half of the bins of their transform.

    void check() const
    {
        if (points < 1 || read * parts * bins * made > kMaxMatrix)
        {
            fail(ErrorCode::kUNSUPPORTED_NODE_INPUT,
                fmt::format("a Fourier transform of {} points, which is done by its matrix", points));
        }
    }
    //! What part `to` of bin k gets of part `from` of point i.
    double factor(int64_t i, int64_t from, int64_t k, int64_t to) const
    {
        double const turn =
            (isInverse ? -kTurn : kTurn) * static_cast<double>(i * k % points) / static_cast<double>(points);
        bool const standsForTwo = made == 1 && i != 0 && 2 * i != points; // The other half mirrors it.
        double const scale = isInverse ? (standsForTwo ? 2.0 : 1.0) / static_cast<double>(points) : 1.0;
        double const part = from == to ? std::cos(turn) : to == 1 ? -std::sin(turn) : std::sin(turn);
        return scale * part;
    }
};

//! The same axes, `axis` behind all others but the last.
std::vector<int32_t> axisBehind(int32_t axis, int32_t rank)
{
    std::vector<int32_t> order;
    for (int32_t i = 0; i < rank; ++i)
    {
        if (i != axis && i != rank - 1)
        {
            order.push_back(i);
        }
    }
    order.push_back(axis);
    order.push_back(rank - 1);
    return order;
}

Outputs importDft(Node& node)
{
    Value x = node.in(0);
    int32_t const rank = x.rank();
    bool const isInput = node.opset() >= 20;
    int64_t const given = isInput ? static_cast<int64_t>(node.number(2, "axis", -2.0)) : node.intOr("axis", 1);
    int32_t const axis = node.axis(given, rank);
    Shape const shape = x.shape();
    int64_t const extent = shape[static_cast<size_t>(axis)];
    if (axis == rank - 1 || extent < 0 || (shape.back() != 1 && shape.back() != 2))
    {
        fail(
            ErrorCode::kUNSUPPORTED_NODE_DYNAMIC, fmt::format("DFT of shape {} along axis {}", shapeText(shape), axis));
    }
    Transform transform{.parts = shape.back(),
        .points = node.has(1) ? static_cast<int64_t>(node.number(1, "dft_length", 0.0)) : extent,
        .isInverse = node.intOr("inverse", 0) != 0};
    bool const isHalf = node.intOr("onesided", 0) != 0;
    if (isHalf && transform.isInverse)
    {
        transform.points = node.has(1) ? transform.points : 2 * (extent - 1);
        transform.made = 1;
    }
    int64_t const half = transform.points / 2 + 1;
    transform.read = std::min(extent, transform.made == 1 ? half : transform.points);
    transform.bins = isHalf && !transform.isInverse ? half : transform.points;
    transform.check();
    if (transform.read < extent)
    {
        x = sliceAxis(node, x, axis, 0, transform.read);
    }
    std::vector<double> matrix;
    for (int64_t row = 0; row < transform.read * transform.parts; ++row)
    {
        for (int64_t column = 0; column < transform.bins * transform.made; ++column)
        {
            matrix.push_back(transform.factor(
                row / transform.parts, row % transform.parts, column / transform.made, column % transform.made));
        }
    }
    std::vector<int32_t> const order = axisBehind(axis, rank);
    Extents front = extentsOf(node, node.transpose(x, order));
    Value const flat = [&] {
        Extents rows(front.begin(), front.end() - 2);
        rows.emplace_back(transform.read * transform.parts);
        return reshapeTo(node, node.transpose(x, order), rows);
    }();
    Value const operand = node.withRank(flat, 2);
    Value const factors = node.withRank(
        node.numbers(matrix, {transform.read * transform.parts, transform.bins * transform.made}, x.type()),
        operand.rank());
    constexpr auto kNone = nvinfer1::MatrixOperation::kNONE;
    Value const product = node.output(
        node.api().addMatrixMultiply(node.tensor(operand), kNone, node.tensor(factors), kNone), "transform");
    front[front.size() - 2] = transform.bins;
    front.back() = transform.made;
    Value const bins = reshapeTo(node, product, front);
    std::vector<int32_t> back(order.size());
    for (size_t i = 0; i < order.size(); ++i)
    {
        back[static_cast<size_t>(order[i])] = static_cast<int32_t>(i);
    }
    return {node.transpose(bins, back)};
}

//! Frames are what a convolution's window sees: each bin is one of its kernels.
Outputs importStft(Node& node)
{
    Value signal = node.in(0);
    if (signal.rank() == 2)
    {
        signal = node.unsqueeze(signal, {2});
    }
    auto const step = static_cast<int64_t>(node.number(1, "frame_step", 0.0));
    Transform transform{.parts = signal.shape().back()};
    std::vector<double> window;
    if (node.has(2))
    {
        window = node.numbers(2, "window");
    }
    transform.points =
        node.has(3) ? static_cast<int64_t>(node.number(3, "frame_length", 0.0)) : static_cast<int64_t>(window.size());
    transform.read = transform.points;
    transform.bins = node.intOr("onesided", 1) != 0 ? transform.points / 2 + 1 : transform.points;
    transform.check();
    window.resize(static_cast<size_t>(transform.points), window.empty() ? 1.0 : 0.0);
    if (step < 1 || (transform.parts != 1 && transform.parts != 2))
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("STFT of {} parts in steps of {}", transform.parts, step));
    }
    std::vector<double> kernels; // [bins · 2, parts, 1, points]
    for (int64_t map = 0; map < transform.bins * 2; ++map)
    {
        for (int64_t part = 0; part < transform.parts; ++part)
        {
            for (int64_t i = 0; i < transform.points; ++i)
            {
                kernels.push_back(window[static_cast<size_t>(i)] * transform.factor(i, part, map / 2, map % 2));
            }
        }
    }
    Extent const batch = extentOf(node, signal, 0);
    Value const image = node.unsqueeze(node.transpose(signal, {0, 2, 1}), {2}); // [batch, parts, 1, time]
    Value const kernel =
        node.numbers(kernels, {transform.bins * 2, transform.parts, 1, transform.points}, signal.type());
    nvinfer1::IConvolutionLayer* const layer =
        node.added(node.api().addConvolutionNd(node.tensor(image), transform.bins * 2, dimsOf({1, transform.points}),
                       kernel.constant().weights(), nvinfer1::Weights{signal.type(), nullptr, 0}),
            "frames");
    layer->setStrideNd(dimsOf({1, step}));
    Value const frames = node.transpose(node.squeeze(layer->getOutput(0), {2}), {0, 2, 1}); // [batch, frames, bins · 2]
    return {reshapeTo(node, frames, {batch, extentOf(node, frames, 1), transform.bins, 2})};
}

double melOf(double hertz)
{
    return 2595.0 * std::log10(1.0 + hertz / 700.0);
}

//! Triangles over the bins of a spectrum, evenly spaced in mel; as the operator's documentation defines them.
Outputs importMelWeights(Node& node)
{
    auto const bands = static_cast<int64_t>(node.number(0, "num_mel_bins", 0.0));
    auto const points = static_cast<int64_t>(node.number(1, "dft_length", 0.0));
    double const rate = node.number(2, "sample_rate", 0.0);
    double const low = node.number(3, "lower_edge_hertz", 0.0);
    double const high = node.number(4, "upper_edge_hertz", 0.0);
    int64_t const bins = points / 2 + 1;
    if (bands < 1 || points < 1 || bands > kMaxMatrix / bins || !(rate > 0.0))
    {
        fail(ErrorCode::kINVALID_NODE, fmt::format("MelWeightMatrix of {} bands and {} points", bands, points));
    }
    Integers edges;
    for (int64_t i = 0; i < bands + 2; ++i)
    {
        double const mel =
            melOf(low) + static_cast<double>(i) * (melOf(high) - melOf(low)) / static_cast<double>(bands + 2);
        double const hertz = 700.0 * (std::pow(10.0, mel / 2595.0) - 1.0);
        edges.push_back(static_cast<int64_t>(std::floor(static_cast<double>(points + 1) * hertz / rate)));
    }
    std::vector<double> weights(static_cast<size_t>(bins * bands), 0.0);
    for (size_t band = 0; band < static_cast<size_t>(bands); ++band)
    {
        int64_t const first = edges[band];
        int64_t const middle = edges[band + 1];
        int64_t const last = edges[band + 2];
        auto const at = [&](int64_t bin) -> double& { return weights[static_cast<size_t>(bin * bands) + band]; };
        auto const inside = [&](int64_t bin) { return bin >= 0 && bin < bins; };
        if (first == middle && inside(middle))
        {
            at(middle) = 1.0;
        }
        for (int64_t bin = first; first != middle && bin <= middle; ++bin)
        {
            if (inside(bin))
            {
                at(bin) = static_cast<double>(bin - first) / static_cast<double>(middle - first);
            }
        }
        for (int64_t bin = middle; middle != last && bin < last; ++bin)
        {
            if (inside(bin))
            {
                at(bin) = static_cast<double>(last - bin) / static_cast<double>(last - middle);
            }
        }
    }
    return {node.numbers(weights, {bins, bands}, windowType(node))};
}

constexpr Operator kSignalTable[]{
    {"BlackmanWindow", importBlackman},
    {"DFT", importDft},
    {"HammingWindow", importHamming},
    {"HannWindow", importHann},
    {"MelWeightMatrix", importMelWeights},
    {"STFT", importStft},
};

} // namespace

constinit std::span<Operator const> const kSignalOperators{kSignalTable};

} // namespace tenon::onnx
