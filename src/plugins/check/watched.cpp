// Watched: a plugin under watch. Copies that it makes are watched, too.
#include "plugins/check/watch.h"

namespace tenon::plugins::check
{

namespace
{
class Watched final : public Plugin
{
  public:
    Watched(PluginPtr plugin, Watch& watch, CpuBody body, bool isAttached)
        : mPlugin{std::move(plugin)},
          mWatch{watch},
          mBody{body},
          mGeneration{mPlugin->identity().generation},
          mIsAttached{isAttached}
    {
    }
    ~Watched() override
    {
        terminate();
        mWatch.enter(mIsAttached ? Ask::kDetach : Ask::kDestroy, mGeneration);
        mPlugin.reset();
        mWatch.enter(nullptr);
    }

    Identity const& identity() const noexcept override
    {
        return mPlugin->identity();
    }
    nvinfer1::IPluginV2* v2() noexcept override
    {
        return mPlugin->v2();
    }
    nvinfer1::IPluginV3* v3() noexcept override
    {
        return mPlugin->v3();
    }
    int32_t outputCount() override
    {
        return asked(Ask::kOutputCount, [&] { return mPlugin->outputCount(); });
    }
    void inputRanks(std::span<int32_t const> ranks) override
    {
        mPlugin->inputRanks(ranks);
    }
    Result<std::vector<DType>> outputTypes(std::span<DType const> inputs) override
    {
        return asked(Ask::kTypes, [&] { return mPlugin->outputTypes(inputs); });
    }
    Result<OutputShapes> outputShapes(
        std::span<Shape const> inputs, std::span<Shape const> shapeInputs, DataExtent const& dataExtent) override
    {
        return asked(Ask::kShapes, [&] { return mPlugin->outputShapes(inputs, shapeInputs, dataExtent); });
    }
    bool accepts(int32_t position, Ports const& ports) override
    {
        return asked(Ask::kAccepts, [&] { return mPlugin->accepts(position, ports); });
    }
    int32_t combinationLimit() override
    {
        return asked(Ask::kLimit, [&] { return mPlugin->combinationLimit(); });
    }
    Result<Done> configure(Ports const& ports) override
    {
        return asked(Ask::kConfigure, [&] { return mPlugin->configure(ports); });
    }
    Result<size_t> workspace(Ports const& ports) override
    {
        return asked(Ask::kWorkspace, [&] { return mPlugin->workspace(ports); });
    }
    Result<std::vector<int32_t>> tactics() override
    {
        return asked(Ask::kTactics, [&] { return mPlugin->tactics(); });
    }
    Result<Done> setTactic(int32_t tactic) override
    {
        return asked(Ask::kSetTactic, [&] { return mPlugin->setTactic(tactic); });
    }
    Result<Done> initialize() override
    {
        return asked(Ask::kInitialize, [&] { return mPlugin->initialize(); });
    }
    void terminate() noexcept override
    {
        mWatch.enter(Ask::kTerminate, mGeneration);
        mPlugin->terminate();
        mWatch.enter(nullptr);
    }
    Result<PluginPtr> clone() override
    {
        PluginPtr copy = TENON_TRY(asked(Ask::kClone, [&] { return mPlugin->clone(); }));
        return copied(std::move(copy), false);
    }
    Result<PluginPtr> attach(Resources const& resources) override
    {
        PluginPtr copy = TENON_TRY(asked(Ask::kAttach, [&] { return mPlugin->attach(resources); }));
        return copied(std::move(copy), true);
    }
    Result<Done> reshape(Ports const& ports) override
    {
        mDescs.clear();
        for (Port const& port : ports.all)
            mDescs.push_back(port.desc);
        mInputs = ports.inputs;
        return asked(Ask::kReshape, [&] { return mPlugin->reshape(ports); });
    }
    Result<Done> run(Work const& work) override
    {
        mWatch.countRun();
        return asked(Ask::kRun, [&] {
            return OnGpu::now() < 0 ? runOnHost(mBody, *mPlugin, mDescs, mInputs, work) : runItself(*mPlugin, work);
        });
    }
    Result<Bytes> stored() override
    {
        return asked(Ask::kStore, [&] { return mPlugin->stored(); });
    }
    int32_t aliasedInput(int32_t output) override
    {
        return asked(Ask::kAlias, [&] { return mPlugin->aliasedInput(output); });
    }
    int32_t describedAlias(int32_t output) override
    {
        return mPlugin->describedAlias(output);
    }
    std::string timingCacheId() override
    {
        mWatch.enter("getTimingCacheID");
        return mPlugin->timingCacheId();
    }
    std::string metadata() override
    {
        mWatch.enter("getMetadataString");
        return mPlugin->metadata();
    }

  private:
    PluginPtr copied(PluginPtr copy, bool isAttached) const
    {
        auto made = std::make_unique<Watched>(std::move(copy), mWatch, mBody, isAttached);
        made->mDescs = mDescs; // Copies of what is ready to run are so, too.
        made->mInputs = mInputs;
        return made;
    }

    template <typename Call>
    std::invoke_result_t<Call&> asked(Ask ask, Call&& call)
    {
        mWatch.enter(ask, mGeneration);
        auto answer = call();
        mWatch.enter(nullptr);
        if constexpr (requires { answer.error(); })
            if (!answer)
                mWatch.failed(ask, mGeneration, answer.error());
        return answer;
    }

    PluginPtr mPlugin;
    Watch& mWatch;
    CpuBody mBody;
    Generation mGeneration;
    bool mIsAttached;
    std::vector<nvinfer1::PluginTensorDesc> mDescs; //!< Of the latest shapes, inputs first.
    int32_t mInputs{0};
};
} // namespace

PluginPtr watched(PluginPtr plugin, Watch& watch, CpuBody body)
{
    return std::make_unique<Watched>(std::move(plugin), watch, body, false);
}

} // namespace tenon::plugins::check
