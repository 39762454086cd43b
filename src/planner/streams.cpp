// Streams: between two steps that all others come before or behind, what does not depend on each other is branches.
#include "planner/streams.h"

#include "base/cancellation.h"
#include "plan/check.h"
#include "plan/regions.h"

#include <algorithm>
#include <set>

namespace tenon::planner
{

namespace
{
//! Microseconds of one thread, and what a step counts beside its work: many small ones gain most.
constexpr float kLeastBranch{20.0F};
constexpr float kPerStep{2.0F};

constexpr size_t asSize(int32_t index) noexcept
{
    return static_cast<size_t>(index);
}

class StreamPlanner
{
  public:
    StreamPlanner(Program& program, int32_t limit)
        : mProgram{program},
          mLimit{limit},
          mWriter(program.tensors.size(), -1)
    {
        for (size_t i = 0; i < program.steps.size(); ++i)
            for (int32_t const output : program.steps[i].outputs)
                mWriter[asSize(rootOf(program, output))] = static_cast<int32_t>(i);
    }

    void assign()
    {
        auto const count = static_cast<int32_t>(mProgram.steps.size());
        int32_t first{0};
        for (int32_t i = 0; i < count; ++i)
            if (!step(i).produces.empty()) // It stays where it is: what it tells is known behind it.
            {
                assignWithin(first, i);
                first = i + 1;
            }
        assignWithin(first, count);
    }

  private:
    PlanStep& step(int32_t index)
    {
        return mProgram.steps[asSize(index)];
    }

    //! Steps that the step reads results of, and that stand at `first` or behind.
    std::vector<int32_t> sourcesOf(int32_t index, int32_t first)
    {
        std::vector<int32_t> sources;
        for (int32_t const input : step(index).inputs)
            if (int32_t const writer = input < 0 ? -1 : mWriter[asSize(rootOf(mProgram, input))]; writer >= first)
                sources.push_back(writer);
        return sources;
    }

    void assignWithin(int32_t first, int32_t last)
    {
        if (last - first < 3)
            return;
        std::vector<std::vector<int32_t>> sources;
        for (int32_t i = first; i < last; ++i)
        {
            cancellationPoint();
            sources.push_back(sourcesOf(i, first));
        }
        int32_t from{first};
        for (int32_t const separator : separators(first, last, sources))
        {
            assignGap(from, separator);
            from = separator + 1;
        }
        assignGap(from, last);
    }

    //! Steps that all earlier ones lead to, and that lead to all later ones. Cheap ones that read nothing or that
    //! nothing reads do not count.
    std::vector<int32_t> separators(int32_t first, int32_t last, std::vector<std::vector<int32_t>> const& sources)
    {
        auto const count = asSize(last - first);
        std::vector<int32_t> firstReader(count, INT32_MAX);
        std::vector<int32_t> lastSource(count, -1);
        for (int32_t i = first; i < last; ++i)
            for (int32_t const source : sources[asSize(i - first)])
            {
                firstReader[asSize(source - first)] = std::min(firstReader[asSize(source - first)], i);
                lastSource[asSize(i - first)] = std::max(lastSource[asSize(i - first)], source);
            }
        for (int32_t i = first; i < last; ++i)
            if (step(i).cost < kLeastBranch)
            {
                if (firstReader[asSize(i - first)] == INT32_MAX)
                    firstReader[asSize(i - first)] = i;
                if (lastSource[asSize(i - first)] < 0)
                    lastSource[asSize(i - first)] = i;
            }
        std::vector<int32_t> leads(count + 1, INT32_MAX); // Of the steps behind: the earliest among their last sources.
        for (size_t i = count; i-- > 0;)
            leads[i] = std::min(leads[i + 1], lastSource[i]);
        std::vector<int32_t> found;
        int32_t reached{-1}; // By all earlier steps.
        for (int32_t i = first; i < last; ++i)
        {
            if (reached <= i && leads[asSize(i - first) + 1] >= i)
                found.push_back(i);
            reached = std::max(reached, firstReader[asSize(i - first)]);
        }
        return found;
    }

    struct Branch
    {
        std::vector<int32_t> steps;
        float cost{0.0F};
        int32_t stream{0};

        bool isLong() const noexcept
        {
            return cost + kPerStep * static_cast<float>(steps.size()) >= kLeastBranch;
        }
        void take(Branch& other)
        {
            steps.insert(steps.end(), other.steps.begin(), other.steps.end());
            cost += other.cost;
            other = {};
        }
    };

