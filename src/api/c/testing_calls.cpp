// C functions: the checking host for plugins.
#include "api/c/texts.h"
#include "backend/device_choice.h"
#include "device/cuda/cuda_device.h"
#include "plugins/check/check.h"
#include "plugins/failure.h"
#include "tenon/testing.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace tenon::api
{

namespace
{
using Json = nlohmann::ordered_json;
namespace check = plugins::check;

Result<check::Subject> subjectFrom(TenonCheckSubject const& given)
{
    auto* const creator = static_cast<nvinfer1::IPluginCreatorInterface*>(given.creator);
    std::optional<std::string> nameSpace;
    if (given.nameSpace != nullptr)
        nameSpace = given.nameSpace;
    check::Subject subject;
    if (given.pluginV2 != nullptr)
        subject = check::subjectOf(*static_cast<nvinfer1::IPluginV2*>(given.pluginV2));
    else if (given.pluginV3 != nullptr)
        subject = check::subjectOf(*static_cast<nvinfer1::IPluginV3*>(given.pluginV3));
    else if (creator != nullptr)
        return check::subjectOf(*creator, nameSpace, static_cast<nvinfer1::PluginFieldCollection const*>(given.fields));
    else
        return badArgument("neither a plugin nor a creator was given");
    subject.creator = creator;
    subject.nameSpace = nameSpace;
    return subject;
}

nvinfer1::Dims64 dimsOf(int32_t rank, int64_t const* extents)
{
    nvinfer1::Dims64 dims{};
    dims.nbDims = rank;
    std::copy_n(extents, rank, dims.d);
    return dims;
}

Result<check::InputSpec> inputFrom(TenonCheckInput const& given)
{
    check::InputSpec spec;
    spec.isValues = given.isValues != 0;
    if (given.rank < 0 || (given.rank > 0 && given.opt == nullptr)
        || (!spec.isValues && given.rank > nvinfer1::Dims::MAX_DIMS))
        return badArgument("an input has rank {}", given.rank);
    if (spec.isValues)
        spec.values.assign(given.opt, given.opt + given.rank);
    else
    {
        spec.opt = dimsOf(given.rank, given.opt);
        spec.min = given.min == nullptr ? spec.opt : dimsOf(given.rank, given.min);
        spec.max = given.max == nullptr ? spec.opt : dimsOf(given.rank, given.max);
    }
    return spec;
}

check::FillInput fillFrom(TenonCheckOptions const& given)
{
    if (given.fill == nullptr)
        return {};
    return [&given](size_t input, check::RealTensor& contents) -> Result<Done> {
        TenonCheckTensor const tensor{static_cast<int32_t>(contents.type),
            static_cast<int32_t>(contents.extents.size()), contents.extents.data(), contents.data.data()};
        if (int32_t const code = given.fill(given.fillUser, static_cast<int32_t>(input), &tensor); code != 0)
            return badArgument("the function that fills inputs returned {} for input {}{}", code, input, because());
        return Done{};
    };
}

check::Reference referenceFrom(TenonCheckOptions const& given)
{
    if (given.reference == nullptr)
        return {};
    return [&given](
               std::vector<check::RealTensor> const& inputs, std::vector<check::RealTensor>& outputs) -> Result<Done> {
        std::vector<TenonCheckTensor> in;
        std::vector<TenonCheckTensor> out;
        for (check::RealTensor const& each : inputs)
            in.push_back({static_cast<int32_t>(each.type), static_cast<int32_t>(each.extents.size()),
                each.extents.data(), const_cast<uint8_t*>(each.data.data())});
        for (check::RealTensor& each : outputs)
            out.push_back({static_cast<int32_t>(each.type), static_cast<int32_t>(each.extents.size()),
                each.extents.data(), each.data.data()});
        int32_t const code = given.reference(given.referenceUser, in.data(), static_cast<int32_t>(in.size()),
            out.data(), static_cast<int32_t>(out.size()));
        if (code != 0)
            return badArgument("it returned {}{}", code, because());
        return Done{};
    };
}

//! The chosen device, where it is a GPU.
Result<CudaDevice*> chosenGpu()
{
    DeviceChoice const choice = TENON_TRY(chooseDevice());
    return choice.backend->name == "cuda" ? static_cast<CudaDevice*>(choice.device) : nullptr;
}

Result<check::Options> optionsFrom(TenonCheckOptions const& given)
{
    check::Options options;
    for (int32_t i = 0; i < given.nbInputs; ++i)
        options.inputs.push_back(TENON_TRY(inputFrom(given.inputs[i])));
    for (int32_t i = 0; i < given.nbTypes; ++i)
        options.types.push_back(static_cast<DType>(given.types[i]));
    options.fill = fillFrom(given);
    options.reference = referenceFrom(given);
    options.absolute = given.absolute;
    options.relative = given.relative;
    options.seed = given.seed;
    options.isolated = given.isIsolated != 0;
    options.empties = given.isWithoutEmpties == 0;
    options.seconds = given.seconds > 0 ? given.seconds : 60;
    options.fork = given.fork;
    options.gpu = &chosenGpu;
    if (given.onGroup != nullptr)
        options.onGroup = [tell = given.onGroup, user = given.groupUser](
                              char const* group, size_t done, size_t groups) {
            tell(user, group, static_cast<int32_t>(done), static_cast<int32_t>(groups));
        };
    return options;
}

std::string reportJson(check::Report const& report)
{
    Json json;
    json["ok"] = report.findings.empty();
    json["plugin"] = {{"name", report.identity.type}, {"version", report.identity.version},
        {"namespace", report.identity.nameSpace}, {"generation", plugins::nameOf(report.identity.generation)}};
    json["combinations"] = report.combinations;
    json["runs"] = report.runs;
    json["findings"] = Json::array();
    for (check::Finding const& each : report.findings)
        json["findings"].push_back({{"check", each.check}, {"rule", each.rule}, {"callback", each.callback},
            {"what", each.what}, {"change", each.change}});
    json["notes"] = report.notes;
    return json.dump(2, ' ', false, Json::error_handler_t::replace);
}
} // namespace

} // namespace tenon::api

using namespace tenon::api;

TenonText tenonCheckPlugin(
    TenonCheckSubject const* subject, TenonCheckOptions const* options, TenonText* problem) noexcept
{
    return textOrProblem(problem, [&]() -> tenon::Result<std::string> {
        if (subject == nullptr)
            return tenon::badArgument("the subject is null");
        TenonCheckOptions const given = options == nullptr ? TenonCheckOptions{} : *options;
        check::Subject const wanted = TENON_TRY(subjectFrom(*subject));
        check::Options const asked = TENON_TRY(optionsFrom(given));
        check::Report const report = TENON_TRY(check::checkPlugin(wanted, asked));
        for (check::Finding const& each : report.findings)
        {
            TenonFinding const finding{
                each.check.c_str(), each.rule.c_str(), each.callback.c_str(), each.what.c_str(), each.change.c_str()};
            if (given.onFinding != nullptr)
                given.onFinding(given.findingUser, &finding);
        }
        return reportJson(report);
    });
}
