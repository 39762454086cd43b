// Trace: one line per call: object, phase of its life, thread, callback, arguments, answer, duration, reason.
#include "plugins/trace.h"

#include "base/knobs.h"
#include "base/trace.h"
#include "plugins/callbacks.h"
#include "plugins/formats.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include <unistd.h>

namespace tenon::plugins
{

namespace
{
//! The file of the knob; opened when the first plugin is made, never closed: objects outlive static ones.
class TraceFile
{
  public:
    static TraceFile& get()
    {
        static auto& file = *new TraceFile;
        return file;
    }
    bool isOpen() const noexcept
    {
        return mFile != nullptr;
    }
    void write(std::string const& line)
    {
        std::scoped_lock const lock{mMutex};
        put((mOpen != 0 ? "\n" : "") + line + "\n");
        mOpen = 0;
    }
    //! The first half of a line, so that what a crash leaves behind ends with the call that crashed.
    int64_t begin(std::string const& half)
    {
        std::scoped_lock const lock{mMutex};
        put((mOpen != 0 ? "\n" : "") + half);
        return mOpen = ++mHalves;
    }
    //! The other half; behind the first one again where another line has come between them.
    void end(int64_t open, std::string const& half, std::string const& rest)
    {
        std::scoped_lock const lock{mMutex};
        put(mOpen == open ? rest + "\n" : (mOpen != 0 ? "\n" : "") + half + rest + "\n");
        mOpen = 0;
    }
    int64_t next() noexcept
    {
        return ++mObjects;
    }

  private:
    void put(std::string const& text)
    {
        if (std::fputs(text.c_str(), mFile) < 0 || std::fflush(mFile) != 0)
            Trace::noteProblem(fmt::format("TENON_PLUGIN_TRACE: '{}' lacks calls that could not be written: {}",
                knobText(Knob::kPluginTrace).value_or(""), std::strerror(errno)));
    }
    TraceFile()
    {
        if (std::optional<std::string> const path = knobText(Knob::kPluginTrace))
        {
            mFile = std::fopen(path->c_str(), "a");
            if (mFile == nullptr)
                Trace::noteProblem(
                    fmt::format("TENON_PLUGIN_TRACE: '{}' cannot be opened: {}", *path, std::strerror(errno)));
        }
    }

    std::mutex mMutex;
    std::FILE* mFile{nullptr};
    std::atomic<int64_t> mObjects{0};
    int64_t mHalves{0};
    int64_t mOpen{0}; //!< The line that waits for its other half; 0: none.
};

std::string traceText(nvinfer1::Dims64 const& dims)
{
    std::string text;
    for (int32_t i = 0; i < dims.nbDims; ++i)
        text += fmt::format("{}{}", i == 0 ? "" : "x", dims.d[i]);
    return "[" + text + "]";
}

std::string traceText(std::span<DType const> types)
{
    std::string text;
    for (DType const type : types)
        text += fmt::format(" {}", tenon::nameOf(type));
    return text;
}

std::string traceText(std::span<Shape const> shapes)
{
    std::string text;
    for (Shape const& shape : shapes)
        text += " " + tenon::show(shape);
    return text;
}

std::string traceText(Ports const& ports, bool withBounds)
{
    std::string text;
    for (size_t i = 0; i < ports.all.size(); ++i)
    {
        Port const& port = ports.all[i];
        bool const isKnown = static_cast<int32_t>(port.desc.type) >= 0;
        text += fmt::format("{}{}{} {}",
            i == static_cast<size_t>(ports.inputs) ? " -> "
                : i == 0                           ? ""
                                                   : ", ",
            isKnown ? std::string{tenon::nameOf(port.desc.type)} : "?", traceText(port.desc.dims),
            isKnown ? nameOf(port.desc.format) : "?");
        if (withBounds)
            text += fmt::format(" in {}:{}:{}", traceText(port.min), traceText(port.opt), traceText(port.max));
    }
    return text;
}

//! Where in its life an object is.
enum class Phase : uint8_t
{
    kNetwork,
    kBuilding,
    kEngine,
    kContext,
};

constexpr std::array kPhases{"in a network", "building", "in an engine", "in a context"};

class Traced;
thread_local Traced const* gTelling{nullptr}; //!< The one that is being asked.

//! The other half of a line.
std::string restOf(std::string_view answer, std::chrono::steady_clock::time_point start, char const* reason)
{
    double const taken = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    return fmt::format(" = {} ({:.1f} us), since {}", answer, taken, reason);
}

class Traced final : public Plugin
{
  public:
    Traced(PluginPtr plugin, Phase phase, std::string const& from)
        : mPlugin{std::move(plugin)},
          mPhase{phase},
          mNumber{TraceFile::get().next()}
    {
        void const* const object = mPlugin->v3() == nullptr ? static_cast<void const*>(mPlugin->v2()) : mPlugin->v3();
        mName =
            fmt::format("plugin {} at {} {} ({})", mNumber, object, identity().show(), nameOf(identity().generation));
        line("made by " + from);
    }
    ~Traced() override
    {
        line("goes, since whoever had it is gone");
        {
            Telling const telling{*this};
            mPlugin.reset(); // Tells terminate, detachFromContext, destroy, as the generation has them.
        }
        line("gone");
    }

