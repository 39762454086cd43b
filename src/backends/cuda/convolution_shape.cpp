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

//! Matrices that lie behind each other.
struct Matrices
{
    int64_t count;
    int64_t rows;
    int64_t columns;
};

//! [n][rows][columns] to [n][columns][rows], elements moved as they are; `extents`: of what is made.
Result<std::shared_ptr<Constant const>> turned(
    DType type, std::vector<int64_t> extents, void const* data, Matrices const& given)
{
    int64_t const bytes = tenon::bytesOf(type, Layout::kLinear, extents);
    if (bytes < 0 || (bitsOf(type) != 8 && bitsOf(type) != 16 && bitsOf(type) != 32))
        return badArgument("a weight of {} is none that is packed here", nameOf(type));
    auto const memory = TENON_TRY(KernelMemory::allocate(nullptr, std::max<size_t>(static_cast<size_t>(bytes), 1)));
    auto const turn = [&]<typename T>(T const* from) {
        turnFilter(from, static_cast<T*>(memory.get()), given.count, given.rows, given.columns);
    };
    if (bitsOf(type) == 8)
        turn(static_cast<uint8_t const*>(data));
    else if (bitsOf(type) == 16)
        turn(static_cast<uint16_t const*>(data));
    else
        turn(static_cast<uint32_t const*>(data));
    return std::shared_ptr<Constant const>{
        std::make_shared<Constant>(Constant{type, std::move(extents), memory.get(), memory})};
}

//! A filter: all that is behind its second axis is a column.
Result<std::shared_ptr<Constant const>> turnedFilter(
    DType type, std::vector<int64_t> extents, void const* data, bool isPacking)
{
    constexpr size_t kLeast{3};
    if (extents.size() < kLeast)
        return badArgument("a weight of rank {} is no filter", extents.size());
    Matrices given{extents[0], extents[1], volumeOf({extents.begin() + 2, extents.end()})};
    if (!isPacking)
        std::swap(given.rows, given.columns);
    return turned(type, std::move(extents), data, given);
}

//! Matrices of the last two axes.
Result<std::shared_ptr<Constant const>> turnedMatrices(
    DType type, std::vector<int64_t> extents, void const* data, bool isPacking)
{
    if (extents.size() < 2)
        return badArgument("a weight of rank {} is no matrix", extents.size());
    Matrices given{volumeOf({extents.begin(), extents.end() - 2}), extents[extents.size() - 2], extents.back()};
    if (!isPacking)
        std::swap(given.rows, given.columns);
    return turned(type, std::move(extents), data, given);
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
    auto data = TENON_TRY(turnedFilter(filter.dtype, filter.extents, filter.data, true));
    auto const bytes = static_cast<size_t>(data->bytes());
    return PackedWeight{input, std::string{kFilterPacking}, std::move(data), bytes};
}

Result<std::vector<PackedWeight>> packedFilter(Problem const& problem)
{
    std::vector<PackedWeight> packed;
    Constant const* const filter = problem.constant(1);
    if (filter != nullptr && dependsOnOrder(filter->extents))
        packed.push_back(TENON_TRY(packFilter(1, *filter)));
    return packed;
}

Result<PackedWeight> packMatrices(int32_t input, Constant const& matrices)
{
    auto data = TENON_TRY(turnedMatrices(matrices.dtype, matrices.extents, matrices.data, true));
    auto const bytes = static_cast<size_t>(data->bytes());
    return PackedWeight{input, std::string{kMatrixPacking}, std::move(data), bytes};
}

Result<std::shared_ptr<Constant const>> unpackTurned(
    std::string_view packing, DType type, std::vector<int64_t> extents, void const* data, size_t bytes)
{
    int64_t const needed = tenon::bytesOf(type, Layout::kLinear, extents);
    if (needed < 0 || bytes < static_cast<size_t>(needed))
        return badArgument("a weight has {} bytes where {} are needed", bytes, needed);
    return packing == kFilterPacking ? turnedFilter(type, std::move(extents), data, false)
                                     : turnedMatrices(type, std::move(extents), data, false);
}

Result<bool> isRightPacked(KernelSource const& source, std::string_view packing)
{
    bool isPacked{false};
    for (size_t i = 0; i < source.weights.size(); ++i)
    {
        WeightArg const& weight = source.weights[i];
        if (weight.data == nullptr || weight.packing.empty())
            continue;
        if (i != 1 || weight.packing != packing)
            return badArgument("weight {} is packed as '{}', which its kernel does not read", i, weight.packing);
        int64_t const needed = tenon::bytesOf(weight.dtype, Layout::kLinear, weight.extents);
        if (needed < 0 || weight.bytes < static_cast<size_t>(needed))
            return badArgument("weight {} has {} bytes where {} are needed", i, weight.bytes, needed);
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
    shape.isChannelsLast = hasPacked() || inputs[1].layout == Layout::kChannelsLast;
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
