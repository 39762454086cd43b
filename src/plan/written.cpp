// WrittenTensors: a conditional has written what both of its branches write, a loop what it writes without a round.
#include "plan/written.h"

#include <algorithm>

namespace tenon
{

WrittenTensors::WrittenTensors(Program const& program)
    : mProgram{program},
      mIsWritten(program.tensors.size()),
      mIsSliced(program.tensors.size())
{
}

void WrittenTensors::enter(int32_t index)
{
    while (!mOpen.empty() && controlOf(mOpen.back()).last == index)
    {
        Open open = std::move(mOpen.back());
        mOpen.pop_back();
        close(std::move(open));
    }
    if (!mOpen.empty() && controlOf(mOpen.back()).middle == index)
        passMiddle(mOpen.back());
    for (; mNext < mProgram.controls.size() && mProgram.controls[mNext].first == index; ++mNext)
    {
        mOpen.push_back({static_cast<int32_t>(mNext), mOrder.size()});
        if (controlOf(mOpen.back()).middle == index)
            passMiddle(mOpen.back());
    }
}

void WrittenTensors::write(int32_t root, bool isSlice)
{
    mIsSliced[static_cast<size_t>(root)] = mIsSliced[static_cast<size_t>(root)] || isSlice;
    if (mIsWritten[static_cast<size_t>(root)])
        return;
    mIsWritten[static_cast<size_t>(root)] = true;
    mOrder.push_back(root);
}

void WrittenTensors::passMiddle(Open& open)
{
    if (open.isBehindMiddle)
        return;
    open.isBehindMiddle = true;
    open.middle = mOrder.size();
    if (controlOf(open).kind == PlanControlKind::kLoop)
        return;
    open.before.assign(mOrder.begin() + static_cast<std::ptrdiff_t>(open.begin), mOrder.end());
    forgetFrom(open.begin);
}

void WrittenTensors::close(Open open)
{
    passMiddle(open);
    PlanControl const& control = controlOf(open);
    auto const begin = mOrder.begin() + static_cast<std::ptrdiff_t>(open.begin);
    std::vector<int32_t> written{begin, mOrder.end()};
    if (control.kind == PlanControlKind::kConditional)
    {
        std::ranges::sort(open.before);
        std::erase_if(written, [&](int32_t root) { return !std::ranges::binary_search(open.before, root); });
    }
    else
    {
        // A loop that its condition alone ends asks it at least once.
        size_t const sure = control.count < 0 ? open.middle - open.begin : 0;
        auto const isUnsure = [&](int32_t root) { return !mIsSliced[static_cast<size_t>(root)]; };
        written.erase(std::remove_if(written.begin() + static_cast<std::ptrdiff_t>(sure), written.end(), isUnsure),
            written.end());
    }
    forgetFrom(open.begin);
    for (int32_t const root : written)
        write(root, false);
}

void WrittenTensors::forgetFrom(size_t begin)
{
    for (size_t i = begin; i < mOrder.size(); ++i)
        mIsWritten[static_cast<size_t>(mOrder[i])] = false;
    mOrder.resize(begin);
}

} // namespace tenon