    //! The steps of [from, to) by what is connected among them, and those where long branches meet with all behind.
    struct Parts
    {
        std::vector<Branch> branches;
        std::vector<int32_t> later;
    };
    Parts partsOf(int32_t from, int32_t to)
    {
        constexpr int32_t kLater{-1};
        Parts parts;
        std::vector<int32_t> branchOf(asSize(to - from), kLater);
        std::vector<int32_t> mergedInto; // By branch: itself, or one that it has become a part of.
        auto const find = [&](int32_t branch) {
            while (branch != kLater && mergedInto[asSize(branch)] != branch)
                branch = mergedInto[asSize(branch)] = mergedInto[asSize(mergedInto[asSize(branch)])];
            return branch;
        };
        auto const isLong = [&](int32_t branch) { return parts.branches[asSize(branch)].isLong(); };
        for (int32_t i = from; i < to; ++i)
        {
            std::set<int32_t> met;
            for (int32_t const source : sourcesOf(i, from))
                met.insert(find(branchOf[asSize(source - from)]));
            if (met.contains(kLater) || std::ranges::count_if(met, isLong) > 1)
            {
                parts.later.push_back(i);
                continue;
            }
            if (met.empty())
            {
                met.insert(static_cast<int32_t>(parts.branches.size()));
                mergedInto.push_back(*met.begin());
                parts.branches.emplace_back();
            }
            int32_t const mine =
                std::ranges::max(met, {}, [&](int32_t branch) { return parts.branches[asSize(branch)].steps.size(); });
            for (int32_t const other : met)
                if (other != mine)
                {
                    parts.branches[asSize(mine)].take(parts.branches[asSize(other)]);
                    mergedInto[asSize(other)] = mine;
                }
            parts.branches[asSize(mine)].steps.push_back(i);
            parts.branches[asSize(mine)].cost += step(i).cost;
            branchOf[asSize(i - from)] = mine;
        }
        std::erase_if(parts.branches, [](Branch const& branch) { return branch.steps.empty(); });
        return parts;
    }

    //! Streams for the branches, those that have most work first.
    void spread(std::vector<Branch>& branches) const
    {
        std::ranges::stable_sort(branches, std::ranges::greater{}, &Branch::cost);
        std::vector<float> work(asSize(mLimit) + 1); // By stream.
        for (Branch& branch : branches)
        {
            auto const idle = std::ranges::min_element(work);
            branch.stream = branch.isLong() ? static_cast<int32_t>(idle - work.begin()) : 0;
            work[asSize(branch.stream)] += branch.cost;
        }
    }

    //! Puts off what the run's own stream would do beside others although it stands behind the first step that waits
    //! for them: that step would wait for it, too, and what memory the branches leave would live as long. Not while
    //! the own stream has less to do than another.
    void putOff(Parts& parts)
    {
        if (parts.later.empty())
            return;
        int32_t const end = parts.later.front();
        std::vector<float> work(asSize(mLimit) + 1);
        for (Branch const& branch : parts.branches)
            for (int32_t const at : branch.steps)
                if (branch.stream != 0 || at < end)
                    work[asSize(branch.stream)] += step(at).cost;
        if (work[0] < std::ranges::max(work))
            return;
        for (Branch& branch : parts.branches)
            if (branch.stream == 0)
                std::erase_if(branch.steps, [&](int32_t at) {
                    if (at > end)
                        parts.later.push_back(at);
                    return at > end;
                });
    }

    void assignGap(int32_t from, int32_t to)
    {
        constexpr int32_t kMaxRounds{64}; // Each looks at all that the one before has left.
        for (int32_t round = 0; round < kMaxRounds && to - from > 1; ++round)
        {
            cancellationPoint();
            Parts parts = partsOf(from, to);
            if (std::ranges::count_if(parts.branches, &Branch::isLong) > 1)
            {
                spread(parts.branches);
                putOff(parts);
                fence(from);
                fence(to);
            }
            int32_t const next = reorder(from, parts);
            if (step(from).isFence && next < to)
                fence(next);
            from = next;
        }
    }

    void fence(int32_t index)
    {
        if (asSize(index) < mProgram.steps.size())
            step(index).isFence = true;
    }

    //! Auxiliary streams first, then the run's own, each in the order that its steps have now; then what comes later,
    //! whose first position is the answer.
    int32_t reorder(int32_t from, Parts const& parts)
    {
        bool const isFenced = step(from).isFence;
        std::vector<std::vector<int32_t>> byStream(asSize(mLimit) + 2);
        for (Branch const& branch : parts.branches)
        {
            auto& steps = byStream[branch.stream == 0 ? asSize(mLimit) : asSize(branch.stream) - 1];
            steps.insert(steps.end(), branch.steps.begin(), branch.steps.end());
        }
        byStream.back() = parts.later;
        std::vector<PlanStep> ordered;
        for (size_t turn = 0; turn < byStream.size(); ++turn)
        {
            std::ranges::sort(byStream[turn]);
            for (int32_t const at : byStream[turn])
            {
                step(at).stream = turn < asSize(mLimit) ? static_cast<int32_t>(turn) + 1 : 0;
                step(at).isFence = false;
                ordered.push_back(std::move(step(at)));
            }
        }
        ordered.front().isFence = isFenced;
        std::ranges::move(ordered, mProgram.steps.begin() + from);
        for (int32_t i = from; i < from + static_cast<int32_t>(ordered.size()); ++i)
            for (int32_t const output : step(i).outputs)
                mWriter[asSize(rootOf(mProgram, output))] = i;
        return from + static_cast<int32_t>(ordered.size() - parts.later.size());
    }

    Program& mProgram;
    int32_t mLimit;
    std::vector<int32_t> mWriter; //!< By root tensor.
};
} // namespace

void assignStreams(Program& program, int32_t limit)
{
    int32_t const most = std::min(limit, kMaxAuxStreams);
    if (most > 0 && program.controls.empty()) // What runs repeatedly, or perhaps not, stays in one stream.
        StreamPlanner{program, most}.assign();
}

} // namespace tenon::planner
