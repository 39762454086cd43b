// The planner's own steps on the device: reorder, transfer, shape_values and debug_tensor.
#include "backends/cuda/kernel_text.h"
#include "backends/cuda/strided_copy.h"

#include "base/real_op.h"

#include <algorithm>
#include <cstring>

namespace tenon::cuda
{

namespace
{
TENON_DEVICE_STRUCT(ReorderOrder, long long image; long long block; long long blockSize; long long channel;
                    long long pixel;);
TENON_DEVICE_STRUCT(ReorderParams, unsigned const* stop; void const* in; void* out; unsigned long long count;
                    unsigned long long images; unsigned long long channels; unsigned long long padded;
                    unsigned long long pixels; unsigned isSmall; int pixelsLast; ReorderOrder from; ReorderOrder to;);

//! Items are [image, channel, pixel] of the output, padding included, for the most part in the order of its memory.
constexpr char kReorderKernel[]{R"(
TENON_KERNEL(reorder, ReorderParams)
{
    for (u64 item = firstItem(); item < p.count; item += itemStride())
    {
        u64 left = item;
        u64 c, s;
        if (p.pixelsLast)
        {
            s = takeAxis(left, p.pixels, p.isSmall);
            c = takeAxis(left, p.padded, p.isSmall);
        }
        else
        {
            c = takeAxis(left, p.padded, p.isSmall);
            s = takeAxis(left, p.pixels, p.isSmall);
        }
        i64 const n = (i64)left;
        i64 const channel = (i64)c;
        i64 const to = n * p.to.image + channel / p.to.blockSize * p.to.block
            + channel % p.to.blockSize * p.to.channel + (i64)s * p.to.pixel;
        i64 const from = n * p.from.image + channel / p.from.blockSize * p.from.block
            + channel % p.from.blockSize * p.from.channel + (i64)s * p.from.pixel;
        ((Element*)p.out)[to] = c < p.channels ? ((Element const*)p.in)[from] : (Element)0;
    }
}
)"};

ReorderOrder orderOf(Layout layout, int64_t channels, int64_t pixels)
{
    ElementOrder const order = elementOrder(layout, channels, pixels);
    return {order.image, order.block, order.blockSize, order.channel, order.pixel};
}

class CopyWhole final : public CudaPrepared
{
  public:
    explicit CopyWhole(size_t bytes)
        : mBytes{bytes}
    {
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        if (mBytes == 0)
            return Done{};
        Code const code = at.api.cuMemcpyAsync(reinterpret_cast<Address>(at.call.outputs[0]),
            reinterpret_cast<Address>(at.call.inputs[0]), mBytes, at.stream);
        if (code != kSuccess)
            return at.device.noted(code, "cuMemcpyAsync");
        return Done{};
    }

  private:
    size_t mBytes;
};

class ReorderStep final : public CudaPrepared
{
  public:
    ReorderStep(ReorderParams params, void* code)
        : mParams{params},
          mCode{code}
    {
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        ReorderParams params = mParams;
        params.in = at.call.inputs[0];
        params.out = at.call.outputs[0];
        return launchKernel(at, mCode, gridFor(at.device, static_cast<int64_t>(params.count)), params);
    }

  private:
    ReorderParams mParams;
    void* mCode;
};

Result<Done> checkSame(std::span<TensorArg const> inputs, std::span<TensorArg const> outputs)
{
    if (inputs.size() != 1 || outputs.size() != 1 || !inputs[0].present || !outputs[0].present)
        return badArgument("it takes one tensor and gives one");
    TENON_TRY(checkExtents(inputs[0]));
    TENON_TRY(checkExtents(outputs[0]));
    if (inputs[0].dtype != outputs[0].dtype || inputs[0].extents != outputs[0].extents)
        return badArgument("input and output are not the same tensor");
    for (TensorArg const* arg : {&inputs[0], &outputs[0]})
        if (arg->layout != Layout::kLinear && arg->extents.size() < 2)
            return badArgument("layout {} at rank {}", nameOf(arg->layout), arg->extents.size());
    return Done{};
}

class ReorderKernel final : public Kernel
{
  public:
    explicit ReorderKernel(CudaDevice const& device)
        : mDevice{device}
    {
    }
    Result<std::shared_ptr<Prepared const>> prepare(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs, int32_t) const override
    {
        TENON_TRY(checkSame(inputs, outputs));
        TensorArg const& in = inputs[0];
        TensorArg const& out = outputs[0];
        if (in.layout == out.layout)
            return std::shared_ptr<Prepared const>{std::make_shared<CopyWhole>(static_cast<size_t>(in.bytes()))};
        if (volumeOf(in.extents) == 0)
            return std::shared_ptr<Prepared const>{std::make_shared<NothingToDo>()};
        int32_t const bytes = movableBytes(in.dtype);
        if (bytes == 0)
            return badArgument("elements of {} are smaller than a byte", nameOf(in.dtype));
        if (blockOf(in.layout) == 1 && blockOf(out.layout) == 1)
            return turned(in, out, bytes);
        Module const& module = *TENON_TRY(moduleOf(mDevice,
            wholeText(std::string{kReorderOrderText} + kReorderParamsText
                + fmt::format("typedef {} Element;\n", wordOfBytes(bytes)) + kReorderKernel)));
        return std::shared_ptr<Prepared const>{
            std::make_shared<ReorderStep>(paramsOf(in, out), TENON_TRY(module.function("reorder")))};
    }

