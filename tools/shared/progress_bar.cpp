// ProgressBar: drawing, and what the phases of a build are of the whole.
#include "progress_bar.h"

#include "interruption.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <string_view>
#include <unistd.h>

namespace tenon::cli
{

namespace
{
std::atomic<bool> gBarStands{false};

//! The part of the way from file to plan that a phase of the build covers: medians over the models of the tests.
//! Reading the file comes before, writing the plan behind.
struct Part
{
    std::string_view phase;
    double from;
    double to;
};
constexpr double kBuilt{0.67};
constexpr std::array kParts{
    Part{"Optimizing", 0.25, 0.28}, Part{"Choosing kernels", 0.28, 0.285}, Part{"Building kernels", 0.285, kBuilt}};
} // namespace

ProgressBar::ProgressBar(bool isWanted, std::string const& label)
    : mStart{std::chrono::steady_clock::now()},
      mIsShown{isWanted && isatty(STDERR_FILENO) != 0}
{
    advance(label, 0.0);
}

ProgressBar::~ProgressBar()
{
    clearLine();
}

void ProgressBar::clearLine() noexcept
{
    constexpr std::string_view kClear{"\r\033[K"};
    if (gBarStands.exchange(false)) [[maybe_unused]]
        ssize_t const written = ::write(STDERR_FILENO, kClear.data(), kClear.size());
}

void ProgressBar::advance(std::string const& label, double share, Count count)
{
    bool const isSeen = mShare > 0.0 && static_cast<int>(share * 1000) == static_cast<int>(mShare * 1000);
    bool const isNew = label != mLabel || !isSeen;
    mShare = std::max(mShare, std::min(share, 1.0));
    mLabel = label;
    mCount = count;
    // Work of many short steps is not slowed by its bar; one that a message took away comes back.
    if (mIsShown && (isNew || !gBarStands))
        draw();
}

void ProgressBar::draw()
{
    constexpr double kWidth{30.0};
    std::chrono::duration<double> const spent = std::chrono::steady_clock::now() - mStart;
    std::string const bar(static_cast<size_t>(mShare * kWidth), '#');
    gBarStands = true;
    std::string label = mLabel;
    if (mCount.of > 0)
        label += " " + std::to_string(mCount.done) + "/" + std::to_string(mCount.of);
    std::fprintf(stderr, "\r\033[K%-28s [%-30s] %3.0f%%", label.c_str(), bar.c_str(), mShare * 100);
    if (mShare > 0.0)
        std::fprintf(stderr, "  about %.1f s left", spent.count() * (1.0 - mShare) / mShare);
}

BuildProgress::BuildProgress(bool isWanted)
    : mBar{isWanted, "Reading the model"}
{
}

void BuildProgress::phaseStart(char const* phase, char const*, int32_t steps) noexcept
{
    constexpr char const* kBefore{"Reading the model"};
    auto const secondsSince = [](Clock::time_point start) {
        return std::chrono::duration<double>(Clock::now() - start).count();
    };
    if (mSeconds.empty())
        mSeconds.emplace_back(kBefore, secondsSince(mStart));
    // A phase that comes again, as long steps do, goes on in its row.
    auto const row = std::ranges::find(mSeconds, phase, &std::pair<std::string, double>::first);
    mPhases[phase] = {std::max(steps, 1), Clock::now(), static_cast<size_t>(row - mSeconds.begin())};
    if (row == mSeconds.end())
        mSeconds.emplace_back(phase, 0.0);
    for (Part const& part : kParts)
        if (part.phase == phase)
            mBar.advance(phase, part.from);
}

bool BuildProgress::stepComplete(char const* phase, int32_t step) noexcept
{
    for (Part const& part : kParts)
        if (part.phase == phase)
        {
            Count const count{std::min(step + 1, mPhases[phase].steps), mPhases[phase].steps};
            double const done = static_cast<double>(count.done) / static_cast<double>(count.of);
            mBar.advance(phase, part.from + (part.to - part.from) * done, count);
        }
    return !gInterrupted;
}

void BuildProgress::phaseFinish(char const* phase) noexcept
{
    if (auto const found = mPhases.find(phase); found != mPhases.end())
    {
        mSeconds[found->second.row].second += std::chrono::duration<double>(Clock::now() - found->second.start).count();
        mPhases.erase(found);
    }
    if (mPhases.empty()) // The outermost phase.
        mBar.advance("Writing the plan", kBuilt);
}

} // namespace tenon::cli
