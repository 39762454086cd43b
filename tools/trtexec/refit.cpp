// Refit: listing, replacing and timing of weights.
#include "engine.h"
#include "statistics.h"
#include "stopwatch.h"
#include "texts.h"

#include "NvOnnxParser.h"

#include <algorithm>
#include <stdexcept>
#include <thread>

namespace tenon::trtexec
{

using namespace nvinfer1;

namespace
{
std::unique_ptr<IRefitter> refitterFor(ICudaEngine& engine, Log& log)
{
    std::unique_ptr<IRefitter> refitter{createInferRefitter(engine, log)};
    if (refitter == nullptr)
        throw std::runtime_error("The engine cannot be refitted: the lines above say why");
    return refitter;
}
} // namespace

void dumpRefittable(ICudaEngine& engine, Log& log)
{
    auto const refitter = refitterFor(engine, log);
    int32_t const count = refitter->getAll(0, nullptr, nullptr);
    std::vector<char const*> layers(static_cast<size_t>(count));
    std::vector<WeightsRole> roles(layers.size());
    refitter->getAll(count, layers.data(), roles.data());
    constexpr char const* kRoles[]{"kernel", "bias", "shift", "scale", "constant", "any"};
    for (size_t i = 0; i < layers.size(); ++i)
        log.info("Refittable: layer '" + std::string{layers[i]} + "', "
            + kRoles[std::min<size_t>(static_cast<size_t>(roles[i]), std::size(kRoles) - 1)]);
    int32_t const named = refitter->getAllWeights(0, nullptr);
    std::vector<char const*> names(static_cast<size_t>(named));
    refitter->getAllWeights(named, names.data());
    for (char const* name : names)
        log.info("Refittable: weights '" + std::string{name} + "'");
    log.info(text("%d weights by layer and %d by name can be replaced", count, named));
}

void refit(ICudaEngine& engine, std::string const& model, bool isThreaded, int32_t times, Log& log)
{
    if (model.empty())
        throw std::runtime_error("There is no model to take weights from: give --onnx or --refitFromOnnx");
    auto const refitter = refitterFor(engine, log);
    if (isThreaded)
        refitter->setMaxThreads(static_cast<int32_t>(std::max(1U, std::thread::hardware_concurrency())));
    std::vector<double> milliseconds;
    for (int32_t i = 0; i < times; ++i)
    {
        Stopwatch const watch;
        std::unique_ptr<nvonnxparser::IParserRefitter> const parser{nvonnxparser::createParserRefitter(*refitter, log)};
        if (parser == nullptr || !parser->refitFromFile(model.c_str()) || !refitter->refitCudaEngine())
            throw std::runtime_error("Engine refit failed: the lines above say why");
        milliseconds.push_back(watch.milliseconds());
    }
    cli::Sorted const sorted{milliseconds};
    log.info(text("Engine refitted from %s %zu times: min = %.5f ms, mean = %.5f ms", cli::shownName(model).c_str(),
        sorted.count(), sorted.least(), sorted.mean()));
}

} // namespace tenon::trtexec
