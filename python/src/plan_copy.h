// PlanCopy: the bytes of a buffer that others may change, in memory of our own.
#pragma once

#include <cstddef>
#include <memory>

namespace tenon::python
{

class PlanCopy
{
  public:
    //! Null where the system has no file in memory. As many bytes as can be read: the buffer may be a mapping of a file
    //! that has become shorter, or becomes so now.
    static std::unique_ptr<PlanCopy> of(void const* data, size_t size);
    ~PlanCopy();
    PlanCopy(PlanCopy const&) = delete;
    PlanCopy& operator=(PlanCopy const&) = delete;

    void const* data() const noexcept
    {
        return mData;
    }
    size_t size() const noexcept
    {
        return mSize;
    }

  private:
    PlanCopy(void* data, size_t size) noexcept
        : mData{data},
          mSize{size}
    {
    }

    void* mData;
    size_t mSize;
};

} // namespace tenon::python
