// buildKernels: threads that take the next node in order, this one among them.
#include "planner/build_kernels.h"

#include "base/progress.h"
#include "planner/guarded.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

namespace tenon::planner
{

namespace
{
class KernelBuilder
{
  public:
    explicit KernelBuilder(KernelRequest const& request)
        : mRequest{request},
          mChoices{request.choices.all()},
          mKernels(mChoices.size()),
          mErrors(mChoices.size())
    {
    }

    Result<Kernels> run(std::function<bool()> const& afterNode)
    {
        bool goesOn{true};
        {
            std::vector<std::jthread> others = start();
            do
                goesOn = report(afterNode);
            while (goesOn && buildNext());
            while (goesOn && isAnyLeft())
                goesOn = report(afterNode);
            if (!goesOn)
                stop();
        } // The others end.
        if (goesOn && !report(afterNode))
            goesOn = false;
        for (std::optional<Error>& error : mErrors)
            if (error)
                return *std::move(error);
        return goesOn ? Result<Kernels>{std::move(mKernels)} : Result<Kernels>{cancelled()};
    }

  private:
    std::vector<std::jthread> start()
    {
        std::vector<std::jthread> others;
        auto const most = std::min<size_t>(static_cast<size_t>(std::max(mRequest.threads, 1)), mChoices.size());
        try
        {
            while (others.size() + 1 < most)
                others.emplace_back([this] {
                    while (buildNext())
                        continue;
                });
        }
        catch (std::system_error const&)
        {
            // Those that there are build all of it.
        }
        return others;
    }

    //! False: nothing is left to begin.
    bool buildNext()
    {
        size_t index{0};
        {
            std::scoped_lock const lock{mMutex};
            if (mIsStopped || mNext == mChoices.size())
                return false;
            index = mNext++;
        }
        Result<Done> const done = build(index);
        {
            std::scoped_lock const lock{mMutex};
            ++mFinished;
            if (!done)
            {
                mErrors[index] = done.error();
                mIsStopped = true; // All nodes before this one have been begun: the first error is found.
            }
        }
        mChanged.notify_one();
        return true;
    }

    Result<Done> build(size_t index)
    {
        Choice const& choice = mChoices[index];
        if (!mRequest.needed.nodes[static_cast<size_t>(choice.node)] || choice.offer().isView)
            return Done{};
        Node const& node = mRequest.graph.node(choice.node);
        Result<Done> made = guarded(node, [&]() -> Result<Done> {
            Problem const problem{&mRequest.graph, &node, mRequest.typical, &mRequest.target};
            mKernels[index] = TENON_TRY(mRequest.backend.build(problem, choice.offer()));
            return Done{};
        });
        std::string const label = fmt::format("[layer '{}']", node.name);
        if (!made && !made.error().message.starts_with(label))
            return std::move(made).error().in(label);
        return made;
    }

    //! Tells what has been finished since, waiting for something when this thread has nothing to build; false:
    //! cancelled.
    bool report(std::function<bool()> const& afterNode)
    {
        size_t finished{0};
        {
            std::unique_lock lock{mMutex};
            bool const isBusy = !mIsStopped && mNext < mChoices.size();
            mChanged.wait(lock, [&] { return isBusy || mFinished > mReported || mFinished == mNext; });
            finished = mFinished;
        }
        for (; mReported < finished; ++mReported)
            if (!afterNode())
                return false;
        return true;
    }
    bool isAnyLeft()
    {
        std::scoped_lock const lock{mMutex};
        return mFinished < mNext;
    }
    void stop()
    {
        std::scoped_lock const lock{mMutex};
        mIsStopped = true;
    }

    KernelRequest const& mRequest;
    std::vector<Choice> const& mChoices;
    Kernels mKernels; //!< Each entry is one thread's.
    std::vector<std::optional<Error>> mErrors;
    std::mutex mMutex;
    std::condition_variable mChanged; //!< A node is finished.
    size_t mNext{0};
    size_t mFinished{0};
    size_t mReported{0};
    bool mIsStopped{false};
};
} // namespace

Result<Kernels> buildKernels(KernelRequest const& request, std::function<bool()> const& afterNode)
{
    return KernelBuilder{request}.run(afterNode);
}

} // namespace tenon::planner
