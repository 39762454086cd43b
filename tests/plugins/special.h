// Three V3 plugins of what only that generation has: an output whose extent running tells, an output in an input's
// memory, and tactics.
#pragma once

#include "plugins/one_to_one.h"

namespace plugintest
{

inline constexpr char const* kSpecialNamespace{"special"};

//! What the three share. Build: IPluginV3OneBuild or IPluginV3OneBuildV2.
template <typename P, typename Build = IPluginV3OneBuild>
class Special : public OneToOne<P, Build>
{
  public:
    AsciiChar const* getPluginNamespace() const noexcept override
    {
        return kSpecialNamespace;
    }
};

//! Row and column of each element of a float32 matrix that is not zero, [count, 2] int32, and the count.
class NonZero final : public Special<NonZero>
{
  public:
    static constexpr char const* kType{"NonZeroPairs"};
    int32_t getNbOutputs() const noexcept override
    {
        return 2;
    }
    int32_t getOutputDataTypes(DataType* made, int32_t, DataType const*, int32_t) const noexcept override
    {
        made[0] = made[1] = DataType::kINT32;
        return 0;
    }
    int32_t getOutputShapes(DimsExprs const* given, int32_t, DimsExprs const*, int32_t, DimsExprs* made, int32_t,
        IExprBuilder& builder) noexcept override
    {
        IDimensionExpr const* const all = builder.operation(DimensionOperation::kPROD, *given[0].d[0], *given[0].d[1]);
        IDimensionExpr const* const half =
            builder.operation(DimensionOperation::kFLOOR_DIV, *all, *builder.constant(2));
        made[0] = {2, {builder.declareSizeTensor(1, *half, *all), builder.constant(2)}};
        made[1] = {0, {}};
        return 0;
    }
    bool supportsFormatCombination(
        int32_t pos, DynamicPluginTensorDesc const* ports, int32_t, int32_t) noexcept override
    {
        return ports[pos].desc.format == TensorFormat::kLINEAR
            && ports[pos].desc.type == (pos == 0 ? DataType::kFLOAT : DataType::kINT32);
    }
    int32_t enqueue(PluginTensorDesc const* in, PluginTensorDesc const*, void const* const* inputs,
        void* const* outputs, void*, cudaStream_t) noexcept override
    {
        auto const* x = static_cast<float const*>(inputs[0]);
        auto* pairs = static_cast<int32_t*>(outputs[0]);
        int32_t count{0};
        for (int64_t row = 0; row < in[0].dims.d[0]; ++row)
            for (int64_t column = 0; column < in[0].dims.d[1]; ++column)
                if (*x++ != 0.0F)
                {
                    pairs[2 * count] = static_cast<int32_t>(row);
                    pairs[2 * count + 1] = static_cast<int32_t>(column);
                    ++count;
                }
        *static_cast<int32_t*>(outputs[1]) = count;
        return 0;
    }
};

//! Puts updates into the first input's own memory: x[indices[i]] = updates[i].
class InPlaceScatter final : public Special<InPlaceScatter, IPluginV3OneBuildV2>
{
  public:
    static constexpr char const* kType{"InPlaceScatter"};
    int32_t getAliasedInput(int32_t) noexcept override
    {
        return 0;
    }
    bool supportsFormatCombination(
        int32_t pos, DynamicPluginTensorDesc const* ports, int32_t, int32_t) noexcept override
    {
        return ports[pos].desc.format == TensorFormat::kLINEAR
            && ports[pos].desc.type == (pos == 1 ? DataType::kINT32 : DataType::kFLOAT);
    }
    int32_t enqueue(PluginTensorDesc const* in, PluginTensorDesc const*, void const* const* inputs,
        void* const* outputs, void*, cudaStream_t) noexcept override
    {
        if (inputs[0] != outputs[0])
            return 1;
        auto* x = static_cast<float*>(outputs[0]);
        auto const* at = static_cast<int32_t const*>(inputs[1]);
        auto const* updates = static_cast<float const*>(inputs[2]);
        for (int64_t i = 0; i < in[1].dims.d[0]; ++i)
            x[at[i]] = updates[i];
        return 0;
    }
};

//! Adds the number of its tactic, so that results tell which one ran.
class TwoTactics final : public Special<TwoTactics>
{
  public:
    static constexpr char const* kType{"TwoTactics"};
    int32_t getNbTactics() noexcept override
    {
        return 2;
    }
    int32_t getValidTactics(int32_t* tactics, int32_t) noexcept override
    {
        tactics[0] = 3;
        tactics[1] = 5;
        return 0;
    }
    int32_t setTactic(int32_t given) noexcept override
    {
        mTactic = given;
        return 0;
    }
    int32_t enqueue(PluginTensorDesc const* in, PluginTensorDesc const*, void const* const* inputs,
        void* const* outputs, void*, cudaStream_t) noexcept override
    {
        auto const* x = static_cast<float const*>(inputs[0]);
        auto* y = static_cast<float*>(outputs[0]);
        for (int64_t i = 0; i < in[0].dims.d[0]; ++i)
            y[i] = x[i] + static_cast<float>(mTactic);
        return 0;
    }

  private:
    int32_t mTactic{0};
};

} // namespace plugintest
