// Trace: one line per call.
#include "plugins/trace.h"

#include "base/knobs.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <type_traits>

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
        std::fputs(line.c_str(), mFile);
        std::fflush(mFile); // What a crash leaves behind ends with the call that crashed.
    }
    int64_t next() noexcept
    {
        return ++mObjects;
    }

  private:
    TraceFile()
    {
        if (std::optional<std::string> const path = textOf(Knob::kPluginTrace))
            mFile = std::fopen(path->c_str(), "a");
    }

    std::mutex mMutex;
    std::FILE* mFile{nullptr};
    std::atomic<int64_t> mObjects{0};
};

std::string textOf(nvinfer1::Dims64 const& dims)
{
    std::string text;
    for (int32_t i = 0; i < dims.nbDims; ++i)
        text += fmt::format("{}{}", i == 0 ? "" : "x", dims.d[i]);
    return "[" + text + "]";
}

std::string textOf(Ports const& ports, bool withBounds)
{
    std::string text;
    for (size_t i = 0; i < ports.all.size(); ++i)
    {
        Port const& port = ports.all[i];
        bool const isKnown = static_cast<int32_t>(port.desc.type) >= 0;
        text += fmt::format("{}{}{} format {}",
            i == static_cast<size_t>(ports.inputs) ? " -> "
                : i == 0                           ? ""
                                                   : ", ",
            isKnown ? std::string{tenon::nameOf(port.desc.type)} : "?", textOf(port.desc.dims),
            static_cast<int32_t>(port.desc.format));
        if (withBounds)
            text += fmt::format(" in {}:{}:{}", textOf(port.min), textOf(port.opt), textOf(port.max));
    }
    return text;
}

class Traced final : public Plugin
{
  public:
    Traced(PluginPtr plugin, std::string const& from)
        : mPlugin{std::move(plugin)},
          mNumber{TraceFile::get().next()}
    {
        line("made by " + from, "", 0.0);
    }
    ~Traced() override
    {
        mPlugin.reset();
        line("gone", "", 0.0);
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
        return told(
            "outputs?", [&] { return mPlugin->outputCount(); }, [](int32_t n) { return fmt::to_string(n); });
    }
    Result<std::vector<DType>> outputTypes(std::span<DType const> inputs) override
    {
        return told(
            "types?", [&] { return mPlugin->outputTypes(inputs); },
            [](auto const& types) {
                std::string text;
                for (DType const type : types)
                    text += fmt::format("{} ", tenon::nameOf(type));
                return text;
            });
    }
    Result<OutputShapes> outputShapes(
        std::span<Shape const> inputs, std::span<Shape const> shapeInputs, DataExtent const& dataExtent) override
    {
        std::string text;
        for (Shape const& shape : inputs)
            text += tenon::show(shape) + " ";
        return told(
            "shapes of " + text, [&] { return mPlugin->outputShapes(inputs, shapeInputs, dataExtent); },
            [](OutputShapes const& found) {
                std::string answer;
                for (Shape const& shape : found.shapes)
                    answer += tenon::show(shape) + " ";
                return answer;
            });
    }
    bool accepts(int32_t position, Ports const& ports) override
    {
        return told(
            fmt::format("accepts port {}? {}", position, textOf(ports, false)),
            [&] { return mPlugin->accepts(position, ports); }, [](bool yes) { return yes ? "yes" : "no"; });
    }
    int32_t combinationLimit() override
    {
        return mPlugin->combinationLimit();
    }
    Result<Done> configure(Ports const& ports) override
    {
        return told(
            "configure, building: " + textOf(ports, true), [&] { return mPlugin->configure(ports); }, kDone);
    }
    Result<size_t> workspace(Ports const& ports) override
    {
        return told(
            "workspace?", [&] { return mPlugin->workspace(ports); },
            [](size_t bytes) { return fmt::format("{} bytes", bytes); });
    }
    Result<std::vector<int32_t>> tactics() override
    {
        return told(
            "tactics?", [&] { return mPlugin->tactics(); },
            [](auto const& tactics) { return fmt::format("{}", tactics.size()); });
    }
    Result<Done> setTactic(int32_t tactic) override
    {
        return told(
            fmt::format("tactic {}", tactic), [&] { return mPlugin->setTactic(tactic); }, kDone);
    }
    Result<Done> initialize() override
    {
        return told(
            "initialize", [&] { return mPlugin->initialize(); }, kDone);
    }
    void terminate() noexcept override
    {
        line("terminate", "", 0.0);
        mPlugin->terminate();
    }
    Result<PluginPtr> clone() override
    {
        return wrapped(told(
                           "clone", [&] { return mPlugin->clone(); }, kMade),
            "clone of");
    }
    Result<PluginPtr> attach(Resources const& resources) override
    {
        return wrapped(told(
                           "attach to a context", [&] { return mPlugin->attach(resources); }, kMade),
            "attaching");
    }
    Result<Done> reshape(Ports const& ports) override
    {
        return told(
            "shapes, before running: " + textOf(ports, false), [&] { return mPlugin->reshape(ports); }, kDone);
    }
    Result<Done> run(Work const& work) override
    {
        return told(
            fmt::format("run on stream {}", static_cast<void const*>(work.stream)), [&] { return mPlugin->run(work); },
            kDone);
    }
    Result<Bytes> stored() override
    {
        return told(
            "store", [&] { return mPlugin->stored(); },
            [](Bytes const& bytes) { return fmt::format("{} bytes", bytes.size()); });
    }
    int32_t aliasedInput(int32_t output) override
    {
        return told(
            fmt::format("output {} takes over which input?", output), [&] { return mPlugin->aliasedInput(output); },
            [](int32_t n) { return fmt::to_string(n); });
    }
    std::string timingCacheId() override
    {
        return mPlugin->timingCacheId();
    }
    std::string metadata() override
    {
        return mPlugin->metadata();
    }
    bool isAhead() const noexcept override
    {
        return mPlugin->isAhead();
    }
    Result<AheadKernel> kernel(std::span<Shape const> inputs, Ports const& ports) override
    {
        return told(
            "kernel for " + textOf(ports, false), [&] { return mPlugin->kernel(inputs, ports); },
            [](AheadKernel const& kernel) { return fmt::format("'{}', {} bytes", kernel.name, kernel.code.size()); });
    }

