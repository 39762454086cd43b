// What the network reports while layers are added, for the errors of the parser.
#include "reasons.h"

#include "own_calls.h"

#include <utility>

namespace tenon::onnx
{

using nvinfer1::IErrorRecorder;

Reasons::Listening::Listening(Reasons& reasons, nvinfer1::INetworkDefinition& network)
    : mReasons{reasons},
      mNetwork{network}
{
    mReasons.mNext = network.getErrorRecorder();
    if (mReasons.mNext != nullptr)
    {
        mReasons.mNext->incRefCount(); // The network lets it go.
    }
    mNetwork.setErrorRecorder(&mReasons);
}

Reasons::Listening::~Listening()
{
    IErrorRecorder* const next = std::exchange(mReasons.mNext, nullptr);
    mNetwork.setErrorRecorder(next);
    if (next != nullptr)
    {
        next->decRefCount();
    }
}

void Reasons::forget() noexcept
{
    std::scoped_lock const lock{mMutex};
    mLast.clear();
}

std::string Reasons::text() const
{
    std::scoped_lock const lock{mMutex};
    return mLast.empty() ? std::string{} : ": " + mLast;
}

int32_t Reasons::getNbErrors() const noexcept
{
    return mNext != nullptr ? mNext->getNbErrors() : 0;
}

nvinfer1::ErrorCode Reasons::getErrorCode(int32_t index) const noexcept
{
    return mNext != nullptr ? mNext->getErrorCode(index) : nvinfer1::ErrorCode::kUNSPECIFIED_ERROR;
}

IErrorRecorder::ErrorDesc Reasons::getErrorDesc(int32_t index) const noexcept
{
    return mNext != nullptr ? mNext->getErrorDesc(index) : "";
}

bool Reasons::hasOverflowed() const noexcept
{
    return mNext != nullptr && mNext->hasOverflowed();
}

void Reasons::clear() noexcept
{
    if (mNext != nullptr)
    {
        mNext->clear();
    }
}

bool Reasons::reportError(nvinfer1::ErrorCode code, ErrorDesc description) noexcept
{
    try
    {
        std::string const whole = reportedInFull();
        std::scoped_lock const lock{mMutex};
        mLast = whole.empty() ? description : whole;
    }
    catch (...) // The text is only for a better message.
    {
    }
    return mNext == nullptr || mNext->reportError(code, description);
}

IErrorRecorder::RefCount Reasons::incRefCount() noexcept
{
    return 1; // It lives as long as the import that owns it.
}

IErrorRecorder::RefCount Reasons::decRefCount() noexcept
{
    return 1;
}

} // namespace tenon::onnx
