// LineChain: which steps go together, how high strips are, and one strip after the other.
#include "backends/cpu/line_chain.h"

#include <algorithm>

namespace tenon::cpu
{

namespace
{
//! Bytes per lane of a tensor below which it stays in the second cache anyway; where there are several lanes, below
//! which so little of it goes from core to core that a step of its own is as good. And of all strips of a lane
//! together, so that weights and the strips' neighbours stay there beside them.
constexpr int64_t kLeastBytes{int64_t{384} << 10};
constexpr int64_t kLeastSharedBytes{int64_t{48} << 10};
constexpr int64_t kStripBytes{int64_t{512} << 10};
//! Lanes make the lines at their seams twice, which others would have to get from them: at most one of so many.
constexpr int64_t kLeastLinesPerTwice{3};

bool overlap(void const* a, int64_t aBytes, void const* b, int64_t bBytes) noexcept
{
    auto const x = reinterpret_cast<uintptr_t>(a);
    auto const y = reinterpret_cast<uintptr_t>(b);
    return x < y + static_cast<uintptr_t>(bBytes) && y < x + static_cast<uintptr_t>(aBytes);
}

//! Where line 0 would be when line `first` is at `memory`. Integers: it may be no address of anything.
char* lineZero(char* memory, int64_t first, int64_t lineBytes) noexcept
{
    return reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(memory) - static_cast<uintptr_t>(first * lineBytes));
}

bool isLarge(LineForm const& form, int32_t lanes) noexcept
{
    return form.outBytes() / std::max(lanes, 1) >= (lanes > 1 ? kLeastSharedBytes : kLeastBytes);
}
} // namespace

size_t LineChain::scratchBytes(LineForm const& form) noexcept
{
    return isLarge(form, form.lanes) ? static_cast<size_t>(form.lanes * kStripBytes) : 0;
}

LineChain::LineChain(std::span<Launch const> launches, int32_t lanes) noexcept
{
    LineStep const* const head = launches[0].isHandedOver ? hostPrepared(*launches[0].prepared).byLines() : nullptr;
    if (head == nullptr)
        return;
    mMembers[0] = {&launches[0], head, head->lineForm()};
    mCount = 1;
    for (; mCount < std::min(kMaxSteps, launches.size()) && follows(launches[mCount], lanes); ++mCount)
    {
        LineStep const* const step = hostPrepared(*launches[mCount].prepared).byLines();
        mMembers[mCount] = {&launches[mCount], step, step->lineForm()};
    }
    while (mCount > 1 && !isGood(lanes))
        --mCount;
    if (mCount == 1)
        mCount = 0;
    else
        findCut(std::min(lanes, mMembers[0].form.lanes));
}

bool LineChain::isGood(int32_t lanes) noexcept
{
    constexpr int64_t kCacheLine{64};
    mHaloBytes = 0;
    if (lanes > 1 && isInPlace())
        for (size_t i = 1; i < mCount; ++i)
            mHaloBytes += (mMembers[i].form.reach - 1) * mMembers[0].form.inLineBytes;
    mHaloBytes = (mHaloBytes + kCacheLine - 1) / kCacheLine * kCacheLine;
    return !endsWide() && isApart() && findHeight() && isWorthSeams(lanes);
}

bool LineChain::follows(Launch const& next, int32_t lanes) const noexcept
{
    Member const& last = mMembers[mCount - 1];
    LineStep const* const step = hostPrepared(*next.prepared).byLines();
    if (!last.launch->isHandedOver || step == nullptr)
        return false;
    LineForm const& form = step->lineForm();
    return form.canFollow && form.lanes == last.form.lanes && isLarge(last.form, form.lanes)
        && isLarge(last.form, lanes) && form.images == last.form.images && form.inHeight == last.form.outHeight
        && form.inLineBytes == last.form.outLineBytes && next.inputCount <= kMaxOperands
        && last.launch->inputCount <= kMaxOperands && next.call.inputs[0] == last.launch->call.outputs[0];
}

