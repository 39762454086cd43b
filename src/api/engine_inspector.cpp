// EngineInspector: answers by the verbosity of the build.
#include "api/engine_inspector.h"

#include "api/boundary.h"
#include "api/inspection.h"

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
      mReporting{mEngine->reporting()}
{
}

IEngineInspector* EngineInspector::getPImpl() noexcept
{
    return &front();
}

bool EngineInspector::setExecutionContext(IExecutionContext const* context) noexcept
{
    return fencedDone(mReporting.log(), "IEngineInspector::setExecutionContext", [&]() -> Result<Done> {
        auto given = context == nullptr ? nullptr : ExecutionContext::of(*context).shared_from_this();
        if (given != nullptr && &given->context().engine() != &mEngine->engine())
            return badArgument("context '{}' is one of another engine", given->context().name());
        mContext = std::move(given);
        return Done{};
    });
}

IExecutionContext const* EngineInspector::getExecutionContext() const noexcept
{
    return mContext == nullptr ? nullptr : &mContext->front();
}

ProgramExtents EngineInspector::extentsFor(int32_t profile) const
{
    if (mContext != nullptr && mContext->context().profile() == profile)
        return mContext->context().programExtents();
    return fixedExtents(mEngine->engine().program());
}

std::string EngineInspector::layer(
    int32_t index, LayerInformationFormat format, ProgramExtents const& extents, std::string const& tag) const
{
    LayerInformation const information{mEngine->engine().plan(), mEngine->engine().program()};
    auto const step = static_cast<size_t>(index);
    return format == LayerInformationFormat::kJSON ? information.json(step, extents, tag)
                                                   : information.text(step, extents, tag);
}

char const* EngineInspector::getLayerInformation(int32_t layerIndex, LayerInformationFormat format) const noexcept
{
    using Text = char const*;
    return fenced(mReporting.log(), "IEngineInspector::getLayerInformation", Text{nullptr}, [&]() -> Result<Text> {
        Engine const& engine = mEngine->engine();
        TENON_TRY(checkFormat(format));
        if (layerIndex < 0 || layerIndex >= engine.layerCount())
            return badArgument("there is no layer {}: the engine has {}", layerIndex, engine.layerCount());
        mText = layer(layerIndex, format, extentsFor(mContext == nullptr ? 0 : mContext->context().profile()), {});
        return Text{mText.c_str()};
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
            ProgramExtents const extents = extentsFor(profile);
            for (int32_t i = 0; i < engine.layerCount(); ++i)
                if (std::string const one = layer(i, format, extents, tag); !one.empty())
                    text += (text.empty() ? "" : isJson ? ",\n" : "\n") + one;
        }
        mText = isJson ? "{\"Layers\": [" + text + "],\n\"Bindings\": [" + bindings() + "]}" : std::move(text);
        return Text{mText.c_str()};
    });
}

std::string EngineInspector::bindings() const
{
    std::string text;
    for (int32_t i = 0; i < mEngine->engine().ioCount(); ++i)
        text += (text.empty() ? "" : ", ") + jsonString(mEngine->engine().io(i).name);
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