    Identity const& identity() const noexcept override
    {
        return mPlugin->identity();
    }
    nvinfer1::IPluginV2* v2() noexcept override
    {
        return mPlugin->v2();
    }
    nvinfer1::IPluginV3* v3() noexcept override
    {
        return mPlugin->v3();
    }
    int32_t outputCount() override
    {
        Telling const telling{*this};
        return mPlugin->outputCount(); // Tells it, within other questions, too.
    }
    void inputRanks(std::span<int32_t const> ranks) override
    {
        mPlugin->inputRanks(ranks);
    }
    Result<std::vector<DType>> outputTypes(std::span<DType const> inputs) override
    {
        if (identity().generation == Generation::kV2)
        {
            Telling const telling{*this};
            return mPlugin->outputTypes(inputs); // Asked for their number only: the type is that of the first input.
        }
        return told(
            {Ask::kTypes, "types for" + traceText(inputs), "somebody asks for a type, or the build begins"},
            [&] { return mPlugin->outputTypes(inputs); },
            [](auto const& types) { return traceText(std::span<DType const>{types}); });
    }
    Result<OutputShapes> outputShapes(
        std::span<Shape const> inputs, std::span<Shape const> shapeInputs, DataExtent const& dataExtent) override
    {
        std::string text = traceText(inputs);
        if (!shapeInputs.empty())
            text += " with values" + traceText(shapeInputs);
        return told(
            {Ask::kShapes, "shapes for" + text, "somebody asks for a shape, or the build begins"},
            [&] { return mPlugin->outputShapes(inputs, shapeInputs, dataExtent); },
            [](OutputShapes const& found) { return traceText(std::span<Shape const>{found.shapes}); });
    }
    bool accepts(int32_t position, Ports const& ports) override
    {
        return told(
            {Ask::kAccepts, fmt::format("accepts port {}? {}", position, traceText(ports, false)),
                mPhase == Phase::kEngine ? "a loaded plan asks again" : "types and formats are being agreed"},
            [&] { return mPlugin->accepts(position, ports); }, [](bool yes) { return yes ? "yes" : "no"; });
    }
    int32_t combinationLimit() override
    {
        if (!isV3())
            return mPlugin->combinationLimit(); // A constant.
        return told(
            {Ask::kLimit, "at most how many combinations?", "types and formats are being agreed"},
            [&] { return mPlugin->combinationLimit(); }, [](int32_t n) { return fmt::to_string(n); });
    }
    Result<Done> configure(Ports const& ports) override
    {
        return told(
            {Ask::kConfigure, "configure, building: " + traceText(ports, true),
                "types and formats are agreed; once for each profile"},
            [&] { return mPlugin->configure(ports); }, kDone);
    }
    Result<size_t> workspace(Ports const& ports) override
    {
        return told(
            {Ask::kWorkspace, "workspace for " + traceText(ports, true), "memory is being booked"},
            [&] { return mPlugin->workspace(ports); }, [](size_t bytes) { return fmt::format("{} bytes", bytes); });
    }
    Result<std::vector<int32_t>> tactics() override
    {
        if (!isV3())
            return mPlugin->tactics(); // None, and nobody to ask.
        return told(
            {Ask::kTactics, "tactics?", "it has just been configured"}, [&] { return mPlugin->tactics(); },
            [](auto const& tactics) {
                std::string text = fmt::format("{}", tactics.size());
                for (int32_t const tactic : tactics)
                    text += fmt::format(" {}", tactic);
                return text;
            });
    }
    Result<Done> setTactic(int32_t tactic) override
    {
        if (!isV3())
            return mPlugin->setTactic(tactic);
        return told(
            {Ask::kSetTactic, fmt::format("tactic {}", tactic), "a run follows"},
            [&] { return mPlugin->setTactic(tactic); }, kDone);
    }
    Result<Done> initialize() override
    {
        if (isV3())
            return mPlugin->initialize(); // Objects are born ready (L5).
        return told(
            {Ask::kInitialize, "initialize",
                mPhase == Phase::kEngine ? "the engine has been made" : "the build is about to store it"},
            [&] { return mPlugin->initialize(); }, kDone);
    }
    void terminate() noexcept override
    {
        Telling const telling{*this};
        mPlugin->terminate(); // Tells it, where there is something to terminate.
    }
    Result<PluginPtr> clone() override
    {
        return wrapped(told(
                           {Ask::kClone, "clone", "a build works on copies"}, [&] { return mPlugin->clone(); }, kMade),
            Phase::kBuilding, "clone of");
    }
    Result<PluginPtr> attach(Resources const& resources) override
    {
        return wrapped(
            told(
                {Ask::kAttach,
                    fmt::format("attach to a context, allocator at {}", static_cast<void const*>(resources.allocator)),
                    "an execution context is made"},
                [&] { return mPlugin->attach(resources); }, kMade),
            Phase::kContext, "attaching");
    }
    Result<Done> reshape(Ports const& ports) override
    {
        if (isBatchless(identity().generation))
            return mPlugin->reshape(ports); // They only hear of the batch, when they run.
        return told(
            {Ask::kReshape, "shapes, before running: " + traceText(ports, false),
                mPhase == Phase::kContext ? "the first run, or shapes, profile or addresses have changed"
                                          : "each profile's kOPT, before it is stored"},
            [&] { return mPlugin->reshape(ports); }, kDone);
    }
    Result<Done> run(Work const& work) override
    {
        return told(
            {Ask::kRun,
                fmt::format("run on stream {}, workspace at {}", static_cast<void const*>(work.stream),
                    static_cast<void const*>(work.workspace)),
                mPhase == Phase::kContext ? "the context runs" : "its tactics are timed"},
            [&] { return mPlugin->run(work); }, kDone);
    }
    Result<Bytes> stored() override
    {
        return told(
            {Ask::kStore, "store", "the plan keeps it"}, [&] { return mPlugin->stored(); },
            [](Bytes const& bytes) { return fmt::format("{} bytes", bytes.size()); });
    }
    int32_t aliasedInput(int32_t output) override
    {
        if (!isV3())
            return mPlugin->aliasedInput(output);
        return told(
            {Ask::kAlias, fmt::format("output {} takes over which input?", output), "kALIASED_PLUGIN_IO_10_03 is on"},
            [&] { return mPlugin->aliasedInput(output); }, [](int32_t n) { return fmt::to_string(n); });
    }
    int32_t describedAlias(int32_t output) override
    {
        return mPlugin->describedAlias(output);
    }
    std::string timingCacheId() override
    {
        if (!isV3())
            return mPlugin->timingCacheId();
        return told(
            {std::nullopt, "getTimingCacheID", "timings may be kept"}, [&] { return mPlugin->timingCacheId(); },
            [](std::string const& id) { return "'" + id + "'"; });
    }
    std::string metadata() override
    {
        if (!isV3())
            return mPlugin->metadata();
        return told(
            {std::nullopt, "getMetadataString", "the inspector shows it"}, [&] { return mPlugin->metadata(); },
            [](std::string const& text) { return fmt::format("{} characters", text.size()); });
    }
    bool isAhead() const noexcept override
    {
        return mPlugin->isAhead();
    }
    Result<AheadKernel> kernel(std::span<Shape const> inputs, Ports const& ports) override
    {
        return told(
            {std::nullopt, "kernel for " + traceText(ports, false), "it is compiled into the plan"},
            [&] { return mPlugin->kernel(inputs, ports); },
            [](AheadKernel const& kernel) { return fmt::format("'{}', {} bytes", kernel.name, kernel.code.size()); });
    }

