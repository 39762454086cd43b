// Watch: names of callbacks per generation, and the list of findings.
#include "plugins/check/watch.h"

#include <algorithm>
#include <array>

namespace tenon::plugins::check
{

namespace
{
struct Row
{
    std::array<char const*, 5> names; //!< By generation.
    std::string_view ruleV2;          //!< That a failure breaks.
    std::string_view ruleV3;
};

constexpr std::array<char const*, 5> all(char const* v2, char const* v3)
{
    return {v2, v2, v2, v2, v3};
}

//! In the order of Ask.
constexpr std::array<Row, 20> kRows{{
    {all("getNbOutputs", "getNbOutputs"), "J1", "L9"},
    {all("getOutputDataType", "getOutputDataTypes"), "J9", "L9"},
    {all("getOutputDimensions", "getOutputShapes"), "J2", "L9"},
    {{"supportsFormat", "supportsFormat", "supportsFormatCombination", "supportsFormatCombination",
         "supportsFormatCombination"},
        "J3", "L17"},
    {all("supportsFormatCombination", "getFormatCombinationLimit"), "J11", "L14"},
    {{"configureWithFormat", "configurePlugin", "configurePlugin", "configurePlugin", "configurePlugin"}, "K1", "L21"},
    {all("getWorkspaceSize", "getWorkspaceSize"), "K9", "K9"},
    {all("getValidTactics", "getValidTactics"), "L15", "L15"},
    {all("setTactic", "setTactic"), "L21", "L21"},
    {all("initialize", "initialize"), "J5", "L5"},
    {all("terminate", "terminate"), "J7", "L5"},
    {all("clone", "clone"), "J7", "L6"},
    {{"clone", "attachToContext", "attachToContext", "attachToContext", "attachToContext"}, "J8", "L7"},
    {{"destroy", "detachFromContext", "detachFromContext", "detachFromContext", "destructor"}, "J8", "L5"},
    {all("configurePlugin", "onShapeChange"), "K2", "L21"},
    {all("enqueue", "enqueue"), "J5", "L21"},
    {all("serialize", "getFieldsToSerialize"), "J14", "L4"},
    {all("getAliasedInput", "getAliasedInput"), "L18", "L18"},
    {all("deserializePlugin", "createPlugin"), "J15", "L3"},
    {all("destroy", "destructor"), "J7", "L5"},
}};

Row const& rowOf(Ask ask) noexcept
{
    return kRows[static_cast<size_t>(ask)];
}
} // namespace

char const* callbackOf(Ask ask, Generation generation) noexcept
{
    return rowOf(ask).names[static_cast<size_t>(generation)];
}

void Watch::find(Flaw const& flaw, Generation generation, std::string_view callback, std::string what)
{
    std::string_view const rule = generation == Generation::kV3 ? flaw.ruleV3 : flaw.ruleV2;
    add({std::string{flaw.check}, std::string{rule}, std::string{callback}, std::move(what), std::string{flaw.change}});
    if (flaw.stops)
        stop();
}

void Watch::add(Finding finding)
{
    std::scoped_lock const lock{mMutex};
    bool const isKnown = std::ranges::any_of(mFindings,
        [&](Finding const& each) { return each.check == finding.check && each.callback == finding.callback; });
    if (!isKnown)
        mFindings.push_back(std::move(finding));
}

void Watch::failed(Ask ask, Generation generation, Error const& error)
{
    {
        std::scoped_lock const lock{mMutex};
        mTold.push_back(error.message);
    }
    if (mQuiet > 0)
        return;
    Row const& row = rowOf(ask);
    Flaw flaw = flaw::kFails;
    flaw.ruleV2 = row.ruleV2;
    flaw.ruleV3 = row.ruleV3;
    find(flaw, generation, ask, error.message);
}

bool Watch::hasTold(Error const& error) const
{
    std::scoped_lock const lock{mMutex};
    return std::ranges::any_of(
        mTold, [&](std::string const& each) { return error.message.find(each) != std::string::npos; });
}

void Watch::note(std::string text)
{
    std::scoped_lock const lock{mMutex};
    if (std::ranges::count(mNotes, text) == 0)
        mNotes.push_back(std::move(text));
}

void Watch::moveInto(Report& report)
{
    std::scoped_lock const lock{mMutex};
    for (Finding& each : mFindings)
    {
        bool const isKnown = std::ranges::any_of(report.findings,
            [&](Finding const& other) { return other.check == each.check && other.callback == each.callback; });
        if (!isKnown)
            report.findings.push_back(std::move(each));
    }
    for (std::string& each : mNotes)
        if (std::ranges::count(report.notes, each) == 0)
            report.notes.push_back(std::move(each));
    report.runs += mRuns;
    report.combinations = std::max(report.combinations, mCombinations);
    mFindings.clear();
    mNotes.clear();
}

} // namespace tenon::plugins::check
