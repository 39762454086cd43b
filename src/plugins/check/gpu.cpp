// A plugin's own enqueue() on a GPU, beside its body for the CPU.
#include "device/cuda/cuda_device.h"
#include "plugins/check/groups.h"

#include <algorithm>
#include <mutex>

namespace tenon::plugins::check
{

namespace
{
//! Memory of the GPU's with what stands in memory of the host.
class GpuBlock
{
  public:
    static Result<GpuBlock> make(CudaDevice& gpu, Bytes const& contents, void* stream)
    {
        GpuBlock block{gpu, gpu.allocate(std::max<size_t>(contents.size(), 1))};
        if (block.mData == nullptr)
            return errorOf(ErrorCode::kFAILED_ALLOCATION, "the GPU has no {} bytes", contents.size());
        if (!contents.empty())
            TENON_TRY(gpu.copyFromHost(block.mData, contents.data(), contents.size(), stream));
        return block;
    }
    GpuBlock(GpuBlock&& other) noexcept
        : mGpu{other.mGpu},
          mData{std::exchange(other.mData, nullptr)}
    {
    }
    GpuBlock& operator=(GpuBlock&&) = delete;
    ~GpuBlock()
    {
        if (mData != nullptr)
            mGpu.release(mData);
    }
    void* data() const noexcept
    {
        return mData;
    }

  private:
    GpuBlock(CudaDevice& gpu, void* data) noexcept
        : mGpu{gpu},
          mData{data}
    {
    }
    CudaDevice& mGpu;
    void* mData;
};

class GpuStream
{
  public:
    explicit GpuStream(CudaDevice& gpu, void* stream) noexcept
        : mGpu{gpu},
          mStream{stream}
    {
    }
    GpuStream(GpuStream const&) = delete;
    GpuStream& operator=(GpuStream const&) = delete;
    ~GpuStream()
    {
        mGpu.destroyStream(mStream);
    }
    void* get() const noexcept
    {
        return mStream;
    }

  private:
    CudaDevice& mGpu;
    void* mStream;
};

//! What a context on the GPU lends.
class GpuAllocator final : public nvinfer1::IGpuAllocator
{
  public:
    explicit GpuAllocator(CudaDevice& gpu)
        : mGpu{gpu}
    {
    }
    void* allocate(uint64_t size, uint64_t, nvinfer1::AllocatorFlags) noexcept override
    {
        return size == 0 ? nullptr : mGpu.allocate(size);
    }
    bool deallocate(void* memory) noexcept override
    {
        if (memory != nullptr)
            mGpu.release(memory);
        return true;
    }

