// LayerKernel: what most kernels keep between loading and preparing: the layer, its arguments and its constant
// operands.
#pragma once

#include "backend/check_shapes.h"
#include "backend/layer_args.h"
#include "backend/layer_inputs.h"
#include "backends/cpu/storage.h"
#include "base/type_set.h"
#include "layers/layer_table.h"

#include <string>
#include <vector>

namespace tenon::cpu
{

//! A constant operand; `packing` outlives the source that it came from.
struct LoadedWeight
{
    WeightArg arg;
    std::string packing;

    bool isConstant() const noexcept
    {
        return arg.data != nullptr;
    }
};

class LayerKernel
{
  public:
    static Result<LayerKernel> load(KernelSource const& source);

    LayerArgs const& args() const noexcept
    {
        return mArgs;
    }
    Layer const& layer() const noexcept
    {
        return *mLayer;
    }
    LoadedWeight const& weight(size_t i) const noexcept
    {
        static LoadedWeight const none;
        return i < mWeights.size() ? mWeights[i] : none;
    }
    //! For what is made of them; null: the process's memory.
    KernelMemory const* memory() const noexcept
    {
        return mMemory.get();
    }
    size_t weightCount() const noexcept
    {
        return mWeights.size();
    }
    //! The layer accepts the inputs and gives these outputs.
    Result<Done> check(std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) const;

  private:
    LayerArgs mArgs;
    LayerPtr mLayer;
    std::vector<LoadedWeight> mWeights;
    std::shared_ptr<KernelMemory const> mMemory;
};

//! Types of real numbers that kernels compute with, in float.
inline constexpr TypeSet kRealTypes{DType::kFLOAT, DType::kHALF, DType::kBF16};

//! visit(T{}), T being what tensors of a real type are stored as.
template <typename Visit>
auto withStorage(DType type, Visit const& visit)
{
    switch (type)
    {
    case DType::kHALF: return visit(Half{});
    case DType::kBF16: return visit(Bfloat{});
    default: return visit(float{});
    }
}

//! The same for what can be computed with as numbers: real ones, int8, int32 and int64.
template <typename Visit>
auto withNumber(DType type, Visit const& visit)
{
    switch (type)
    {
    case DType::kINT8: return visit(int8_t{});
    case DType::kINT32: return visit(int32_t{});
    case DType::kINT64: return visit(int64_t{});
    default: return withStorage(type, visit);
    }
}

//! The same for what is moved only: unsigned integers of as many bytes (`movableBytes`) as the type has.
template <typename Visit>
auto withBits(DType type, Visit const& visit)
{
    switch (movableBytes(type))
    {
    case 1: return visit(uint8_t{});
    case 2: return visit(uint16_t{});
    case 4: return visit(uint32_t{});
    default: return visit(uint64_t{});
    }
}

constexpr bool isIndex(DType type) noexcept
{
    return type == DType::kINT32 || type == DType::kINT64;
}

template <typename Visit>
auto withIndex(DType type, Visit const& visit)
{
    return type == DType::kINT64 ? visit(int64_t{}) : visit(int32_t{});
}

//! An operand is there and holds real numbers in this layout.
inline bool isReal(std::span<TensorArg const> args, size_t i, Layout layout)
{
    return i < args.size() && args[i].present && kRealTypes.has(args[i].dtype) && args[i].layout == layout;
}
inline bool isPresent(std::span<TensorArg const> args, size_t i)
{
    return i < args.size() && args[i].present;
}

//! Which of an operand's matrices each position of the broadcast batch reads; `mine`: axes in front of them.
std::vector<int64_t> matricesRead(std::vector<int64_t> const& mine, std::vector<int64_t> const& batch);

} // namespace tenon::cpu
