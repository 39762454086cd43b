// ModulatedDeformConv2d: a convolution that samples its input beside the grid: each tap is shifted by its own offset,
// read bilinearly (zeros around the image) and multiplied by its own mask (Deformable ConvNets v2, arXiv:1811.11168).
// Offsets come as pairs (down, right). `stride`, `padding` and `dilation` name the extent along the width first.
#include "plugins/builtin/bilinear.h"
#include "plugins/builtin/element.h"
#include "plugins/builtin/stock_table.h"

#include <algorithm>
#include <array>
#include <limits>

namespace tenon::plugins::builtin
{

namespace
{
//! Extents of one run.
struct DeformableProblem
{
    int64_t images, channels, height, width;
    int64_t outChannels, outHeight, outWidth;
    int64_t kernelHeight, kernelWidth;

    int64_t taps() const noexcept
    {
        return kernelHeight * kernelWidth;
    }
    int64_t outPlane() const noexcept
    {
        return outHeight * outWidth;
    }
};

//! Working memory for one row of the output.
struct Scratch
{
    Corners* corners; //!< [outWidth], of one tap.
    float* columns;   //!< [channels][taps][outWidth]: the samples times the mask.
    float* sums;      //!< [outWidth]
};

class ModulatedDeformConv2d final : public Body
{
  public:
    static Result<BodyPtr> make(FieldReader const& fields)
    {
        auto body = std::make_shared<ModulatedDeformConv2d>();
        body->mStride = TENON_TRY(pairOf(fields, "stride", 1));
        body->mPadding = TENON_TRY(pairOf(fields, "padding", 0));
        body->mDilation = TENON_TRY(pairOf(fields, "dilation", 1));
        body->mGroup = TENON_TRY(fields.optional("group", 1, kPositive));
        body->mDeformableGroup = TENON_TRY(fields.optional("deformable_group", 1, kPositive));
        return body;
    }
    int32_t inputs() const noexcept override
    {
        return 5; // The bias may be missing.
    }
    bool takes(int32_t count) const noexcept override
    {
        return count == 4 || count == 5;
    }
    int32_t outputs() const noexcept override
    {
        return 1;
    }
    DimsExprs outputDims(int32_t, std::span<DimsExprs const> inputs, IExprBuilder&) const override
    {
        for (size_t i = 0; i < 4; ++i)
            if (inputs[i].nbDims != 4)
                return {-1, {}};
        return {4, {inputs[0].d[0], inputs[3].d[0], inputs[1].d[2], inputs[1].d[3]}};
    }
    bool acceptsType(int32_t position, std::span<PluginTensorDesc const> ports) const override
    {
        DataType const type = ports[static_cast<size_t>(position)].type;
        return isFloatOrHalf(type) && type == ports[0].type;
    }
    char const* wants() const noexcept override
    {
        return "x [N, C, H, W], offsets [N, 2 * groups * taps, P, Q], masks [N, groups * taps, P, Q], "
               "weights [M, C / group, R, S]";
    }
    bool fits(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const> out) const override
    {
        if (in[0].dims.nbDims != 4 || in[1].dims.nbDims != 4 || in[3].dims.nbDims != 4)
            return false;
        DeformableProblem const p = problemOf(in);
        if (p.taps() < 1 || p.taps() > std::numeric_limits<int32_t>::max())
            return false;
        int64_t const shifts = mDeformableGroup * p.taps();
        bool const groupsFit = p.channels % mGroup == 0 && p.outChannels % mGroup == 0
            && p.channels % mDeformableGroup == 0 && in[3].dims.d[1] == p.channels / mGroup;
        return groupsFit && hasExtents(in[1].dims, {p.images, 2 * shifts, p.outHeight, p.outWidth})
            && hasExtents(in[2].dims, {p.images, shifts, p.outHeight, p.outWidth})
            && (in.size() < 5 || volume(in[4].dims) == p.outChannels)
            && hasExtents(out[0].dims, {p.images, p.outChannels, p.outHeight, p.outWidth})
            && p.outWidth == positions(p.width, p.kernelWidth, 0)
            && p.outHeight == positions(p.height, p.kernelHeight, 1);
    }
    size_t workspace(std::span<PluginTensorDesc const> in, std::span<PluginTensorDesc const>) const override
    {
        DeformableProblem const p = problemOf(in);
        size_t const corners = workspaceOf({p.outWidth, sizeof(Corners)});
        return corners + workspaceOf({p.channels, p.kernelHeight, p.kernelWidth, p.outWidth, sizeof(float)})
            + workspaceOf({p.outWidth, sizeof(float)});
    }
    int32_t run(StockRun const& run) const override
    {
        DeformableProblem const p = problemOf(run.in);
        auto* const corners = static_cast<Corners*>(run.workspace);
        auto* const columns = reinterpret_cast<float*>(corners + p.outWidth);
        Scratch const scratch{corners, columns, columns + p.channels * p.taps() * p.outWidth};
        return forFloatOrHalf(run.in[0].type, [&](auto element) {
            for (int64_t image = 0; image < p.images; ++image)
                for (int64_t row = 0; row < p.outHeight; ++row)
                {
                    sample<decltype(element)>(run, p, scratch, image, row);
                    multiply<decltype(element)>(run, p, scratch, image, row);
                }
            return 0;
        });
    }
    std::vector<PluginField> fields() const override
    {
        return {{"stride", mStride.data(), PluginFieldType::kINT32, 2},
            {"padding", mPadding.data(), PluginFieldType::kINT32, 2},
            {"dilation", mDilation.data(), PluginFieldType::kINT32, 2}, {"group", &mGroup, PluginFieldType::kINT32, 1},
            {"deformable_group", &mDeformableGroup, PluginFieldType::kINT32, 1}};
    }