  private:
    //! Between layouts without blocks it is a transpose.
    Result<std::shared_ptr<Prepared const>> turned(TensorArg const& in, TensorArg const& out, int32_t bytes) const
    {
        std::vector<int64_t> const from = stridesIn(in.layout, in.extents);
        std::vector<int64_t> const to = stridesIn(out.layout, out.extents);
        CopyPart part;
        for (size_t axis = 0; axis < from.size(); ++axis)
            part.axes.push_back({in.extents[axis], from[axis], to[axis]});
        return stridedCopies(mDevice, bytes, {part});
    }
    static ReorderParams paramsOf(TensorArg const& in, TensorArg const& out)
    {
        int64_t const channels = in.extents[1];
        int64_t const pixels = volumeOf({in.extents.begin() + 2, in.extents.end()});
        int64_t const block = blockOf(out.layout);
        int64_t const padded = (channels + block - 1) / block * block;
        int64_t const count = in.extents[0] * padded * pixels;
        bool const isPixelsLast = out.layout == Layout::kLinear;
        ReorderParams params{};
        params.count = static_cast<uint64_t>(count);
        params.images = static_cast<uint64_t>(in.extents[0]);
        params.channels = static_cast<uint64_t>(channels);
        params.padded = static_cast<uint64_t>(padded);
        params.pixels = static_cast<uint64_t>(pixels);
        params.isSmall = isSmall(count) ? 1U : 0U;
        params.pixelsLast = isPixelsLast ? 1 : 0;
        params.from = orderOf(in.layout, channels, pixels);
        params.to = orderOf(out.layout, channels, pixels);
        return params;
    }

    CudaDevice const& mDevice;
};

class TransferKernel final : public Kernel
{
  public:
    Result<std::shared_ptr<Prepared const>> prepare(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs, int32_t) const override
    {
        TENON_TRY(checkSame(inputs, outputs));
        if (inputs[0].layout != outputs[0].layout)
            return badArgument("a transfer changes no layout");
        return std::shared_ptr<Prepared const>{std::make_shared<CopyWhole>(static_cast<size_t>(inputs[0].bytes()))};
    }
};

//! Values that stand in this step, which is there for as long as it may run.
class WriteValues final : public CudaPrepared
{
  public:
    explicit WriteValues(Bytes bytes)
        : mBytes{std::move(bytes)}
    {
    }
    bool isRepeatable() const noexcept override
    {
        return false; // A driver takes ordinary memory of the host while it is called, a graph would read it later.
    }
    Result<Done> launch(CudaCall const& at) const override
    {
        if (mBytes.empty())
            return Done{};
        Code const code = at.api.cuMemcpyAsync(reinterpret_cast<Address>(at.call.outputs[0]),
            reinterpret_cast<Address>(mBytes.data()), mBytes.size(), at.stream);
        if (code != kSuccess)
            return at.device.noted(code, "cuMemcpyAsync");
        return Done{};
    }