int64_t LineChain::bytesAt(int64_t height) noexcept
{
    constexpr int64_t kCacheLine{64};
    int64_t bytes{0};
    int64_t lines{height};
    size_t own = mMembers[mCount - 1].step->linesScratch(lines);
    for (size_t i = mCount - 1; i-- > 0;)
    {
        LineForm const& next = mMembers[i + 1].form;
        lines = std::min((lines - 1) * next.stride + next.reach, next.inHeight);
        own = std::max(own, mMembers[i].step->linesScratch(lines));
        mMembers[i].room = lines;
        mMembers[i].position = bytes;
        bytes += (lines * mMembers[i].form.outLineBytes + kCacheLine - 1) / kCacheLine * kCacheLine;
    }
    mOwnPosition = bytes;
    return bytes + (static_cast<int64_t>(own) + kCacheLine - 1) / kCacheLine * kCacheLine;
}

bool LineChain::findHeight() noexcept
{
    int64_t height = mMembers[mCount - 1].form.outHeight;
    while (height > 0 && bytesAt(height) > kStripBytes - mHaloBytes)
        height = height > 16 ? height / 2 : height - 1;
    mHeight = height;
    return height > 0;
}

bool LineChain::endsWide() const noexcept
{
    Member const& last = mMembers[mCount - 1];
    return last.launch->isHandedOver && last.form.outBytes() > mMembers[mCount - 2].form.outBytes();
}

bool LineChain::isWorthSeams(int32_t lanes) const noexcept
{
    LineForm const& form = mMembers[mCount - 1].form;
    int64_t lines = form.images * form.outHeight / lanes;
    int64_t twice{0};
    for (size_t i = mCount - 1; lanes > 1 && i > 0; --i)
    {
        LineForm const& next = mMembers[i].form;
        lines *= next.stride;
        twice = twice * next.stride + std::max<int64_t>(next.reach - next.stride, 0);
        if (twice * kLeastLinesPerTwice > lines)
            return false;
    }
    return true;
}

bool LineChain::isInPlace() const noexcept
{
    Member const& head = mMembers[0];
    Member const& last = mMembers[mCount - 1];
    bool isInOrder = head.form.reach == 1 && !head.step->needsPreparing();
    for (size_t i = 0; i < mCount; ++i)
    {
        LineForm const& form = mMembers[i].form;
        isInOrder = isInOrder && form.stride == 1 && form.inHeight == form.outHeight && form.padTop < form.reach;
    }
    return isInOrder && last.launch->call.outputs[0] == head.launch->call.inputs[0]
        && last.form.outLineBytes == head.form.inLineBytes;
}

bool LineChain::isApart() const noexcept
{
    Member const& last = mMembers[mCount - 1];
    void const* const out = last.launch->call.outputs[0];
    Member const& head = mMembers[0];
    if (!isInPlace() && overlap(out, last.form.outBytes(), head.launch->call.inputs[0], head.form.inBytes()))
        return false;
    for (size_t i = 0; i < mCount; ++i)
        for (size_t k = 1; k < mMembers[i].launch->inputCount; ++k)
        {
            // Operands of epilogues are as large as the output at most. One that the last step adds to may be it.
            void const* const operand = mMembers[i].launch->call.inputs[k];
            bool const isInPlace = i == mCount - 1 && operand == out;
            if (operand != nullptr && !isInPlace
                && overlap(out, last.form.outBytes(), operand, mMembers[i].form.outBytes()))
                return false;
        }
    return true;
}

void LineChain::findCut(int32_t lanes) noexcept
{
    constexpr int64_t kManyLines{16}; // Of a lane: one more or less is little then.
    LineForm const& form = mMembers[mCount - 1].form;
    if (form.images != 1 || form.outHeight % lanes == 0 || form.outHeight > lanes * kManyLines)
        return;
    mFirstByPixels = mCount;
    while (mFirstByPixels > 0 && mMembers[mFirstByPixels - 1].form.outPixels == form.outPixels
        && (mFirstByPixels == mCount || mMembers[mFirstByPixels].form.isPointwise))
        --mFirstByPixels;
    double least = costOf(mCut, lanes);
    for (Cut const cut : {Cut::kFirstLines, Cut::kPixels})
    {
        // What stands in place of the first operand is read line by line.
        if (cut == Cut::kPixels && (form.outPixels == 0 || mHaloBytes > 0))
            continue;
        double const cost = costOf(cut, lanes);
        if (cost >= least)
            continue;
        least = cost;
        mCut = cut;
    }
}

