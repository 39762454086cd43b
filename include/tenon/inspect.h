//! \file
//! What a plan, an engine or a network is made of. Works without the plugins that a plan needs.
//!
//! A plan's text holds:
//!   "name", "bytes", "network_layers",
//!   "io"         [{"name", "mode", "type", "shape", "location"}]
//!   "profiles"   [{input: {"min", "opt", "max"}}], "activation_bytes_per_profile" [bytes]
//!   "weights"    {"count", "bytes"}
//!   "programs"   [{"device", "steps" [{"name", "kernel", "candidate", "tactic", "layer", "origins", "inputs",
//!                "outputs"}], "memory"}]: tensors have "id" and "memory", the id of the one whose memory they share;
//!                the program's "memory" {"profile", "bytes", "blocks" [{"offset", "bytes", "first", "last", "place",
//!                "tensors"}]} tells where activations lie at that profile's largest shapes, from which step to which
//!   "decisions"  [{"kind", "layer", "text"}]: fusions, refusals and tactics with their reasons
//!   "rules"      {name: sentence}: what the rules do whose names the decisions' texts begin with
//!   "plugins"    [{"name", "version", "namespace", "library", "generation"}]: what has to be registered before it is
//!                loaded. "library": the path that the plan's builder had the creator from by loadLibrary, or "".
//! A network's holds "name", "io" and "layers" [{"name", "kind", "fields", "inputs", "outputs"}].
#ifndef TENON_INSPECT_H
#define TENON_INSPECT_H

#include "tenon/base.h"

#ifdef __cplusplus
extern "C"
{
#endif

    //! A plan in memory. \param problem receives why not, when null is returned; may be null itself.
    TENON_CALL TenonText tenonInspectPlan(void const* blob, size_t size, TenonText* problem) TENON_NOEXCEPT;

    //! A plan in a file.
    TENON_CALL TenonText tenonInspectFile(char const* path, TenonText* problem) TENON_NOEXCEPT;

    //! A loaded engine. \param engine an nvinfer1::ICudaEngine.
    TENON_CALL TenonText tenonInspectEngine(void const* engine, TenonText* problem) TENON_NOEXCEPT;

    //! A network as it stands, before any optimization. \param network an nvinfer1::INetworkDefinition.
    TENON_CALL TenonText tenonInspectNetwork(void const* network, TenonText* problem) TENON_NOEXCEPT;

    //! The steps of a plan as an ONNX model, for viewers and editors of graphs: nodes of the domain "tenon", whose
    //! kinds are those of Tenon's layers, named after the layers of the user's that they came from ("origins"). It is
    //! there to be looked at: nobody else has these operators.
    //! \param hasWeights not 0: weights are initializers with their values, row-major; else texts of the nodes.
    //! \param size receives how many bytes are returned.
    //! \return the bytes; give them back with tenonFree(). Null with `problem`.
    TENON_CALL TenonText tenonConvertPlan(
        void const* blob, size_t blobSize, int32_t hasWeights, size_t* size, TenonText* problem) TENON_NOEXCEPT;

    //! The same of a plan in a file.
    TENON_CALL TenonText tenonConvertFile(
        char const* path, int32_t hasWeights, size_t* size, TenonText* problem) TENON_NOEXCEPT;

    //! The creators of plugins that the registry of the process has:
    //!   [{"name", "version", "namespace", "generation": "V2" for all of that family, "V3", or "decorated",
    //!     "library": path or "", "fields": [{"name", "type", "length"}]}]
    TENON_CALL TenonText tenonInspectPlugins(TenonText* problem) TENON_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif // TENON_INSPECT_H
