// C functions: loading, inspecting and verifying plans.
#include "api/build/plan_again.h"
#include "api/c/texts.h"
#include "api/network/network.h"
#include "api/network/network_json.h"
#include "api/run/runtime.h"
#include "inspect/plan_json.h"
#include "inspect/plan_onnx.h"
#include "inspect/plugin_list.h"
#include "inspect/verification.h"
#include "passes/rule.h"
#include "tenon/inspect.h"
#include "tenon/load.h"
#include "tenon/verify.h"

#include <nlohmann/json.hpp>

#include <cmath>

namespace tenon::api
{

namespace
{
using Json = nlohmann::ordered_json;

inspect::RuleSentences const& ruleSentences()
{
    static inspect::RuleSentences const sentences = [] {
        inspect::RuleSentences all;
        for (std::span<PassRow const> const rows : {portableRows(), targetRows()})
            for (PassRow const& row : rows)
                for (Rule const& rule : row.rules)
                    all[rule.name] = rule.sentence;
        return all;
    }();
    return sentences;
}

Result<std::string> inspectBlob(ByteView blob, std::shared_ptr<void const> owner)
{
    Plan const plan = TENON_TRY(readPlan(blob, std::move(owner)));
    return inspect::planJson(plan, static_cast<int64_t>(blob.size()), ruleSentences());
}

Result<std::string> convertBlob(
    ByteView blob, std::shared_ptr<void const> owner, int32_t hasWeights, size_t* const size)
{
    Plan const plan = TENON_TRY(readPlan(blob, std::move(owner)));
    BackendEntry const* const packer = packerOf(plan);
    std::string model =
        TENON_TRY(inspect::planOnnx(plan, {hasWeights != 0, packer == nullptr ? nullptr : packer->unpack}));
    if (size != nullptr)
        *size = model.size();
    return model;
}

//! JSON has no infinities.
Json numberOf(double value)
{
    return std::isfinite(value) ? Json(value) : Json(std::to_string(value));
}

std::string reportJson(inspect::VerifyReport const& report)
{
    Json json;
    json["ok"] = !report.first.has_value();
    json["first_divergence"] = nullptr;
    if (report.first)
        json["first_divergence"] = {{"step", report.first->step}, {"layer", report.first->layer},
            {"output", report.first->output}, {"index", report.first->index}, {"got", numberOf(report.first->got)},
            {"want", numberOf(report.first->want)}};
    json["steps"] = Json::array();
    for (inspect::VerifiedStep const& step : report.steps)
        json["steps"].push_back(
            {{"name", step.name}, {"layer", step.layer}, {"compared", step.why.empty()}, {"why", step.why},
                {"ok", step.ok}, {"max_error", numberOf(step.maxError)}, {"worst", numberOf(step.worst)}});
    json["indices_out_of_range"] = Json::array();
    for (inspect::ValueOutOfRange const& each : report.outOfRange)
        json["indices_out_of_range"].push_back(
            {{"step", each.step}, {"layer", each.layer}, {"tensor", each.tensor}, {"index", each.position},
                {"value", each.value}, {"extent", each.extent}, {"what", each.what}, {"why", each.why}});
    return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

Result<std::vector<inspect::VerifyInput>> givenInputs(TenonInput const* inputs, int32_t count)
{
    std::vector<inspect::VerifyInput> given;
    for (int32_t i = 0; i < count; ++i)
    {
        if (inputs[i].name == nullptr || inputs[i].rank < 0 || inputs[i].rank > Dims::MAX_DIMS)
            return badArgument("input {} has no name or a rank of {}", i, inputs[i].rank);
        inspect::VerifyInput input{inputs[i].name, inputs[i].data, {}};
        if (inputs[i].shape != nullptr)
            input.shape = dimsOf(std::vector<int64_t>(inputs[i].shape, inputs[i].shape + inputs[i].rank));
        given.push_back(std::move(input));
    }
    return given;
}
} // namespace

} // namespace tenon::api

using tenon::badArgument;
using tenon::ByteView;
using tenon::PlanFile;
using tenon::readPlanFile;
using tenon::Result;
using namespace tenon;
using namespace tenon::api;

TenonText tenonInspectPlan(void const* blob, size_t size, TenonText* problem) noexcept
{
    return textOrProblem(problem, [&]() -> Result<std::string> {
        return inspectBlob({static_cast<uint8_t const*>(blob), size}, nullptr);
    });
}

TenonText tenonInspectFile(char const* path, TenonText* problem) noexcept
{
    return textOrProblem(problem, [&]() -> Result<std::string> {
        if (path == nullptr)
            return badArgument("the path is null");
        PlanFile file = TENON_TRY(readPlanFile(path));
        return inspectBlob(file.bytes, std::move(file.owner));
    });
}

TenonText tenonInspectEngine(void const* engine, TenonText* problem) noexcept
{
    return textOrProblem(problem, [&]() -> Result<std::string> {
        CudaEngine const& own = CudaEngine::of(*static_cast<nvinfer1::ICudaEngine const*>(engine));
        return inspect::planJson(own.engine().plan(), static_cast<int64_t>(own.planBytes()), ruleSentences());
    });
}

TenonText tenonInspectNetwork(void const* network, TenonText* problem) noexcept
{
    return textOrProblem(problem, [&]() -> Result<std::string> {
        return networkJson(Network::of(*static_cast<nvinfer1::INetworkDefinition const*>(network)));
    });
}

TenonText tenonConvertPlan(
    void const* blob, size_t blobSize, int32_t hasWeights, size_t* size, TenonText* problem) noexcept
{
    return textOrProblem(problem, [&]() -> Result<std::string> {
        return convertBlob({static_cast<uint8_t const*>(blob), blobSize}, nullptr, hasWeights, size);
    });
}

TenonText tenonConvertFile(char const* path, int32_t hasWeights, size_t* size, TenonText* problem) noexcept
{
    return textOrProblem(problem, [&]() -> Result<std::string> {
        if (path == nullptr)
            return badArgument("the path is null");
        PlanFile file = TENON_TRY(readPlanFile(path));
        return convertBlob(file.bytes, std::move(file.owner), hasWeights, size);
    });
}

TenonText tenonInspectPlugins(TenonText* problem) noexcept
{
    return textOrProblem(
        problem, []() -> Result<std::string> { return inspect::pluginsJson(globalRegistry().plugins()); });
}

void* tenonDeserializeFile(void* runtime, char const* path) noexcept
{
    return Runtime::of(*static_cast<nvinfer1::IRuntime*>(runtime)).deserializeFile(path);
}

void* tenonDeserializeShared(
    void* runtime, void const* blob, size_t size, void (*release)(void* user), void* user) noexcept
{
    try
    {
        std::shared_ptr<void const> owner{blob, [release, user](void const*) {
                                              if (release != nullptr)
                                                  release(user);
                                          }};
        return Runtime::of(*static_cast<nvinfer1::IRuntime*>(runtime))
            .deserializeShared({static_cast<uint8_t const*>(blob), size}, std::move(owner));
    }
    catch (std::exception const&)
    {
        return nullptr; // Not even memory for the owner, which has been released.
    }
}

TenonText tenonVerify(void const* engine, TenonInput const* inputs, int32_t count, TenonVerifyOptions const* options,
    TenonText* problem) noexcept
{
    return textOrProblem(problem, [&]() -> Result<std::string> {
        inspect::VerifyOptions wanted;
        if (options != nullptr)
            wanted = {options->absolute, options->relative, options->seed, options->firstsOnly != 0, {}};
        if (options != nullptr && options->progress != nullptr)
            wanted.progress = [options](int32_t done, int32_t steps) {
                return options->progress(options->user, done, steps) != 0;
            };
        std::vector<inspect::VerifyInput> const given = TENON_TRY(givenInputs(inputs, count));
        CudaEngine const& own = CudaEngine::of(*static_cast<nvinfer1::ICudaEngine const*>(engine));
        return reportJson(TENON_TRY(inspect::verifyEngine(own.sharedEngine(), *own.device().backend, given, wanted)));
    });
}