double LineChain::costOf(Cut cut, int32_t lanes) const noexcept
{
    double most{0.0};
    for (int32_t lane = 0; lane < lanes; ++lane)
    {
        Own const own = ownOf(cut, {lane, lanes});
        Lines lines = own.lines;
        double cost{0.0};
        for (size_t i = mCount; i-- > 0;)
        {
            Member const& member = mMembers[i];
            auto count = static_cast<double>(lines.last - lines.first);
            if (i >= mFirstByPixels && own.left + own.right > 0)
                count -= static_cast<double>(own.left + own.right) / static_cast<double>(member.form.outPixels);
            cost += count * static_cast<double>(member.launch->cost) / static_cast<double>(member.form.outHeight);
            lines = inputOf(member.form, lines);
        }
        most = std::max(most, cost);
    }
    return most;
}

LineChain::Own LineChain::ownOf(Cut cut, Lane const& lane) const noexcept
{
    LineForm const& form = mMembers[mCount - 1].form;
    int64_t const lines = form.images * form.outHeight;
    if (cut == Cut::kPixels)
    {
        auto const [first, last] = lane.part(lines * form.outPixels);
        int64_t const end = (last + form.outPixels - 1) / form.outPixels;
        return {{first / form.outPixels, end}, first % form.outPixels, end * form.outPixels - last};
    }
    if (cut == Cut::kFirstLines)
    {
        auto const [first, last] = Lane{lane.count - 1 - lane.index, lane.count}.part(lines);
        return {{lines - last, lines - first}};
    }
    auto const [first, last] = lane.part(lines);
    return {{first, last}};
}

LineChain::Lines LineChain::inputOf(LineForm const& form, Lines lines) noexcept
{
    if (lines.first >= lines.last)
        return {0, 0};
    int64_t const image = lines.first / form.outHeight;
    int64_t const top = (lines.first - image * form.outHeight) * form.stride - form.padTop;
    int64_t const bottom = (lines.last - 1 - image * form.outHeight) * form.stride - form.padTop + form.reach;
    int64_t const first = std::clamp<int64_t>(top, 0, form.inHeight);
    int64_t const last = std::clamp<int64_t>(bottom, first, form.inHeight);
    return {image * form.inHeight + first, image * form.inHeight + last};
}

LineChain::Part LineChain::partOf(Lane const& lane) const noexcept
{
    Member const& head = mMembers[0];
    int32_t const lanes = std::min(lane.count, head.form.lanes);
    if (lane.index >= lanes)
        return {nullptr, {{0, 0}}, {0, 0}};
    Own const own = ownOf(mCut, {lane.index, lanes});
    auto const [first, last] = own.lines;
    Lines top{first, first + 1};
    Lines bottom{last - 1, last};
    for (size_t i = mCount - 1; mHaloBytes > 0 && first < last && i > 0; --i)
    {
        top = inputOf(mMembers[i].form, top);
        bottom = inputOf(mMembers[i].form, bottom);
    }
    char* const memory = static_cast<char*>(head.launch->call.scratch) + head.form.ownScratch;
    return {memory + lane.index * kStripBytes, own, {std::min(top.first, first), std::max(bottom.last, last)}};
}

void LineChain::keepHalo(Part const& part) const noexcept
{
    Member const& head = mMembers[0];
    Lines const own = part.own.lines;
    if (own.first == own.last)
        return;
    auto const* const from = static_cast<char const*>(head.launch->call.inputs[0]);
    char* to = part.memory + kStripBytes - mHaloBytes;
    for (Lines const lines : {Lines{part.touched.first, own.first}, Lines{own.last, part.touched.last}})
        to = std::copy(from + lines.first * head.form.inLineBytes, from + lines.last * head.form.inLineBytes, to);
}

