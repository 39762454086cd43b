// EngineInspector: answers by the verbosity of the build.
#include "api/run/engine_inspector.h"

#include "api/boundary.h"
#include "inspect/plan_json.h"

namespace tenon::api
{

using namespace nvinfer1;

namespace
{
Result<Done> checkFormat(LayerInformationFormat format)
{
    if (format != LayerInformationFormat::kJSON && format != LayerInformationFormat::kONELINE)
        return badArgument("format {} does not exist", static_cast<int32_t>(format));
    return Done{};
}
} // namespace

EngineInspector::EngineInspector(std::shared_ptr<CudaEngine const> engine)
    : mEngine{std::move(engine)},
      mReporting{mEngine->reporting()},
      mInformation{mEngine->engine().plan(), mEngine->engine().program()},
      mFixed{std::make_shared<std::vector<Span> const>(inspect::fixedRegisters(mEngine->engine().program()))}
{
}

IEngineInspector* EngineInspector::getPImpl() noexcept
{
    return &front();
}

bool EngineInspector::setExecutionContext(IExecutionContext const* context) noexcept
{
    return fencedDone(mReporting.log(), "IEngineInspector::setExecutionContext", [&]() -> Result<Done> {
        std::shared_ptr<ExecutionContext const> given;
        if (context != nullptr)
            given = ExecutionContext::of(*context).shared_from_this();
        if (given != nullptr && &given->context().engine() != &mEngine->engine())
            return badArgument("context '{}' is one of another engine", given->getName());
        std::scoped_lock const lock{mMutex};
        mContext.swap(given); // The one before goes after the lock.
        return Done{};
    });
}

std::shared_ptr<ExecutionContext const> EngineInspector::context() const
{
    std::scoped_lock const lock{mMutex};
    return mContext;
}

char const* EngineInspector::keep(std::string text) const
{
    std::scoped_lock const lock{mMutex};
    std::string& own = mTexts[std::this_thread::get_id()];
    own = std::move(text);
    return own.c_str();
}

IExecutionContext const* EngineInspector::getExecutionContext() const noexcept
{
    std::shared_ptr<ExecutionContext const> const own = context();
    return own == nullptr ? nullptr : &own->front();
}

EngineInspector::Registers EngineInspector::registersFor(int32_t profile) const
{
    std::shared_ptr<ExecutionContext const> const own = context();
    if (own != nullptr && own->context().profile() == profile)
        return own->context().registers();
    return mFixed;
}

std::string EngineInspector::layer(
    int32_t index, LayerInformationFormat format, std::span<Span const> registers, std::string const& tag) const
{
    auto const step = static_cast<size_t>(index);
    return format == LayerInformationFormat::kJSON ? mInformation.json(step, registers, tag)
                                                   : mInformation.text(step, registers, tag);
}

char const* EngineInspector::getLayerInformation(int32_t layerIndex, LayerInformationFormat format) const noexcept
{
    using Text = char const*;
    return fenced(mReporting.log(), "IEngineInspector::getLayerInformation", Text{nullptr}, [&]() -> Result<Text> {
        Engine const& engine = mEngine->engine();
        TENON_TRY(checkFormat(format));
        if (layerIndex < 0 || layerIndex >= engine.layerCount())
            return badArgument("there is no layer {}: the engine has {}", layerIndex, engine.layerCount());
        std::shared_ptr<ExecutionContext const> const own = context();
        Registers const registers = registersFor(own == nullptr ? 0 : own->context().profile());
        return Text{keep(layer(layerIndex, format, *registers, {}))};
    });
}

char const* EngineInspector::getEngineInformation(LayerInformationFormat format) const noexcept
{
    using Text = char const*;
    return fenced(mReporting.log(), "IEngineInspector::getEngineInformation", Text{nullptr}, [&]() -> Result<Text> {
        TENON_TRY(checkFormat(format));
        Engine const& engine = mEngine->engine();
        bool const isJson = format == LayerInformationFormat::kJSON;
        std::string text;
        for (int32_t profile = 0; profile < engine.profileCount(); ++profile)
        {
            std::string const tag = engine.profileCount() > 1 ? fmt::format(" [profile {}]", profile) : std::string{};
            Registers const registers = registersFor(profile);
            for (int32_t i = 0; i < engine.layerCount(); ++i)
                if (std::string const one = layer(i, format, *registers, tag); !one.empty())
                    text += (text.empty() ? "" : isJson ? ",\n" : "\n") + one;
        }
        return Text{
            keep(isJson ? "{\"Layers\": [" + text + "],\n\"Bindings\": [" + bindings() + "]}" : std::move(text))};
    });
}

std::string EngineInspector::bindings() const
{
    std::string text;
    for (int32_t i = 0; i < mEngine->engine().ioCount(); ++i)
        text += (text.empty() ? "" : ", ") + inspect::jsonString(mEngine->engine().io(i).name);
    return text;
}

void EngineInspector::setErrorRecorder(IErrorRecorder* recorder) noexcept
{
    mReporting.setRecorder(recorder);
}

IErrorRecorder* EngineInspector::getErrorRecorder() const noexcept
{
    return mReporting.recorder();
}

} // namespace tenon::api
