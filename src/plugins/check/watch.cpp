// Watch: the list of findings.
#include "plugins/check/watch.h"

#include <algorithm>

namespace tenon::plugins::check
{

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
    Flaw flaw = flaw::kFails;
    flaw.ruleV2 = flaw.ruleV3 = ruleOf(ask, generation);
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
