// Kernel "reorder": a copy of a tensor into another layout, by the team.
#include "backend/check_shapes.h"
#include "backends/cpu/isa_functions.h"
#include "backends/cpu/kernel_file.h"
#include "backends/cpu/layer_kernel.h"
#include "backends/cpu/strided_copy.h"

#include <cstring>

namespace tenon::cpu
{

namespace
{
//! Per image, a matrix of channels by pixels becomes its transpose, or the other way round. T has the size of an
//! element.
template <typename T>
class PreparedTurn final : public HostPrepared
{
  public:
    PreparedTurn(int64_t images, int64_t rows, int64_t columns)
        : mImages{images},
          mRows{rows},
          mColumns{columns}
    {
    }
    bool isCollective() const noexcept override
    {
        return true;
    }
    Result<Done> run(Call const& call, Lane const& lane) const override
    {
        auto const* from = static_cast<T const*>(call.inputs[0]);
        auto* to = static_cast<T*>(call.outputs[0]);
        // Lanes share the longer side.
        bool const byRows = mRows >= mColumns;
        auto const [first, last] = lane.part(byRows ? mRows : mColumns, 16);
        for (int64_t i = 0; i < mImages; ++i, from += mRows * mColumns, to += mRows * mColumns)
            if (byRows)
                storageFunctions<T>().transposeElements(
                    from + first * mColumns, mColumns, last - first, mColumns, to + first, mRows);
            else
                storageFunctions<T>().transposeElements(
                    from + first, mColumns, mRows, last - first, to + first * mRows, mRows);
        return Done{};
    }

  private:
    int64_t mImages;
    int64_t mRows;
    int64_t mColumns;
};

class PreparedCopy final : public HostPrepared
{
  public:
    explicit PreparedCopy(StridedCopy copy)
        : mCopy{std::move(copy)}
    {
    }
    bool isCollective() const noexcept override
    {
        return true;
    }
    Result<Done> run(Call const& call, Lane const& lane) const override
    {
        mCopy.run(call.inputs[0], call.outputs[0], lane);
        return Done{};
    }

  private:
    StridedCopy mCopy;
};

//! Between layouts of which one groups or pads its channels: channel by channel; padding becomes zeros.
class PreparedRegroup final : public HostPrepared
{
  public:
    PreparedRegroup(TensorArg const& in, TensorArg const& out)
        : mImages{in.extents[0]},
          mChannels{in.extents[1]},
          mPadded{(mChannels + blockOf(out.layout) - 1) / blockOf(out.layout) * blockOf(out.layout)},
          mPixels{volumeOf({in.extents.begin() + 2, in.extents.end()})},
          mFrom{elementOrder(in.layout, mChannels, mPixels)},
          mTo{elementOrder(out.layout, mChannels, mPixels)},
          mBytes{bitsOf(in.dtype) / 8}
    {
        if (mTo.block == 0)
            mTo.blockSize = std::max<int64_t>(mPadded, 1); // Channels last: padding follows the channels.
    }
    bool isCollective() const noexcept override
    {
        return true;
    }
    Result<Done> run(Call const& call, Lane const& lane) const override
    {
        switch (mBytes)
        {
        case 1: copy<uint8_t>(call, lane); break;
        case 2: copy<uint16_t>(call, lane); break;
        case 4: copy<uint32_t>(call, lane); break;
        default: copy<uint64_t>(call, lane); break;
        }
        return Done{};
    }

  private:
    template <typename T>
    void copy(Call const& call, Lane const& lane) const
    {
        auto const* const from = static_cast<T const*>(call.inputs[0]);
        auto* const to = static_cast<T*>(call.outputs[0]);
        auto const [first, last] = lane.part(mImages * mPadded, 1);
        for (int64_t i = first; i < last; ++i)
        {
            int64_t const n = i / mPadded;
            int64_t const c = i % mPadded;
            T* const target = to + mTo.offset(n, c, 0);
            T const* const source = c < mChannels ? from + mFrom.offset(n, c, 0) : nullptr;
            for (int64_t s = 0; s < mPixels; ++s)
                target[s * mTo.pixel] = source == nullptr ? T{0} : source[s * mFrom.pixel];
        }
    }

    int64_t mImages;
    int64_t mChannels;
    int64_t mPadded; //!< Channels of the output with those that pad it.
    int64_t mPixels;
    ElementOrder mFrom;
    ElementOrder mTo;
    int64_t mBytes;
};

class ReorderKernel final : public Kernel
{
  public:
    Result<std::shared_ptr<Prepared const>> prepare(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs, int32_t) const override
    {
        if (inputs.size() != 1 || outputs.size() != 1 || !inputs[0].present || !outputs[0].present)
            return badArgument("it takes one tensor and gives one");
        TensorArg const& in = inputs[0];
        TensorArg const& out = outputs[0];
        TENON_TRY(checkExtents(in));
        TENON_TRY(checkExtents(out));
        if (in.dtype != out.dtype || in.extents != out.extents || bitsOf(in.dtype) % 8 != 0)
            return badArgument("input and output are not the same tensor");
        if (blockOf(in.layout) != 1 || blockOf(out.layout) != 1)
        {
            if (in.layout == out.layout) // Padding and all.
                return std::shared_ptr<Prepared const>{
                    std::make_shared<PreparedCopy>(StridedCopy{1, {{in.bytes(), 1, 1}}})};
            if (in.extents.size() < 3)
                return badArgument(
                    "from {} to {} at rank {}", nameOf(in.layout), nameOf(out.layout), in.extents.size());
            return std::shared_ptr<Prepared const>{std::make_shared<PreparedRegroup>(in, out)};
        }
        if (in.layout != out.layout && in.extents.size() >= 3 && (bitsOf(in.dtype) == 32 || bitsOf(in.dtype) == 16))
        {
            int64_t const pixels = volumeOf({in.extents.begin() + 2, in.extents.end()});
            bool const toLast = out.layout == Layout::kChannelsLast;
            int64_t const channels = in.extents[1];
            if (pixels != 1 && channels != 1)
                return turn(bitsOf(in.dtype), in.extents[0], toLast ? channels : pixels, toLast ? pixels : channels);
        }
        std::vector<int64_t> const from = stridesIn(in.layout, in.extents);
        std::vector<int64_t> const to = stridesIn(out.layout, out.extents);
        std::vector<CopyAxis> axes;
        for (size_t i = 0; i < in.extents.size(); ++i)
            axes.push_back({in.extents[i], from[i], to[i]});
        return std::shared_ptr<Prepared const>{
            std::make_shared<PreparedCopy>(StridedCopy{bitsOf(in.dtype) / 8, std::move(axes)})};
    }

  private:
    static std::shared_ptr<Prepared const> turn(int32_t bits, int64_t images, int64_t rows, int64_t columns)
    {
        if (bits == 16)
            return std::make_shared<PreparedTurn<Half>>(images, rows, columns);
        return std::make_shared<PreparedTurn<float>>(images, rows, columns);
    }
};

Result<std::unique_ptr<Kernel>> loadReorder(KernelSource const&)
{
    return std::unique_ptr<Kernel>{std::make_unique<ReorderKernel>()};
}

constexpr KernelEntry kReorderKernels[]{{"reorder", &loadReorder}};
} // namespace

} // namespace tenon::cpu

TENON_KERNELS(Reorder, {}, kReorderKernels);