  private:
    using Pair = std::array<int32_t, 2>; //!< Width, height.

    //! The least numbers where the field is missing.
    static Result<Pair> pairOf(FieldReader const& fields, std::string_view name, int32_t least)
    {
        std::vector<int32_t> const values = TENON_TRY(fields.list<int32_t>(name));
        if (values.empty())
            return Pair{least, least};
        if (values.size() != 2 || std::ranges::min(values) < least)
            return fields.refused(name, fmt::format("is [{}]", fmt::join(values, ", ")),
                fmt::format("be two numbers of {} or more, for width and height", least));
        return Pair{values[0], values[1]};
    }

    static DeformableProblem problemOf(std::span<PluginTensorDesc const> in)
    {
        Dims const& x = in[0].dims;
        Dims const& offset = in[1].dims;
        Dims const& weight = in[3].dims;
        return {x.d[0], x.d[1], x.d[2], x.d[3], weight.d[0], offset.d[2], offset.d[3], weight.d[2], weight.d[3]};
    }

    //! How far the kernel can slide; `which` is 0 along the width, 1 along the height.
    int64_t positions(int64_t extent, int64_t kernel, size_t which) const
    {
        int64_t const slack = extent + 2 * int64_t{mPadding[which]} - int64_t{mDilation[which]} * (kernel - 1) - 1;
        return slack < 0 ? 0 : slack / mStride[which] + 1;
    }

    //! Fills the columns of one row of the output.
    template <typename T>
    void sample(
        StockRun const& run, DeformableProblem const& p, Scratch const& scratch, int64_t image, int64_t row) const
    {
        int64_t const perGroup = p.channels / mDeformableGroup;
        for (int64_t shift = 0; shift < mDeformableGroup * p.taps(); ++shift)
        {
            int64_t const at = image * mDeformableGroup * p.taps() + shift;
            T const* const down = run.input<T>(1) + 2 * at * p.outPlane() + row * p.outWidth;
            T const* const right = down + p.outPlane();
            T const* const mask = run.input<T>(2) + at * p.outPlane() + row * p.outWidth;
            int64_t const tap = shift % p.taps();
            double const y = static_cast<double>(row * mStride[1] - mPadding[1] + tap / p.kernelWidth * mDilation[1]);
            int64_t const x = tap % p.kernelWidth * mDilation[0] - mPadding[0];
            for (int64_t i = 0; i < p.outWidth; ++i)
                scratch.corners[i] = cornersAt(y + static_cast<double>(asFloat(down[i])),
                    static_cast<double>(x + i * mStride[0]) + static_cast<double>(asFloat(right[i])), p.height,
                    p.width);
            for (int64_t i = 0, channel = shift / p.taps() * perGroup; i < perGroup; ++i, ++channel)
            {
                T const* const plane = run.input<T>(0) + (image * p.channels + channel) * p.height * p.width;
                float* const column = scratch.columns + (channel * p.taps() + tap) * p.outWidth;
                for (int64_t j = 0; j < p.outWidth; ++j)
                    column[j] = asFloat(mask[j]) * read(plane, scratch.corners[j], p.width);
            }
        }
    }

    template <typename T>
    static float read(T const* plane, Corners const& corners, int64_t width)
    {
        float sum{0.0F};
        for (int32_t i = 0; i < corners.count; ++i)
            sum += corners.weight[i] * asFloat(plane[corners.row[i] * width + corners.column[i]]);
        return sum;
    }

    //! Weights times columns gives one row of every output channel.
    template <typename T>
    void multiply(
        StockRun const& run, DeformableProblem const& p, Scratch const& scratch, int64_t image, int64_t row) const
    {
        int64_t const depth = p.channels / mGroup * p.taps();
        int64_t const perGroup = p.outChannels / mGroup;
        bool const hasBias = run.in.size() == 5;
        for (int64_t channel = 0; channel < p.outChannels; ++channel)
        {
            T const* const weights = run.input<T>(3) + channel * depth;
            float const* const columns = scratch.columns + channel / perGroup * depth * p.outWidth;
            std::fill_n(scratch.sums, p.outWidth, hasBias ? asFloat(run.input<T>(4)[channel]) : 0.0F);
            for (int64_t k = 0; k < depth; ++k)
            {
                float const weight = asFloat(weights[k]);
                for (int64_t i = 0; i < p.outWidth; ++i)
                    scratch.sums[i] += weight * columns[k * p.outWidth + i];
            }
            T* const y = run.output<T>(0) + (image * p.outChannels + channel) * p.outPlane() + row * p.outWidth;
            for (int64_t i = 0; i < p.outWidth; ++i)
                put(y[i], scratch.sums[i]);
        }
    }

    Pair mStride{1, 1};
    Pair mPadding{0, 0};
    Pair mDilation{1, 1};
    int32_t mGroup{1};
    int32_t mDeformableGroup{1};
};

StockPlugin deformableVersion(char const* number, bool isV3)
{
    return {"ModulatedDeformConv2d", number, isV3,
        {{"stride", nullptr, PluginFieldType::kINT32, 2}, {"padding", nullptr, PluginFieldType::kINT32, 2},
            {"dilation", nullptr, PluginFieldType::kINT32, 2}, {"group", nullptr, PluginFieldType::kINT32, 1},
            {"deformable_group", nullptr, PluginFieldType::kINT32, 1}},
        &ModulatedDeformConv2d::make};
}
} // namespace

std::vector<StockPlugin> stockModulatedDeformConv2d()
{
    return {deformableVersion("1", false), deformableVersion("2", true)};
}

} // namespace tenon::plugins::builtin