void LineChain::run(Lane const& lane) const
{
    Member const& head = mMembers[0];
    LineForm const& form = mMembers[mCount - 1].form;
    Part const part = partOf(lane);
    if (lane.stage + 1 < stages())
        return mHaloBytes > 0 ? keepHalo(part) : head.step->prepareLines(head.launch->call, lane);
    Done done{};
    Lines const own = part.own.lines;
    for (int64_t at = own.first; at < own.last;)
    {
        int64_t const endOfImage = (at / form.outHeight + 1) * form.outHeight;
        int64_t const end = std::min({at + mHeight, own.last, endOfImage});
        runStrip({at, end}, part, done);
        at = end;
    }
}

void LineChain::runStrip(Lines lines, Part const& part, Done& done) const
{
    std::array<Lines, kMaxSteps> fresh;
    fresh[mCount - 1] = lines;
    for (size_t i = mCount - 1; i-- > 0;)
    {
        fresh[i] = inputOf(mMembers[i + 1].form, fresh[i + 1]);
        fresh[i].first = std::min(std::max(fresh[i].first, done[i]), fresh[i].last);
        done[i] = std::max(done[i], fresh[i].last);
    }
    if (fresh[0].first < fresh[0].last)
        runHead(fresh[0], part);
    for (size_t i = 1; i < mCount; ++i)
        if (fresh[i].first < fresh[i].last)
            runMember(i, fresh[i], part, part.memory + mMembers[i - 1].position);
}

void LineChain::runHead(Lines lines, Part const& part) const
{
    Member const& head = mMembers[0];
    if (mHaloBytes == 0)
        return runMember(0, lines, part, head.launch->call.inputs[0]);
    char* const above = part.memory + kStripBytes - mHaloBytes;
    Lines const own = part.own.lines;
    char* const below = above + (own.first - part.touched.first) * head.form.inLineBytes;
    struct Piece
    {
        Lines lines;
        void const* input;
    };
    Piece const pieces[]{
        {{lines.first, std::min(lines.last, own.first)}, lineZero(above, part.touched.first, head.form.inLineBytes)},
        {{std::max(lines.first, own.first), std::min(lines.last, own.last)}, head.launch->call.inputs[0]},
        {{std::max(lines.first, own.last), lines.last}, lineZero(below, own.last, head.form.inLineBytes)}};
    for (Piece const& piece : pieces)
        if (piece.lines.first < piece.lines.last)
            runMember(0, piece.lines, part, piece.input);
}

void LineChain::runMember(size_t index, Lines lines, Part const& part, void const* input) const
{
    Member const& member = mMembers[index];
    std::array<void const*, kMaxOperands> inputs;
    std::copy_n(member.launch->call.inputs, member.launch->inputCount, inputs.begin());
    inputs[0] = input;
    void* output = member.launch->call.outputs[0];
    Call call = member.launch->call;
    call.inputs = inputs.data();
    call.outputs = &output;
    // Pixels of other lanes are those of the same lines of all members that go by pixels.
    bool const isByPixels = mCut == Cut::kPixels && index >= mFirstByPixels;
    int64_t const left = isByPixels && lines.first == part.own.lines.first ? part.own.left : 0;
    int64_t const right = isByPixels && lines.last == part.own.lines.last ? part.own.right : 0;
    int64_t const ring = index > 0 ? mMembers[index - 1].room : 0;
    LineShare share{lines.first, lines.last, left, right, ring, part.memory + mOwnPosition};
    if (index == mCount - 1)
        return member.step->runLines(call, share);
    // To its own ring, which may end within the lines.
    for (int64_t at = lines.first; at < lines.last; at = share.last)
    {
        int64_t const round = at / member.room * member.room;
        share.first = at;
        share.last = std::min(lines.last, round + member.room);
        share.left = at == lines.first ? left : 0;
        share.right = share.last == lines.last ? right : 0;
        output = lineZero(part.memory + member.position, round, member.form.outLineBytes);
        member.step->runLines(call, share);
    }
}

} // namespace tenon::cpu
