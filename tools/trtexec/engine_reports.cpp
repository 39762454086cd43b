// Engine reports: the inspector's texts, and shapes by profile.
#include "engine_reports.h"

#include "files.h"
#include "io_tensors.h"

#include <cstring>
#include <memory>
#include <stdexcept>

namespace tenon::trtexec
{

using namespace nvinfer1;

void reportLayers(
    ICudaEngine const& engine, IExecutionContext const* context, ReportOptions const& report, Log const& log)
{
    if (!report.dumpsLayers && report.layers.empty())
        return;
    std::unique_ptr<IEngineInspector> const inspector{engine.createEngineInspector()};
    if (inspector == nullptr)
        throw std::runtime_error("The layers of the engine cannot be listed");
    if (context != nullptr)
        inspector->setExecutionContext(context);
    if (report.dumpsLayers)
        log.info(
            std::string{"Layer Information:\n"} + inspector->getEngineInformation(LayerInformationFormat::kONELINE));
    if (report.layers.empty())
        return;
    char const* const json = inspector->getEngineInformation(LayerInformationFormat::kJSON);
    cli::writeFile(report.layers, json, std::strlen(json));
}

void reportProfiles(ICudaEngine const& engine, ReportOptions const& report, Log const& log)
{
    if (!report.dumpsOptimizationProfiles)
        return;
    log.info("Optimization Profile Information:");
    for (int32_t i = 0; i < engine.getNbOptimizationProfiles(); ++i)
        for (std::string const& name : cli::namesOf(engine, TensorIOMode::kINPUT))
        {
            auto const shape = [&](OptProfileSelector which) {
                return cli::show(engine.getProfileShape(name.c_str(), i, which));
            };
            log.info(text("Optimization Profile %d: input %s: min=%s, opt=%s, max=%s", i, name.c_str(),
                shape(OptProfileSelector::kMIN).c_str(), shape(OptProfileSelector::kOPT).c_str(),
                shape(OptProfileSelector::kMAX).c_str()));
        }
}

} // namespace tenon::trtexec