    std::string about(std::string const& text) const
    {
        return fmt::format("{}, {}, thread {}: {}", mName, kPhases[static_cast<size_t>(mPhase)], gettid(), text);
    }

  private:
    //! While the object is asked: its adapter tells what else it calls.
    class Telling
    {
      public:
        explicit Telling(Traced const& traced) noexcept
            : mOuter{std::exchange(gTelling, &traced)}
        {
        }
        ~Telling()
        {
            gTelling = mOuter;
        }
        Telling(Telling const&) = delete;
        Telling& operator=(Telling const&) = delete;

      private:
        Traced const* mOuter;
    };
    bool isV3() const noexcept
    {
        return identity().generation == Generation::kV3;
    }
    //! What is asked, and why now.
    struct Question
    {
        std::optional<Ask> ask;
        std::string what;
        char const* reason;
    };
    static constexpr auto kDone = [](Done const&) { return "done"; };
    static constexpr auto kMade = [](PluginPtr const&) { return "a copy"; };

    void line(std::string const& text) const noexcept
    {
        try
        {
            TraceFile::get().write(about(text));
        }
        catch (std::exception const&)
        {
            return; // A trace is no reason to fail.
        }
    }

    template <typename Call, typename Show>
    std::invoke_result_t<Call&> told(Question const& question, Call&& call, Show&& show) const
    {
        std::string half = question.what;
        if (question.ask)
            if (std::string const name = callbackOf(*question.ask, identity().generation); name != half)
                half = name + ": " + half;
        half = about(half);
        int64_t const open = TraceFile::get().begin(half);
        auto const start = std::chrono::steady_clock::now();
        auto answer = [&] {
            Telling const telling{*this};
            return call();
        }();
        std::string text;
        if constexpr (requires { answer.error(); })
            text = answer ? std::string{show(*answer)} : "error: " + answer.error().message;
        else
            text = show(answer);
        TraceFile::get().end(open, half, restOf(text, start, question.reason));
        return answer;
    }

