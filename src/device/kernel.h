// Kernel: the work of one step of a plan, in three stages: loaded once per engine, prepared once per shape, run.
#pragma once

#include "base/bytes.h"
#include "base/code.h"
#include "base/layout.h"
#include "base/place.h"
#include "base/result.h"
#include "device/kernel_memory.h"
#include "device/plugin_source.h"

#include "NvInferRuntime.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tenon
{

class RecorderSlot;

//! A tensor that a step reads or writes, its shape known.
struct TensorArg
{
    DType dtype{DType::kFLOAT};
    Layout layout{Layout::kLinear};
    std::vector<int64_t> extents;
    bool present{true};          //!< False: optional input that is absent.
    std::string_view name{"?"};  //!< For messages; the plan keeps it.
    Place place{Place::kDevice}; //!< Where its memory is.

    int64_t bytes() const noexcept
    {
        return bytesOf(dtype, layout, extents);
    }
    friend bool operator==(TensorArg const&, TensorArg const&) = default;
};

//! Contents of a constant operand as the plan stores it.
struct WeightArg
{
    void const* data{nullptr};
    size_t bytes{0};
    DType dtype{DType::kFLOAT};
    std::vector<int64_t> extents; //!< Logical extents, before packing.
    std::string_view packing;     //!< Name of the packed layout; empty: row-major.
};

//! Code that a plan carries for a step. Host objects come here only where the user allows them.
struct CodeArg
{
    std::string_view name; //!< For messages.
    CodeForm form{CodeForm::kHostObject};
    std::string_view target; //!< Architecture that it is for.
    ByteView bytes;
};

//! What a kernel is loaded from. Comes from a plan: every value may be hostile until checked.
struct KernelSource
{
    std::string_view kernel;        //!< Name in the device's table.
    ByteView args;                  //!< Fields of the kernel, usually the layer's own plus choices.
    std::vector<WeightArg> weights; //!< One per input; data is null for operands that are not constants.
    size_t outputs{1};
    std::string_view layer; //!< User-level name, for messages.
    size_t produces{0};     //!< Values that the plan expects in Call::produced.
    ByteView fields;        //!< The layer's own, from the portable graph; empty: the step belongs to no node.
    PluginSource const* plugins{nullptr}; //!< Null: there are none.
    CodeArg const* code{nullptr};         //!< What the step runs; null: the device's own kernels alone.
    //! kHost: a kernel of the host, on memory of the host, which the device runs in its turn in the stream.
    Place place{Place::kDevice};
    std::shared_ptr<KernelMemory const> memory; //!< For what the kernel makes of constants; null: the process's.
};

//! Addresses of one run. Inputs that are constants point at the weight as stored; absent inputs are null.
struct Call
{
    void const* const* inputs{nullptr};
    void* const* outputs{nullptr};
    void* scratch{nullptr};
    int64_t* produced{nullptr}; //!< Where values that only running tells (extents of outputs) are put, in order.
    void* stream{nullptr};      //!< For kernels whose work is the user's code.
};

//! A kernel made ready for given shapes, in the form that its own device runs. Immutable: runs of several contexts
//! share it.
class Prepared
{
  public:
    virtual ~Prepared() = default;
    virtual size_t scratchBytes() const noexcept
    {
        return 0;
    }
};

//! What an execution context lends to the kernels that keep state for it.
struct ContextResources
{
    nvinfer1::IGpuAllocator* allocator{nullptr}; //!< Another one for each context.
    RecorderSlot* recorder{nullptr};             //!< Lives as long as the copies.
};

//! A kernel's own copy for one execution context.
class Attached
{
  public:
    virtual ~Attached() = default;
    //! What runs in place of what `Kernel::prepare` gives.
    virtual Prepared const& prepared() const noexcept = 0;
    //! Before the first run, and again when extents, the profile or addresses of network inputs have changed.
    virtual Result<Done> reshape(std::span<TensorArg const> inputs, std::span<TensorArg const> outputs) = 0;
    //! False: not when only addresses have changed.
    virtual bool hearsAddresses() const noexcept
    {
        return true;
    }
};

class Kernel
{
  public:
    virtual ~Kernel() = default;
    //! Checks that the shapes fit the kernel's fields (a plan may lie) and does all that need not be done per run.
    //! `hostThreads` is for kernels that run on the host.
    virtual Result<std::shared_ptr<Prepared const>> prepare(
        std::span<TensorArg const> inputs, std::span<TensorArg const> outputs, int32_t hostThreads) const = 0;
    //! A copy for one context; null: runs need no state of their own.
    virtual Result<std::unique_ptr<Attached>> attach(ContextResources const& resources)
    {
        static_cast<void>(resources);
        return std::unique_ptr<Attached>{};
    }
    //! For layers whose state is the user's: the fields that a plan written now should hold. None: nothing of the kind.
    virtual Result<std::optional<Bytes>> storedFields()
    {
        return std::optional<Bytes>{};
    }
};

using KernelFactory = Result<std::unique_ptr<Kernel>> (*)(KernelSource const& source);

struct KernelEntry
{
    std::string_view name;
    KernelFactory load;
};

} // namespace tenon
