// Kernel "reorder": a copy of a tensor into another layout; padding channels become zeros.
#include "backend/check_shapes.h"
#include "backends/ref/kernels.h"

#include <cstring>

namespace tenon::ref
{

namespace
{
//! Batch, channels, and everything behind them.
struct Extents
{
    int64_t n{1};
    int64_t c{1};
    int64_t s{1};
};

Extents split(std::vector<int64_t> const& extents)
{
    Extents e;
    for (size_t i = 0; i < extents.size(); ++i)
        (i == 0 ? e.n : i == 1 ? e.c : e.s) *= extents[i];
    return e;
}

class PreparedReorder final : public HostPrepared
{
  public:
    PreparedReorder(TensorArg in, TensorArg out)
        : mIn{std::move(in)},
          mOut{std::move(out)}
    {
    }
    bool isCollective() const noexcept override
    {
        return false;
    }
    Result<Done> run(Call const& call, Lane const&) const override
    {
        auto const* from = static_cast<uint8_t const*>(call.inputs[0]);
        auto* to = static_cast<uint8_t*>(call.outputs[0]);
        if (mIn.layout == mOut.layout)
        {
            if (to != from) // In place.
                std::memcpy(to, from, static_cast<size_t>(mIn.bytes()));
            return Done{};
        }
        Extents const e = split(mIn.extents);
        int64_t const size = bitsOf(mIn.dtype) / 8;
        if (blockOf(mOut.layout) > 1)
            std::memset(to, 0, static_cast<size_t>(mOut.bytes()));
        ElementOrder const source = elementOrder(mIn.layout, e.c, e.s);
        ElementOrder const target = elementOrder(mOut.layout, e.c, e.s);
        for (int64_t n = 0; n < e.n; ++n)
            for (int64_t c = 0; c < e.c; ++c)
                for (int64_t s = 0; s < e.s; ++s)
                    std::memcpy(to + target.offset(n, c, s) * size, from + source.offset(n, c, s) * size,
                        static_cast<size_t>(size));
        return Done{};
    }

  private:
    TensorArg mIn;
    TensorArg mOut;
};

class ReorderKernel final : public Kernel
{
  public:
    Result<std::shared_ptr<Prepared const>> prepare(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs, int32_t) const override
    {
        if (inputs.size() != 1 || outputs.size() != 1 || !inputs[0].present || !outputs[0].present)
            return badArgument("it takes one tensor and gives one");
        TENON_TRY(checkExtents(inputs[0]));
        TENON_TRY(checkExtents(outputs[0]));
        bool const isWhole = bitsOf(inputs[0].dtype) % 8 == 0 || inputs[0].layout == outputs[0].layout;
        if (inputs[0].dtype != outputs[0].dtype || inputs[0].extents != outputs[0].extents || !isWhole)
            return badArgument("input and output are not the same tensor");
        for (TensorArg const* arg : {&inputs[0], &outputs[0]})
            if (arg->layout != Layout::kLinear && arg->extents.size() < 2)
                return badArgument("layout {} at rank {}", nameOf(arg->layout), arg->extents.size());
        return std::shared_ptr<Prepared const>{std::make_shared<PreparedReorder>(inputs[0], outputs[0])};
    }
};
} // namespace

Result<std::unique_ptr<Kernel>> loadReorder(KernelSource const&)
{
    return std::unique_ptr<Kernel>{std::make_unique<ReorderKernel>()};
}

} // namespace tenon::ref