    Result<PluginPtr> wrapped(Result<PluginPtr> made, Phase phase, char const* how) const
    {
        if (!made)
            return made;
        return PluginPtr{std::make_unique<Traced>(*std::move(made), phase, fmt::format("{} plugin {}", how, mNumber))};
    }

    PluginPtr mPlugin;
    Phase mPhase;
    int64_t mNumber;
    std::string mName;
};
} // namespace

bool isTelling() noexcept
{
    return gTelling != nullptr;
}

bool isTracing() noexcept
{
    return TraceFile::get().isOpen();
}

TracedCallback::TracedCallback(char const* callback, char const* reason) noexcept
    : mReason{reason}
{
    try
    {
        begin(gTelling->about(callback));
    }
    catch (std::exception const&)
    {
        mHalf.clear(); // A trace is no reason to fail.
    }
}

TracedCallback TracedCallback::of(std::string const& subject, char const* callback, char const* reason) noexcept
{
    TracedCallback line{reason};
    try
    {
        line.begin(fmt::format("{}, thread {}: {}", subject, gettid(), callback));
    }
    catch (std::exception const&)
    {
        line.mHalf.clear();
    }
    return line;
}

void TracedCallback::begin(std::string half)
{
    mHalf = std::move(half);
    mOpen = TraceFile::get().begin(mHalf);
    mStart = std::chrono::steady_clock::now();
}

void TracedCallback::end(std::string const& answer) noexcept
{
    try
    {
        if (!mHalf.empty())
            TraceFile::get().end(mOpen, mHalf, restOf(answer, mStart, mReason));
    }
    catch (std::exception const&)
    {
        return;
    }
}

PluginPtr traced(PluginPtr plugin, std::string const& from)
{
    if (!isTracing())
        return plugin;
    Phase const phase = from.starts_with("INetworkDefinition") ? Phase::kNetwork : Phase::kEngine;
    return std::make_unique<Traced>(std::move(plugin), phase, from);
}

} // namespace tenon::plugins
