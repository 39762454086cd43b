// HostMemory: a block of bytes that the user gets, for instance a plan.
#pragma once

#include "api/handle.h"
#include "api/not_implemented.h"
#include "base/bytes.h"

namespace tenon::api
{

class HostMemory final : public nvinfer1::apiv::VHostMemory, public Fronted<nvinfer1::IHostMemory, HostMemory>
{
  public:
    explicit HostMemory(Bytes bytes)
        : mBytes{std::move(bytes)},
          mView{mBytes}
    {
    }
    //! Memory that belongs to something else, which stays as long as this does.
    HostMemory(ByteView view, std::shared_ptr<void const> owner)
        : mOwner{std::move(owner)},
          mView{view}
    {
    }
    void* data() const noexcept override
    {
        return const_cast<uint8_t*>(mView.data());
    }
    size_t size() const noexcept override
    {
        return mView.size();
    }
    nvinfer1::DataType type() const noexcept override
    {
        return nvinfer1::DataType::kINT8;
    }

  private:
    Bytes mBytes;
    std::shared_ptr<void const> mOwner;
    ByteView mView;
};

} // namespace tenon::api