  private:
    static constexpr auto kDone = [](Done const&) { return "done"; };
    static constexpr auto kMade = [](PluginPtr const&) { return "a copy"; };

    void line(std::string const& call, std::string const& answer, double microseconds) const noexcept
    {
        try
        {
            TraceFile::get().write(fmt::format("plugin {} {} ({}) thread {}: {}{}{}{}\n", mNumber,
                mPlugin == nullptr ? "" : identity().show(), mPlugin == nullptr ? "" : nameOf(identity().generation),
                gettid(), call, answer.empty() ? "" : " = ", answer,
                microseconds > 0.0 ? fmt::format(" ({:.1f} us)", microseconds) : ""));
        }
        catch (std::exception const&)
        {
            return; // A trace is no reason to fail.
        }
    }

    template <typename Call, typename Show>
    std::invoke_result_t<Call&> told(std::string const& what, Call&& call, Show&& show) const
    {
        auto const start = std::chrono::steady_clock::now();
        auto answer = call();
        double const taken =
            std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
        if constexpr (requires { answer.error(); })
            line(what, answer ? std::string{show(*answer)} : "error: " + answer.error().message, taken);
        else
            line(what, std::string{show(answer)}, taken);
        return answer;
    }

    Result<PluginPtr> wrapped(Result<PluginPtr> made, char const* how) const
    {
        if (!made)
            return made;
        return traced(*std::move(made), fmt::format("{} plugin {}", how, mNumber));
    }

    PluginPtr mPlugin;
    int64_t mNumber;
};
} // namespace

PluginPtr traced(PluginPtr plugin, std::string const& from)
{
    if (!TraceFile::get().isOpen())
        return plugin;
    return std::make_unique<Traced>(std::move(plugin), from);
}

} // namespace tenon::plugins
