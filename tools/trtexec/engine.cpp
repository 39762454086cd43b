// Engine: runtimes, loading.
#include "engine.h"

#include "builder.h"
#include "files.h"
#include "interruption.h"
#include "io_tensors.h"
#include "model.h"
#include "plugin_libraries.h"
#include "statistics.h"
#include "stopwatch.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <stdexcept>

namespace tenon::trtexec
{

using namespace nvinfer1;

namespace
{
//! Gives the engine the file as far as it asks for it.
class FileReader : public IStreamReaderV2
{
  public:
    explicit FileReader(std::string const& path)
        : mFile{path, std::ios::binary}
    {
        if (!mFile)
            throw std::runtime_error("cannot read '" + path + "'");
    }
    int64_t read(void* destination, int64_t bytes, cudaStream_t) noexcept override
    {
        mFile.read(static_cast<char*>(destination), bytes);
        return static_cast<int64_t>(mFile.gcount());
    }
    bool seek(int64_t offset, SeekPosition where) noexcept override
    {
        mFile.clear();
        mFile.seekg(offset,
            where == SeekPosition::kSET       ? std::ios::beg
                : where == SeekPosition::kCUR ? std::ios::cur
                                              : std::ios::end);
        return static_cast<bool>(mFile);
    }

  private:
    std::ifstream mFile;
};

//! The runtime of another of the libraries; it stays open.
IRuntime* runtimeOf(char const* library, Log& log)
{
    void* const handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr)
        throw std::runtime_error(std::string{"--useRuntime: there is no "} + library + ": " + ::dlerror());
    using Make = void*(void*, int32_t);
    auto* const make = reinterpret_cast<Make*>(::dlsym(handle, "createInferRuntime_INTERNAL"));
    if (make == nullptr)
        throw std::runtime_error(std::string{library} + " makes no runtimes");
    return static_cast<IRuntime*>(make(&log, getInferLibVersion()));
}
} // namespace

std::string planVersion(std::string const& path)
{
    constexpr char kTag[]{"ftrt"};
    constexpr size_t kVersionAt{24};
    constexpr size_t kLength{kVersionAt + 4};
    std::vector<char> head(kLength);
    std::ifstream file{path, std::ios::binary};
    if (!file)
        throw std::runtime_error("cannot read '" + path + "'");
    file.read(head.data(), kLength);
    uint32_t layout{1};
    std::memcpy(&layout, &head[4], sizeof(layout));
    if (file.gcount() != static_cast<std::streamsize>(kLength) || std::memcmp(head.data(), kTag, 4) != 0 || layout != 0)
        throw std::runtime_error("'" + path + "': its first bytes tell no version of TensorRT's API");
    auto const at = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(head[kVersionAt + i])); };
    return text("%u.%u.%u.%u", at(0), at(1), at(2), at(3));
}

Engine::Engine(Options const& options, Log& log)
    : mOptions{&options},
      mLog{&log}
{
    BuildOptions const& build = options.build;
    if (build.load.empty())
    {
        mBuilt = buildPlan(options, log);
        return;
    }
    if (build.isReadInPieces)
        return;
    Stopwatch const watch;
    mRead = cli::readFile(build.load);
    log.info(text("Engine loaded in %.5f sec.", watch.seconds()));
    log.info(text("Loaded engine with size: %.5f MiB", static_cast<double>(mRead.size()) / (1 << 20)));
}

void Engine::makeRuntime()
{
    BuildOptions const& build = mOptions->build;
    cli::addStockPlugins(*mLog);
    mRuntime.reset(build.runtime == Runtime::kFull ? createInferRuntime(*mLog)
            : build.runtime == Runtime::kLean      ? runtimeOf("libnvinfer_lean.so.10", *mLog)
                                                   : runtimeOf("libnvinfer_dispatch.so.10", *mLog));
    if (mRuntime == nullptr)
        throw std::runtime_error("no runtime could be made");
    if (!build.temporaryFolder.empty())
        mRuntime->setTemporaryDirectory(build.temporaryFolder.c_str());
    if (build.temporaryFiles)
        mRuntime->setTempfileControlFlags(*build.temporaryFiles);
    if (mOptions->system.dlaCore)
        mRuntime->setDLACore(*mOptions->system.dlaCore);
    if (!build.leanLibrary.empty())
    {
        std::unique_ptr<IRuntime> lean{mRuntime->loadRuntime(build.leanLibrary.c_str())};
        if (lean == nullptr)
            throw std::runtime_error("--leanDLLPath: '" + build.leanLibrary + "' gives no runtime");
        mParent = std::move(mRuntime);
        mRuntime = std::move(lean);
    }
    mRuntime->setEngineHostCodeAllowed(build.isVersionCompatible);
    for (std::string const& path : mOptions->system.dynamicPlugins)
        if (mRuntime->getPluginRegistry().loadLibrary(path.c_str()) == nullptr)
            throw std::runtime_error("--dynamicPlugins: '" + path + "' cannot be loaded as a library of plugins");
}

std::unique_ptr<ICudaEngine> Engine::load()
{
    if (mRuntime == nullptr)
        makeRuntime();
    std::unique_ptr<ICudaEngine> engine;
    if (mOptions->build.isReadInPieces && !mOptions->build.load.empty())
    {
        FileReader reader{mOptions->build.load};
        engine.reset(mRuntime->deserializeCudaEngine(reader));
    }
    else if (mBuilt != nullptr)
        engine.reset(mRuntime->deserializeCudaEngine(mBuilt->data(), mBuilt->size()));
    else
        engine.reset(mRuntime->deserializeCudaEngine(mRead.data(), mRead.size()));
    if (engine == nullptr)
        throw std::runtime_error("The engine could not be loaded: the lines above say why");
    return engine;
}

ICudaEngine& Engine::get()
{
    if (mEngine != nullptr)
        return *mEngine;
    Stopwatch const watch;
    mEngine = load();
    mLog->info(text("Engine deserialized in %.5f sec.", watch.seconds()));
    return *mEngine;
}

void Engine::timeLoading()
{
    constexpr int32_t kTimes{20};
    double first{0.0};
    std::vector<double> times;
    for (int32_t i = 0; i <= kTimes && !cli::gInterrupted; ++i)
    {
        Stopwatch const watch;
        auto const engine = load();
        i == 0 ? void(first = watch.milliseconds()) : times.push_back(watch.milliseconds());
    }
    if (times.empty())
        return;
    cli::Sorted const sorted{times};
    mLog->info(
        text("Total deserialization time = %.5f milliseconds in %zu iterations, average time = %.5f, first time = "
             "%.5f.",
            sorted.sum(), sorted.count(), sorted.mean(), first));
}

void applyBudget(ICudaEngine& engine, StreamingBudget const& budget, Log const& log)
{
    if (!budget.bytes && !budget.percent)
        return;
    int64_t const all = engine.getStreamableWeightsSize();
    int64_t const bytes = budget.percent ? static_cast<int64_t>(static_cast<double>(all) * *budget.percent / 100.0)
        : *budget.bytes == -1            ? engine.getWeightStreamingAutomaticBudget()
                                         : *budget.bytes;
    if (!engine.setWeightStreamingBudgetV2(bytes))
        throw std::runtime_error(text("--weightStreamingBudget: the engine refuses %lld bytes of %lld",
            static_cast<long long>(bytes), static_cast<long long>(all)));
    log.info(text("%lld of %lld bytes of streamable weights stay in memory", static_cast<long long>(bytes),
        static_cast<long long>(all)));
}

} // namespace tenon::trtexec
