//! \file
//! Verification: every step of a plan against the reference, on the values that really reach it.
#ifndef TENON_VERIFY_H
#define TENON_VERIFY_H

#include "tenon/base.h"

#ifdef __cplusplus
extern "C"
{
#endif

    //! One input: row-major contents in host memory.
    typedef struct TenonInput
    {
        char const* name;
        void const* data; //!< Null: random contents for the shape.
        int32_t rank;
        int64_t const* shape; //!< Null: the kOPT shape of profile 0.
    } TenonInput;

    //! Asked after each step, in the thread of the call or another one, with how many steps of how many are done; 0
    //! ends the verification, which then has a problem and no report.
    typedef int32_t (*TenonVerifyProgress)(void* user, int32_t done, int32_t steps);

    typedef struct TenonVerifyOptions
    {
        //! Tolerance |a − b| ≤ absolute + relative · |b|. Both 0: those of the element type, and for sums of products
        //! beside them 16 · 2^-24 of the sum of the products' magnitudes, as rounding is in proportion to these.
        double absolute;
        double relative;
        uint32_t seed;                //!< For random inputs.
        int32_t firstsOnly;           //!< Not 0: stop at the first step that diverges.
        TenonVerifyProgress progress; //!< May be null.
        void* user;                   //!< Of `progress`.
    } TenonVerifyOptions;

    //! Runs the engine once; after each step evaluates its layer with plain loops in double on the step's own inputs
    //! and compares. Inputs that are not given are random (floats standard normal, integers in [0, 100), booleans) at
    //! the kOPT shape.
    //! \param engine an nvinfer1::ICudaEngine. \param options may be null.
    //! \return null with `problem` when the engine could not run, else
    //!   {"ok": whether no step that was compared differs,
    //!    "first_divergence": null or {"step", "layer", "output", "index", "got", "want"},
    //!    "steps": [{"name", "layer", "compared": bool, "why": text, "ok": bool, "max_error",
    //!               "worst": error in units of its tolerance}],
    //!    "indices_out_of_range": [{"step", "layer", "tensor", "index", "value", "extent",
    //!                               "what": "index", "sequence length" or "sequence start", "why": text}]}
    //! "why" of a step tells why it was not compared. An index of a Gather layer that is out of range gives 0, as the
    //! API wants it; a length or start of sequences (attention, cache updates, recurrent networks, ragged softmax,
    //! reversed sequences) that is out of range counts as the nearest that is not. Each is an error of the model or of
    //! its inputs as a rule: of each step the first one is listed.
    TENON_CALL TenonText tenonVerify(void const* engine, TenonInput const* inputs, int32_t count,
        TenonVerifyOptions const* options, TenonText* problem) TENON_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif // TENON_VERIFY_H
