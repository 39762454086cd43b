// Fields of IPluginV3 as a plan stores them, and back.
#pragma once

#include "base/bytes.h"

#include "NvInferPluginBase.h"

#include <deque>
#include <string>
#include <vector>

namespace tenon::plugins
{

//! Bytes of a field's data; −1 for a type that does not exist or a negative length. kUNKNOWN: length is in bytes.
int64_t bytesOf(nvinfer1::PluginField const& field) noexcept;

Result<Bytes> encodeFields(nvinfer1::PluginFieldCollection const& fields);

//! Owns the names and the data that its collection points to, aligned for every type.
class DecodedFields
{
  public:
    static Result<DecodedFields> decode(ByteView bytes);
    DecodedFields(DecodedFields&&) = default;
    DecodedFields& operator=(DecodedFields&&) = default;

    nvinfer1::PluginFieldCollection collection() const noexcept
    {
        return {static_cast<int32_t>(mFields.size()), mFields.data()};
    }

  private:
    DecodedFields() = default;

    std::deque<std::string> mNames;
    std::deque<std::vector<uint64_t>> mData;
    std::vector<nvinfer1::PluginField> mFields;
};

} // namespace tenon::plugins
