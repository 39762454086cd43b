// What the network reports while layers are added, for the errors of the parser.
#pragma once

#include "NvInfer.h"

#include <mutex>
#include <string>

namespace tenon::onnx
{

//! Stands before the network's error recorder while a Listening lives, and hands on what it hears.
class Reasons final : public nvinfer1::IErrorRecorder
{
  public:
    class Listening
    {
      public:
        Listening(Reasons& reasons, nvinfer1::INetworkDefinition& network);
        ~Listening();
        Listening(Listening const&) = delete;

      private:
        Reasons& mReasons;
        nvinfer1::INetworkDefinition& mNetwork;
    };

    Reasons() = default;
    ~Reasons() noexcept override = default;
    Reasons(Reasons const&) = delete;

    void forget() noexcept;
    //! Behind a sentence: a colon and what was said last since `forget`; nothing when nothing was.
    std::string text() const;

    int32_t getNbErrors() const noexcept override;
    nvinfer1::ErrorCode getErrorCode(int32_t index) const noexcept override;
    ErrorDesc getErrorDesc(int32_t index) const noexcept override;
    bool hasOverflowed() const noexcept override;
    void clear() noexcept override;
    bool reportError(nvinfer1::ErrorCode code, ErrorDesc description) noexcept override;
    RefCount incRefCount() noexcept override;
    RefCount decRefCount() noexcept override;

  private:
    IErrorRecorder* mNext{nullptr}; //!< The user's; may be null.
    mutable std::mutex mMutex;
    std::string mLast;
};

} // namespace tenon::onnx
