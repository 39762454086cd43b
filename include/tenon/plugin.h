//! \file
//! For authors of plugins: a body for the CPU beside the plugin's own, and the question whether a build measures it.
#ifndef TENON_PLUGIN_H
#define TENON_PLUGIN_H

#include "tenon/base.h"

#include "NvInferRuntime.h"

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" // The older generations have bodies, too.
#endif

namespace tenon
{

//! One run of a plugin on the CPU. Descriptions have whole extents, the batch included, for every generation.
struct PluginRun
{
    nvinfer1::IPluginV2* v2; //!< The context's object: one of the two, the other null.
    nvinfer1::IPluginV3* v3;
    nvinfer1::PluginTensorDesc const* inputDesc;
    nvinfer1::PluginTensorDesc const* outputDesc;
    int32_t nbInputs;
    int32_t nbOutputs;
    void const* const* inputs;
    void* const* outputs;
    void* workspace; //!< Of the size that the plugin asked for.
};

//! Does the work of one run; 0, or another number when it failed. Contexts may call it at the same time.
typedef int32_t (*CpuBody)(PluginRun const& run);

} // namespace tenon

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

extern "C"
{
    //! From now on, contexts made on the CPU call `body` where they would call enqueue() of the plugins of this
    //! type, version and namespace; all other calls stay. Null takes the bodies away. False when a name
    //! is null. On other devices enqueue() stays, so that one plugin serves both. The body that was set last is taken;
    //! one that is in a library of plugins goes with it.
    TENON_CALL bool tenonSetCpuBody(
        char const* type, char const* version, char const* nameSpace, tenon::CpuBody body) TENON_NOEXCEPT;

    //! From a callback that is about to return a code other than 0: the engine's message ends with this text. Python
    //! plugins give their exceptions so.
    TENON_CALL void tenonExplainFailure(char const* why) TENON_NOEXCEPT;

    //! For callers of plugins and creators: what a callback in this thread explained last, if no message has said it
    //! yet; null: nothing. It is said by this.
    TENON_CALL TenonText tenonTakeExplanation(void) TENON_NOEXCEPT;

    //! In words, why a registry has no creator of these names, and what it has that comes closest, under the names that
    //! each is registered by. No creator is called. Null when it has one, or a name is null.
    TENON_CALL TenonText tenonMissingPlugin(nvinfer1::IPluginRegistry const* registry, char const* type,
        char const* version, char const* nameSpace) TENON_NOEXCEPT;

    //! True inside an enqueue() or a body that a build calls to measure it: the data are made up.
    TENON_CALL bool tenonIsTimingPlugin(void) TENON_NOEXCEPT;

    //! Inside an enqueue() whose addresses are a GPU's memory: true, and which GPU. False on the host's memory, and
    //! outside.
    TENON_CALL bool tenonPluginGpu(int32_t* index) TENON_NOEXCEPT;

    //! Inside such an enqueue(): what comes into the stream `later` from now on begins when all is over that stands in
    //! `earlier` now. False where the GPU's driver refuses that.
    TENON_CALL bool tenonOrderStreams(void* earlier, void* later) TENON_NOEXCEPT;

    //! Inside an enqueue() that is told no number of inputs and outputs (V2, V2Ext, V2IOExt): true, and the numbers.
    TENON_CALL bool tenonPluginPortCounts(int32_t* nbInputs, int32_t* nbOutputs) TENON_NOEXCEPT;

    //! For handlers of SIGSEGV and its like, which may call this: which plugin the present thread is in, as
    //! "enqueue of plugin 'CircPad' version '1'", as much as there is room for. The length; 0: it is in none that an
    //! engine runs or a build asks about types and formats.
    TENON_CALL size_t tenonInnermostPlugin(char* text, size_t room) TENON_NOEXCEPT;
}

#endif // TENON_PLUGIN_H
