// Host: makes objects of the checked plugin, asks for its shapes and combinations, and prepares it as a build does.
#pragma once

#include "plugins/check/watch.h"
#include "plugins/driver.h"

#include <map>
#include <set>

namespace tenon::plugins::check
{

enum class Point : uint8_t
{
    kMin,
    kOpt,
    kMax,
};
inline constexpr std::array<Point, 3> kPoints{Point::kOpt, Point::kMin, Point::kMax};

//! What the plugin says about shapes, in terms of the dynamic extents of its inputs.
struct Form
{
    std::vector<Shape> inputs;      //!< Shape inputs left out.
    std::vector<Shape> shapeInputs; //!< Their values.
    std::vector<Shape> outputs;
    std::vector<int32_t> sizeOutputs;
    std::vector<std::array<int64_t, 3>> symbols; //!< Values by Point of each dynamic extent.
    std::vector<ShapeExpr> uppers;               //!< Bounds of the symbols behind, which only running tells.

    //! All symbols at a point; those that only running tells at their bounds.
    std::vector<int64_t> valuesAt(Point point) const;
    bool isDynamic() const noexcept
    {
        return !symbols.empty();
    }
    //! While building: −1 for what is dynamic, and bounds.
    Ports buildPorts() const;
    //! While running: all extents concrete but those that only running tells.
    Ports runPorts(Point point) const
    {
        return runPorts(valuesAt(point));
    }
    Ports runPorts(std::vector<int64_t> const& values) const;
    //! Values of all symbols, from those of the dynamic extents.
    std::vector<int64_t> withUppers(std::vector<int64_t> values) const;
};

//! A plugin configured for one combination and, in the V2 family, initialized.
struct Ready
{
    PluginPtr plugin;
    Ports ports; //!< As configured, with types and formats.
    size_t workspace{0};
    std::vector<int32_t> tactics;
    Aliases aliases;

    int32_t tactic() const noexcept
    {
        return tactics.empty() ? 0 : tactics.front();
    }
};

//! What contexts lend; counts what they have not got back.
class CountingAllocator final : public nvinfer1::IGpuAllocator
{
  public:
    void* allocate(uint64_t size, uint64_t alignment, nvinfer1::AllocatorFlags flags) noexcept override;
    bool deallocate(void* memory) noexcept override;
    size_t outstanding() const noexcept;
    CountingAllocator() = default;
    ~CountingAllocator() override;

  private:
    mutable std::mutex mMutex;
    std::set<void*> mBlocks;
};

class Host
{
  public:
    Host(Subject const& subject, Options const& options, Watch& watch)
        : mSubject{subject},
          mOptions{options},
          mWatch{watch},
          mGeneration{subject.expected}
    {
    }
    Subject const& subject() const noexcept
    {
        return mSubject;
    }
    Options const& options() const noexcept
    {
        return mOptions;
    }
    Watch& watch() const noexcept
    {
        return mWatch;
    }
    CountingAllocator& allocator() noexcept
    {
        return mAllocator;
    }
    //! A new object under watch.
    Result<PluginPtr> make();
    //! Shapes for the inputs of the options; `batch`: in place of the extents that batchBounds() names.
    Result<Form> form(Plugin& plugin, std::optional<int64_t> batch = std::nullopt);
    //! What the plugin says for the inputs of a form.
    Result<Done> ask(Plugin& plugin, Form& form);
    //! Combinations that the plugin accepts; never empty.
    Result<std::vector<Combination>> combinations(Plugin& plugin, Form const& form);
    Result<Ready> ready(Form const& form, Combination const& combination);
    //! What an execution context makes of it: attached, with a tactic.
    Result<PluginPtr> attached(Plugin& plugin, int32_t tactic);
    Generation generation() const noexcept
    {
        return mGeneration;
    }
    //! What runs in place of the plugin's enqueue; null: nothing does.
    CpuBody body() const noexcept
    {
        return mBody;
    }
    void find(Flaw const& flaw, Ask ask, std::string what)
    {
        mWatch.find(flaw, mGeneration, ask, std::move(what));
    }

  private:
    void findBody(Plugin& plugin);
    std::array<int64_t, 3> batchBounds() const;
    std::vector<Combination> inputPrefixes(Plugin& plugin, Ports ports, size_t most);
    Result<std::vector<PortOffer>> offers(Plugin& plugin, Form const& form, Combination const& inputs);

    Subject const& mSubject;
    Options const& mOptions;
    Watch& mWatch;
    CountingAllocator mAllocator;
    Generation mGeneration;
    CpuBody mBody{nullptr};
};

//! "float[2x3] LINEAR, int32[4] LINEAR -> …" of what stands at the ports.
std::string portsText(Ports const& ports);

} // namespace tenon::plugins::check
