// ConvolutionShape: from layers and plans to what kernels take, and filters between their two orders.
#include "backends/cuda/convolution_shape.h"
#include "backends/cuda/epilogue.h"
#include "base/cancellation.h"

#include <algorithm>

namespace tenon::cuda
{

namespace
{
template <typename T>
void turnFilter(T const* from, T* to, int64_t count, int64_t rows, int64_t columns)
{
    CancellationCounter counter;
    for (int64_t n = 0; n < count; ++n, from += rows * columns, to += rows * columns)
        for (int64_t row = 0; row < rows; ++row)
        {
            counter.next();
            for (int64_t column = 0; column < columns; ++column)
                to[column * rows + row] = from[row * columns + column];
        }
}

//! [n][rows][columns] to [n][columns][rows], elements moved as they are.
Result<std::shared_ptr<Constant const>> turned(
    DType type, std::vector<int64_t> extents, void const* data, bool isPacking)
{
    int64_t const bytes = tenon::bytesOf(type, Layout::kLinear, extents);
    if (extents.size() < 3 || bytes < 0 || (bitsOf(type) != 16 && bitsOf(type) != 32))
        return badArgument("a weight of {} and rank {} is no filter", nameOf(type), extents.size());
    auto const memory = TENON_TRY(KernelMemory::allocate(nullptr, std::max<size_t>(static_cast<size_t>(bytes), 1)));
    int64_t rows = extents[1];
    int64_t columns = volumeOf({extents.begin() + 2, extents.end()});
    if (!isPacking)
        std::swap(rows, columns);
    if (bitsOf(type) == 16)
        turnFilter(static_cast<uint16_t const*>(data), static_cast<uint16_t*>(memory.get()), extents[0], rows, columns);
    else
        turnFilter(static_cast<uint32_t const*>(data), static_cast<uint32_t*>(memory.get()), extents[0], rows, columns);
    return std::shared_ptr<Constant const>{
        std::make_shared<Constant>(Constant{type, std::move(extents), memory.get(), memory})};
}

template <typename L>
ConvolutionShape shapeOfLayer(L const& layer)
{
    return {.window = layer.window(),
        .groups = layer.nbGroups,
        .isTransposed = std::is_same_v<L, Deconvolution>,
        .epilogue = layer.epilogue};
}
} // namespace

bool dependsOnOrder(std::vector<int64_t> const& filter)
{
    return filter[1] != 1 && volumeOf({filter.begin() + 2, filter.end()}) != 1;
}

Result<PackedWeight> packFilter(int32_t input, Constant const& filter)
{
    auto data = TENON_TRY(turned(filter.dtype, filter.extents, filter.data, true));
    auto const bytes = static_cast<size_t>(data->bytes());
    return PackedWeight{input, std::string{kFilterPacking}, std::move(data), bytes};
}

Result<std::shared_ptr<Constant const>> unpackFilter(
    DType type, std::vector<int64_t> extents, void const* data, size_t bytes)
{
    int64_t const needed = tenon::bytesOf(type, Layout::kLinear, extents);
    if (needed < 0 || bytes < static_cast<size_t>(needed))
        return badArgument("a filter has {} bytes where {} are needed", bytes, needed);
    return turned(type, std::move(extents), data, false);
}

Result<bool> isFilterPacked(KernelSource const& source)
{
    bool isPacked{false};
    for (size_t i = 0; i < source.weights.size(); ++i)
    {
        WeightArg const& weight = source.weights[i];
        if (weight.data == nullptr || weight.packing.empty())
            continue;
        if (i != 1 || weight.packing != kFilterPacking)
            return badArgument("weight {} is packed as '{}', which no convolution here reads", i, weight.packing);
        int64_t const needed = tenon::bytesOf(weight.dtype, Layout::kLinear, weight.extents);
        if (needed < 0 || weight.bytes < static_cast<size_t>(needed))
            return badArgument("a filter has {} bytes where {} are needed", weight.bytes, needed);
        isPacked = true;
    }
    return isPacked;
}

Result<ConvolutionShape> ConvolutionKernel::convolutionShape(
    std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const
{
    ConvolutionShape shape = args().layer == Convolution::kName
        ? shapeOfLayer(TENON_TRY(fieldsOf<Convolution>(args())))
        : shapeOfLayer(TENON_TRY(fieldsOf<Deconvolution>(args())));
    DType const type = outputs[0].dtype;
    if (inputs.size() < 2 || inputs[0].dtype != type || inputs[1].dtype != type || !kRealTypes.has(type))
        return badArgument("a convolution on this device takes one type of real numbers");
    if (shape.window.rank() < 1 || shape.window.rank() > 3 || inputs[1].extents.size() != shape.window.rank() + 2)
        return badArgument("a convolution on this device takes up to three spatial axes");
    if (blockOf(inputs[0].layout) != 1 || blockOf(inputs[1].layout) != 1 || blockOf(outputs[0].layout) != 1)
        return badArgument("a convolution on this device takes no blocks of channels");
    shape.isChannelsLast = mIsFilterPacked || inputs[1].layout == Layout::kChannelsLast;
    shape.hasBias = inputs.size() > 2 && inputs[2].present;
    return shape;
}

double convolutionWork(Problem const& problem, bool isTransposed)
{
    std::vector<int64_t> const w = problem.typicalExtents(problem.input(1));
    auto const each = static_cast<double>(volumeOf(w) / std::max<int64_t>(w[0], 1));
    TensorType const& images = isTransposed ? problem.input(0) : problem.output();
    return each * static_cast<double>(volumeOf(problem.typicalExtents(images)));
}

std::string convolutionRefusal(Problem const& problem, Window const& window, Epilogue const& epilogue)
{
    DType const type = problem.output().dtype;
    if (!kRealTypes.has(type) || problem.input(0).dtype != type || problem.input(1).dtype != type)
        return "takes one type of real numbers";
    if (window.rank() > 3)
        return "takes up to three spatial axes";
    return epilogueObjection(epilogue, problem, kFirstExtra);
}

} // namespace tenon::cuda
