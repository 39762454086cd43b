//! \file
//! Tenon's own calls: C functions of libtenon.so, beside the TensorRT API. Texts that they return are JSON in UTF-8.
#ifndef TENON_BASE_H
#define TENON_BASE_H

#include <stddef.h>
#include <stdint.h>

//! Marks the functions that libtenon.so exports.
#define TENON_CALL __attribute__((visibility("default")))

#ifdef __cplusplus
#define TENON_NOEXCEPT noexcept
extern "C"
{
#else
#define TENON_NOEXCEPT
#endif

    //! A text of the library's; give it back with tenonFree(). Null stands for none.
    typedef char* TenonText;

    //! Frees a text that a call of this library returned. Null is allowed.
    TENON_CALL void tenonFree(TenonText text) TENON_NOEXCEPT;

    //! The version of Tenon, for instance "0.1.0"; lives as long as the process.
    TENON_CALL char const* tenonVersion(void) TENON_NOEXCEPT;

    //! Inside IErrorRecorder::reportError(): the description in full, of which the recorder gets 127 bytes at most.
    //! Null elsewhere.
    TENON_CALL TenonText tenonReportedError(void) TENON_NOEXCEPT;

    //! The calls of the TensorRT API that this release answers with "is not implemented": a JSON list of texts such as
    //! "INetworkDefinition::addLoop".
    TENON_CALL TenonText tenonNotImplemented(void) TENON_NOEXCEPT;

    //! A text of a model, a plugin or a file for people to see: what would steer a terminal is escaped ("\\x1b"), and
    //! of what nobody reads to its end the middle is left out. `isName`: line ends are escaped, too, and 200 bytes are
    //! the most; else the text is a message. Null gives null.
    TENON_CALL TenonText tenonShown(char const* text, int32_t isName) TENON_NOEXCEPT;

    //! What a file is that was taken for an ONNX model (`wantsModel`) or for a plan, by its contents: "a ZIP archive:
    //! …", with what to do about it. Null: nothing known.
    TENON_CALL TenonText tenonKindOfFile(void const* bytes, size_t size, int32_t wantsModel) TENON_NOEXCEPT;

    //! Why what TENON_TRACE or TENON_PLUGIN_TRACE asked for is not in its file as a whole: a full disk, say. Null: it
    //! is, or nothing was asked for.
    TENON_CALL TenonText tenonTraceProblem(void) TENON_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif // TENON_BASE_H
