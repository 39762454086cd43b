// EngineInspector: answers by the verbosity of the build.
#include "api/engine_inspector.h"

#include "api/boundary.h"
#include "api/inspection.h"

namespace tenon::api
{

using namespace nvinfer1;

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
    mContext = context == nullptr ? nullptr : ExecutionContext::of(*context).shared_from_this();
    return true;
}

IExecutionContext const* EngineInspector::getExecutionContext() const noexcept
{
    return mContext == nullptr ? nullptr : &mContext->front();
}

char const* EngineInspector::getLayerInformation(int32_t layerIndex, LayerInformationFormat format) const noexcept
{
    using Text = char const*;
    return fenced(mReporting.log(), "IEngineInspector::getLayerInformation", Text{nullptr}, [&]() -> Result<Text> {
        Engine const& engine = mEngine->engine();
        if (layerIndex < 0 || layerIndex >= engine.layerCount())
            return badArgument("there is no layer {}: the engine has {}", layerIndex, engine.layerCount());
        mText.clear();
        ProfilingVerbosity const verbosity = mEngine->getProfilingVerbosity();
        if (verbosity == ProfilingVerbosity::kNONE)
            return Text{mText.c_str()};
        InspectedProgram const inspected{engine.plan(), engine.program()};
        bool const detailed = verbosity == ProfilingVerbosity::kDETAILED;
        auto const step = static_cast<size_t>(layerIndex);
        mText = format == LayerInformationFormat::kJSON ? inspected.layerJson(step, detailed)
                                                        : inspected.layerText(step, detailed);
        return Text{mText.c_str()};
    });
}

char const* EngineInspector::getEngineInformation(LayerInformationFormat format) const noexcept
{
    using Text = char const*;
    return fenced(mReporting.log(), "IEngineInspector::getEngineInformation", Text{nullptr}, [&]() -> Result<Text> {
        bool const isJson = format == LayerInformationFormat::kJSON;
        std::string text = isJson ? "{\"Layers\": [" : "Layers:\n";
        for (int32_t i = 0; i < mEngine->engine().layerCount(); ++i)
        {
            char const* const layer = getLayerInformation(i, format);
            if (layer == nullptr || *layer == '\0')
                continue;
            if (isJson)
                text += (text.back() == '[' ? "\n" : ",\n") + std::string{layer};
            else
                text += std::string{layer} + "\n";
        }
        if (isJson)
        {
            text += "\n],\n\"Bindings\": [";
            for (int32_t i = 0; i < mEngine->engine().ioCount(); ++i)
                text += (i == 0 ? "" : ", ") + jsonString(mEngine->engine().io(i).name);
            text += "]}\n";
        }
        mText = std::move(text);
        return Text{mText.c_str()};
    });
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
