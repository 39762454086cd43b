// Modules: the cache in memory and on disk. A file is named after what it was made of, so that it is never out of date.
#include "backends/cuda/modules.h"

#include "backends/cuda/nvrtc.h"
#include "base/kept_file.h"
#include "base/knobs.h"
#include "base/sha256.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <unordered_map>
#include <unordered_set>

namespace tenon::cuda
{

namespace
{
namespace fs = std::filesystem;

struct Loaded
{
    using Key = std::pair<CudaDevice const*, std::string>; //!< Device and text.

    //! Each step that is prepared asks: a digest of its text took twenty times as long as all else together.
    struct Hash
    {
        size_t operator()(Key const& key) const noexcept
        {
            return std::hash<std::string>{}(key.second) ^ std::hash<CudaDevice const*>{}(key.first);
        }
    };

    std::mutex mutex;
    std::unordered_map<Key, std::unique_ptr<Module>, Hash> all;
    std::unordered_set<Key, Hash> underWay; //!< What a thread makes: others that want the same wait for it.
    std::condition_variable isMade;
    std::map<void*, unsigned> shared; //!< What kernels of these may be launched with at most.
};

Loaded& loaded()
{
    static auto* const instance = new Loaded; // Never destroyed: engines of static objects run late.
    return *instance;
}

//! A module that this thread makes, whether it succeeds or not.
class UnderWay
{
  public:
    explicit UnderWay(Loaded::Key const& key)
        : mKey{key}
    {
    }
    ~UnderWay()
    {
        {
            std::scoped_lock const lock{loaded().mutex};
            loaded().underWay.erase(mKey);
        }
        loaded().isMade.notify_all();
    }
    UnderWay(UnderWay const&) = delete;
    UnderWay& operator=(UnderWay const&) = delete;

