// InputShapes: what profile and dimension names imply, and the symbols that shapes and values give.
#include "runtime/input_shapes.h"

#include "base/real_op.h"
#include "runtime/shape_values.h"

#include <algorithm>

namespace tenon
{

namespace
{
std::string listOf(nvinfer1::Dims64 const& dims)
{
    std::string text;
    for (int32_t i = 0; i < std::clamp(dims.nbDims, 0, nvinfer1::Dims64::MAX_DIMS); ++i)
        text += fmt::format("{}{}", i == 0 ? "" : "x", dims.d[i]);
    return "[" + text + "]";
}
} // namespace

InputShapes::InputShapes(EngineState const& engine)
    : mEngine{&engine}
{
    select(0);
}

void InputShapes::select(int32_t profile)
{
    mProfile = profile;
    mSet.clear();
    for (int32_t i = 0; i < mEngine->inputs; ++i)
        mSet.push_back(mEngine->plan->io[asSize(i)].dims);
    imply();
}

Result<Done> InputShapes::set(int32_t input, Dims const& dims)
{
    TENON_TRY(checkExtents(input, dims));
    TENON_TRY(checkNamed(input, dims));
    mSet[asSize(input)] = dims;
    imply();
    return Done{};
}

Result<Done> InputShapes::checkExtents(int32_t input, Dims const& dims) const
{
    PlanIO const& io = mEngine->plan->io[asSize(input)];
    if (dims.nbDims != io.dims.nbDims)
        return badArgument("input '{}' has rank {}, not {}", io.name, io.dims.nbDims, dims.nbDims);
    PlanProfileInput const* const bounds = mEngine->profileInput(mProfile, input);
    for (int32_t i = 0; i < dims.nbDims; ++i)
    {
        int64_t const fixed = io.dims.d[i];
        if (dims.d[i] < 0 || (fixed >= 0 && dims.d[i] != fixed))
            return badArgument("input '{}': {} does not fit {}: axis {} has extent {}, not {}", io.name, listOf(dims),
                listOf(io.dims), i, fixed >= 0 ? std::to_string(fixed) : "0 or more", dims.d[i]);
        if (bounds != nullptr && (dims.d[i] < bounds->min.d[i] || dims.d[i] > bounds->max.d[i]))
            return badArgument("input '{}': {} is outside profile {}, which goes from {} to {}: see axis {}", io.name,
                listOf(dims), mProfile, listOf(bounds->min), listOf(bounds->max), i);
    }
    return Done{};
}

Result<Done> InputShapes::checkNamed(int32_t input, Dims const& dims) const
{
    for (int32_t axis = 0; axis < dims.nbDims; ++axis)
    {
        std::string_view const name = nameOfExtent(asSize(input), axis);
        if (name.empty())
            continue;
        for (size_t other = 0; other < mDims.size(); ++other)
        {
            PlanProfileInput const* const bounds = mEngine->profileInput(mProfile, static_cast<int32_t>(other));
            for (int32_t j = 0; bounds != nullptr && j < mDims[other].nbDims; ++j)
                if (nameOfExtent(other, j) == name
                    && (dims.d[axis] < bounds->min.d[j] || dims.d[axis] > bounds->max.d[j]))
                    return badArgument(
                        "input '{}': its dimension '{}' is {}, but input '{}' has the same dimension, and "
                        "profile {} bounds it to [{}, {}] there",
                        mEngine->plan->io[asSize(input)].name, name, dims.d[axis], mEngine->plan->io[other].name,
                        mProfile, bounds->min.d[j], bounds->max.d[j]);
        }
    }
    return Done{};
}

std::string_view InputShapes::nameOfExtent(size_t input, int32_t axis) const
{
    auto const& names = mEngine->plan->io[input].dimensionNames;
    return asSize(axis) < names.size() ? std::string_view{names[asSize(axis)]} : std::string_view{};
}

int64_t InputShapes::extentByName(std::string_view name) const
{
    for (size_t i = 0; i < mDims.size(); ++i)
        for (int32_t j = 0; j < mDims[i].nbDims; ++j)
            if (mDims[i].d[j] >= 0 && nameOfExtent(i, j) == name)
                return mDims[i].d[j];
    return -1;
}

void InputShapes::imply()
{
    mDims = mSet;
    for (size_t i = 0; i < mDims.size(); ++i)
        if (PlanProfileInput const* bounds = mEngine->profileInput(mProfile, static_cast<int32_t>(i)))
            for (int32_t j = 0; j < mDims[i].nbDims; ++j)
                if (mDims[i].d[j] < 0 && bounds->min.d[j] == bounds->max.d[j])
                    mDims[i].d[j] = bounds->min.d[j];
    // Equal names mean equal extents: one that is set gives the others (Q6).
    for (size_t i = 0; i < mDims.size(); ++i)
        for (int32_t j = 0; j < mDims[i].nbDims; ++j)
            if (mDims[i].d[j] < 0 && !nameOfExtent(i, j).empty())
                mDims[i].d[j] = extentByName(nameOfExtent(i, j));
}

bool InputShapes::isSet(size_t input) const noexcept
{
    Dims const& dims = mDims[input];
    return std::all_of(dims.d, dims.d + dims.nbDims, [](int64_t extent) { return extent >= 0; });
}

bool InputShapes::areSet() const noexcept
{
    for (size_t i = 0; i < mDims.size(); ++i)
        if (!isSet(i))
            return false;
    return true;
}

void InputShapes::findSymbols(std::span<void* const> from, std::span<Span> into) const
{
    Program const& program = *mEngine->program;
    for (size_t i = 0; i < into.size(); ++i)
    {
        PlanSymbol const& symbol = program.symbols[i];
        if (symbol.kind == PlanSymbolKind::kData)
            continue;
        PlanProfileInput const* const bounds = mEngine->profileInput(mProfile, symbol.source);
        if (symbol.kind == PlanSymbolKind::kInputValue)
        {
            void const* const data = from[asSize(symbol.source)];
            auto const index = asSize(symbol.index); // checkPlan has seen that each profile bounds it.
            into[i] = boundsOfValue(mEngine->plan->io[asSize(symbol.source)], *bounds, index);
            if (data != nullptr)
                into[i].lo = into[i].hi = shapeValue(mEngine->plan->io[asSize(symbol.source)], data, symbol.index);
            continue;
        }
        int64_t const extent = mDims[asSize(symbol.source)].d[symbol.index];
        into[i] = extent >= 0 || bounds == nullptr ? Span{extent, extent}
                                                   : Span{bounds->min.d[symbol.index], bounds->max.d[symbol.index]};
    }
}

std::vector<Span> InputShapes::symbolsFor(std::span<void* const> from) const
{
    std::vector<Span> found(mEngine->program->symbols.size());
    findSymbols(from, found);
    return found;
}

std::vector<Span> InputShapes::registersFor(std::span<Span const> symbols) const
{
    return evaluateAll(*mEngine, symbols, DataSymbols::kAnywhere, std::vector<uint8_t>(symbols.size()));
}

InputShapes::Dims InputShapes::shapeOf(int32_t io, std::span<Span const> registers) const
{
    if (io < mEngine->inputs)
        return mDims[asSize(io)];
    Dims dims = mEngine->plan->io[asSize(io)].dims;
    PlanTensor const& tensor = mEngine->program->tensors[asSize(mEngine->io[asSize(io)].tensor)];
    for (int32_t i = 0; i < dims.nbDims; ++i)
    {
        Span const extent = registers[asSize(tensor.extents[asSize(i)])];
        dims.d[i] = extent.isKnown() ? std::max<int64_t>(extent.lo, -1) : -1;
    }
    return dims;
}

Result<Done> InputShapes::checkValues(std::span<Span const> symbols) const
{
    Program const& program = *mEngine->program;
    for (size_t i = 0; i < program.symbols.size(); ++i)
    {
        PlanSymbol const& symbol = program.symbols[i];
        if (symbol.kind != PlanSymbolKind::kInputValue)
            continue;
        PlanProfileInput const& bounds = *mEngine->profileInput(mProfile, symbol.source);
        auto const index = asSize(symbol.index);
        PlanIO const& io = mEngine->plan->io[asSize(symbol.source)];
        int64_t const value = symbols[i].lo;
        bool const isReal = io.dtype == DType::kFLOAT;
        auto const [low, high] = boundsOfValue(io, bounds, index);
        bool const fits = isReal ? RealSpan{fromRealBits(low), fromRealBits(high)}.contains(fromRealBits(value))
                                 : value >= low && value <= high;
        if (!fits)
            return badArgument("value {} of shape tensor '{}' is {}, outside [{}, {}] of profile {}", symbol.index,
                io.name, isReal ? fmt::format("{}", fromRealBits(value)) : fmt::format("{}", value),
                bounds.minValues[index], bounds.maxValues[index], mProfile);
    }
    return Done{};
}

} // namespace tenon