  private:
    CudaDevice& mGpu;
};

//! All outputs and the workspace hold ones before: what is not written is no number that anybody computes.
Result<Outcome> runOnGpu(CudaDevice& gpu, Bench const& bench, Plugin& plugin)
{
    GpuStream const stream{gpu, TENON_TRY(gpu.createStream())};
    auto const inputs = bench.inputBytes().size();
    std::vector<GpuBlock> memory;
    std::vector<void const*> in;
    std::vector<void*> out;
    for (size_t i = 0; i < bench.ports().all.size(); ++i)
    {
        Bytes const contents = i < inputs ? bench.inputBytes()[i] : Bytes(bench.bytesOf(i), uint8_t{0xFF});
        memory.push_back(TENON_TRY(GpuBlock::make(gpu, contents, stream.get())));
        if (i < inputs)
            in.push_back(memory.back().data());
        else
        {
            int32_t const from = bench.takenOver()[i - inputs];
            out.push_back(memory[from < 0 ? i : static_cast<size_t>(from)].data());
        }
    }
    in.push_back(nullptr); // So that there is an address of addresses even without inputs.
    GpuBlock const workspace =
        TENON_TRY(GpuBlock::make(gpu, Bytes(bench.workspaceBytes(), uint8_t{0xFF}), stream.get()));
    TENON_TRY(plugin.reshape(bench.ports()));
    {
        OnGpu const there{gpu.index()};
        TENON_TRY(plugin.run({in.data(), out.data(), workspace.data(), static_cast<cudaStream_t>(stream.get())}));
    }
    std::vector<Bytes> results;
    std::vector<void const*> addresses;
    for (size_t i = 0; i < out.size(); ++i)
    {
        results.emplace_back(bench.bytesOf(inputs + i));
        TENON_TRY(gpu.copyToHost(results.back().data(), out[i], results.back().size(), stream.get()));
    }
    for (Bytes const& each : results)
        addresses.push_back(each.data());
    return bench.outcomeIn(addresses);
}

//! At one point: what both compute.
Result<Done> compare(Host& host, CudaDevice& gpu, Bench& bench, Plugin& onHost, Plugin& onGpu)
{
    Outcome const wanted = TENON_TRY(bench.run(onHost));
    Result<Outcome> const got = runOnGpu(gpu, bench, onGpu);
    std::string const where = "with " + portsText(bench.ports());
    if (!got)
    {
        if (!host.watch().hasTold(got.error()))
            host.find(flaw::kGpuBody, Ask::kRun, fmt::format("on the GPU, {}: {}", where, got.error().message));
        return Done{};
    }
    std::vector<RealTensor> real;
    for (size_t i = 0; i < wanted.outputs.size(); ++i)
    {
        real.push_back(widened(wanted.outputs[i]));
        if (got->outputs[i].extents != wanted.outputs[i].extents)
        {
            host.find(flaw::kGpuBody, Ask::kRun,
                fmt::format("output {} has {} elements on the GPU, and {} by the body for the CPU, {}", i,
                    volumeOf(got->outputs[i].extents), volumeOf(wanted.outputs[i].extents), where));
            return Done{};
        }
    }
    if (std::string const text = differenceBeyond(*got, real, host.options()); !text.empty())
        host.find(flaw::kGpuBody, Ask::kRun, fmt::format("on the GPU {} as by the body for the CPU, {}", text, where));
    return Done{};
}
} // namespace

Result<Done> checkGpu(Host& host)
{
    if (!host.options().gpu)
        return Done{};
    Result<CudaDevice*> const chosen = host.options().gpu();
    if (chosen && *chosen == nullptr)
        return Done{};
    Result<Done> const usable = chosen ? (*chosen)->alive() : Result<Done>{chosen.error()};
    if (!usable)
    {
        host.watch().note("enqueue() was not called on the GPU: " + usable.error().message);
        return Done{};
    }
    CudaDevice& gpu = **chosen;
    cuda::Current const current{gpu}; // Plugins make what they need of the GPU.
    GpuAllocator allocator{gpu};
    PluginPtr const plugin = TENON_TRY(host.make());
    if (host.body() == nullptr)
    {
        host.watch().note("enqueue() was not called on the GPU: the plugin has no body for the CPU to compare it with");
        return Done{};
    }
    Form const form = TENON_TRY(host.form(*plugin));
    std::vector<Combination> const combinations = TENON_TRY(host.combinations(*plugin, form));
    for (size_t i = 0; i < combinations.size() && !host.watch().isStopped(); ++i)
    {
        Ready const ready = TENON_TRY(host.ready(form, combinations[i]));
        PluginPtr const onHost = TENON_TRY(host.attached(*ready.plugin, ready.tactic()));
        PluginPtr const onGpu = TENON_TRY(ready.plugin->attach({&allocator, nullptr, {}}));
        TENON_TRY(onGpu->setTactic(ready.tactic()));
        for (Point const point : kPoints)
        {
            if (point != Point::kOpt && (i > 0 || !form.isDynamic()))
                break;
            Bench bench = TENON_TRY(Bench::make(host, form, ready, point, static_cast<uint32_t>(i)));
            TENON_TRY(compare(host, gpu, bench, *onHost, *onGpu));
        }
    }
    return Done{};
}

} // namespace tenon::plugins::check