  private:
    Loaded::Key const& mKey;
};

std::string digestOf(std::string const& text)
{
    return hexOf(sha256({reinterpret_cast<uint8_t const*>(text.data()), text.size()}));
}

Result<void*> loadImage(CudaDevice const& device, Bytes const& image)
{
    Current const current{device};
    constexpr size_t kLogBytes{4096};
    std::string log(kLogBytes, '\0');
    JitOption names[]{kJitErrorLog, kJitErrorLogBytes};
    void* values[]{log.data(), reinterpret_cast<void*>(kLogBytes)};
    void* module{nullptr};
    Code const code = device.api().cuModuleLoadDataEx(&module, image.data(), 2, names, values);
    if (code == kSuccess)
        return module;
    Error error = device.noted(code, "cuModuleLoadDataEx");
    error.message += fmt::format(" {}", log.c_str());
    return error;
}

//! From disk where it is there and the driver takes it, else compiled.
Result<void*> makeModule(CudaDevice const& device, std::string const& source)
{
    NvrtcApi const& compiler = *TENON_TRY(nvrtc());
    std::string const goal = goalFor(compiler, device.model().major * 10 + device.model().minor);
    std::string const key = digestOf(fmt::format("{} {}.{}\n{}", goal, compiler.major, compiler.minor, source));
    fs::path const folder = binaryFolder();
    fs::path const path = folder / (key + ".cubin");
    std::error_code problem;
    if (!folder.empty() && fs::exists(path, problem))
        if (Bytes const image = readSealedFile(path); !image.empty())
            if (Result<void*> const kept = loadImage(device, image))
                return kept;
    Bytes const image = TENON_TRY(compile(compiler, source, goal));
    void* const module = TENON_TRY(loadImage(device, image));
    if (!folder.empty())
    {
        keepSealedFile(path, image);
        keepFile(folder / (key + ".cu"), {reinterpret_cast<uint8_t const*>(source.data()), source.size()});
    }
    return module;
}
} // namespace

Result<void*> Module::function(char const* name) const
{
    Current const current{mDevice};
    void* function{nullptr};
    if (Code const code = mDevice.api().cuModuleGetFunction(&function, mHandle, name); code != kSuccess)
        return mDevice.noted(code, fmt::format("cuModuleGetFunction of '{}'", name));
    // Libraries' kernels take all shared memory there is. A multiprocessor that goes from one split of its memory to
    // another is idle first: so ours ask for the same one.
    constexpr int kAllShared{100};
    if (Code const code = mDevice.api().cuFuncSetAttribute(function, kFunctionSharedShare, kAllShared);
        code != kSuccess)
        return mDevice.noted(code, "cuFuncSetAttribute for a share of shared memory");
    return function;
}

Result<Done> allowShared(CudaDevice const& device, void* function, unsigned bytes)
{
    constexpr unsigned kPlainShared{48U << 10};
    std::scoped_lock const lock{loaded().mutex};
    unsigned& allowed = loaded().shared.try_emplace(function, kPlainShared).first->second;
    if (bytes <= allowed)
        return Done{};
    Current const current{device};
    Code const code = device.api().cuFuncSetAttribute(function, kFunctionDynamicSharedBytes, static_cast<int>(bytes));
    if (code != kSuccess)
        return device.noted(code, fmt::format("cuFuncSetAttribute for {} bytes of shared memory", bytes));
    allowed = bytes;
    return Done{};
}

Result<Done> launchCode(CudaCall const& at, void* function, Grid const& grid, void** params)
{
    constexpr int32_t kWithOverlap{9};
    constexpr int64_t kMaxBlocks{4}; // Of a multiprocessor: more fill the GPU for longer than a launch takes.
    int64_t const blocks = int64_t{grid.x} * grid.y * grid.z;
    CudaModel const& model = at.device.model();
    if (!at.mayOverlap || model.major < kWithOverlap || blocks > kMaxBlocks * model.multiprocessors)
    {
        Code const code = at.api.cuLaunchKernel(
            function, grid.x, grid.y, grid.z, grid.block, 1, 1, grid.sharedBytes, at.stream, params, nullptr);
        return code == kSuccess ? Result<Done>{Done{}} : at.device.noted(code, "cuLaunchKernel");
    }
    LaunchAttribute overlaps{.id = kLaunchOverlaps, .value = {.number = 1}};
    LaunchConfig const config{.gridX = grid.x,
        .gridY = grid.y,
        .gridZ = grid.z,
        .blockX = grid.block,
        .sharedBytes = grid.sharedBytes,
        .stream = at.stream,
        .attributes = &overlaps,
        .count = 1};
    Code const code = at.api.cuLaunchKernelEx(&config, function, params, nullptr);
    return code == kSuccess ? Result<Done>{Done{}} : at.device.noted(code, "cuLaunchKernelEx");
}

Result<Module const*> moduleOf(CudaDevice const& device, std::string const& source)
{
    Loaded::Key const key{&device, source};
    for (std::unique_lock lock{loaded().mutex};; loaded().isMade.wait(lock))
    {
        if (auto const found = loaded().all.find(key); found != loaded().all.end())
            return found->second.get();
        if (loaded().underWay.insert(key).second)
            break;
    }
    UnderWay const underWay{key};
    void* const handle = TENON_TRY(makeModule(device, source)); // Without the lock: it takes a tenth of a second.
    std::scoped_lock const lock{loaded().mutex};
    return (loaded().all[key] = std::unique_ptr<Module>{new Module{device, handle}}).get();
}

fs::path binaryFolder()
{
    std::string const folder = cacheFolder();
    return folder.empty() ? fs::path{} : fs::path{folder} / "cuda";
}

Grid gridFor(CudaDevice const& device, int64_t items, unsigned block)
{
    int64_t const wanted = (items + block - 1) / block;
    int64_t const most = int64_t{16} * std::max(device.model().multiprocessors, 1);
    return {.x = static_cast<unsigned>(std::clamp<int64_t>(wanted, 1, most)), .block = block};
}

} // namespace tenon::cuda