  private:
    Bytes mBytes;
};

template <typename T>
Bytes bytesOfValues(std::vector<int64_t> const& values, bool isReal)
{
    Bytes bytes(values.size() * sizeof(T));
    for (size_t i = 0; i < values.size(); ++i)
    {
        T const value = isReal ? static_cast<T>(fromRealBits(values[i])) : static_cast<T>(values[i]);
        std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
    return bytes;
}

class ShapeValuesKernel final : public Kernel
{
  public:
    explicit ShapeValuesKernel(bool isReal)
        : mIsReal{isReal}
    {
    }
    Result<std::shared_ptr<Prepared const>> prepare(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs, int32_t) const override
    {
        if (inputs.size() != 1 || outputs.size() != 1 || !outputs[0].present)
            return badArgument("they take one list and give one tensor");
        TensorArg const& out = outputs[0];
        TENON_TRY(checkExtents(out));
        std::vector<int64_t> const& values = inputs[0].extents;
        if (volumeOf(out.extents) != static_cast<int64_t>(values.size()) || out.layout != Layout::kLinear
            || (mIsReal && out.dtype != DType::kFLOAT))
            return badArgument(
                "{} values for a tensor {}", values.size(), TensorType{out.dtype, shapeOf(out.extents)}.show());
        return std::shared_ptr<Prepared const>{std::make_shared<WriteValues>(TENON_TRY(contents(out.dtype, values)))};
    }

  private:
    Result<Bytes> contents(DType type, std::vector<int64_t> const& values) const
    {
        switch (type)
        {
        case DType::kINT64: return bytesOfValues<int64_t>(values, false);
        case DType::kINT32: return bytesOfValues<int32_t>(values, false);
        case DType::kINT8: return bytesOfValues<int8_t>(values, false);
        case DType::kUINT8:
        case DType::kBOOL: return bytesOfValues<uint8_t>(values, false);
        case DType::kFLOAT: return bytesOfValues<float>(values, mIsReal);
        default: return badArgument("shape values of type {}", nameOf(type));
        }
    }

    bool mIsReal;
};

class DebugTensorKernel final : public Kernel
{
  public:
    Result<std::shared_ptr<Prepared const>> prepare(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs, int32_t) const override
    {
        if (inputs.size() != 1 || !inputs[0].present || !outputs.empty() || inputs[0].layout != Layout::kLinear)
            return badArgument("it takes one row-major tensor and gives none");
        TENON_TRY(checkExtents(inputs[0]));
        return std::shared_ptr<Prepared const>{std::make_shared<NothingToDo>()};
    }
};

Result<std::unique_ptr<Kernel>> loadReorder(KernelSource const&, CudaDevice const& device)
{
    return std::unique_ptr<Kernel>{std::make_unique<ReorderKernel>(device)};
}

Result<std::unique_ptr<Kernel>> loadTransfer(KernelSource const&, CudaDevice const&)
{
    return std::unique_ptr<Kernel>{std::make_unique<TransferKernel>()};
}

Result<std::unique_ptr<Kernel>> loadShapeValues(KernelSource const& source, CudaDevice const&)
{
    return std::unique_ptr<Kernel>{std::make_unique<ShapeValuesKernel>(!source.args.empty())};
}

Result<std::unique_ptr<Kernel>> loadDebugTensor(KernelSource const& source, CudaDevice const&)
{
    for (WeightArg const& weight : source.weights)
        if (weight.data != nullptr && !weight.packing.empty())
            return badArgument("a debug tensor cannot be packed as '{}'", weight.packing);
    return std::unique_ptr<Kernel>{std::make_unique<DebugTensorKernel>()};
}

std::variant<std::vector<Offer>, Refusal> offerDebugTensor(Problem const&)
{
    Offer offer;
    offer.inputs.assign(1, Layout::kLinear);
    return std::vector<Offer>{std::move(offer)};
}

Result<KernelSpec> buildDebugTensor(Problem const&, Offer const&)
{
    return KernelSpec{.kernel = "debug_tensor", .args = {}, .packed = {}};
}

constexpr Candidate kStepCandidates[]{
    {.layer = "DebugTensor", .name = "debug_tensor", .offers = offerDebugTensor, .build = buildDebugTensor}};
constexpr CudaKernelEntry kStepKernels[]{{"reorder", &loadReorder}, {"transfer", &loadTransfer},
    {"shape_values", &loadShapeValues}, {"debug_tensor", &loadDebugTensor}};
} // namespace

} // namespace tenon::cuda

TENON_CUDA_KERNELS(Steps, kStepCandidates, kStepKernels);
