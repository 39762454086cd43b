// Fields of IPluginV3: name, type, length, data, one after the other.
#include "plugins/field_bytes.h"

#include "base/fields.h"

namespace tenon::plugins
{

using nvinfer1::PluginField;
using nvinfer1::PluginFieldType;

namespace
{
int64_t bitsOf(PluginFieldType type) noexcept
{
    switch (type)
    {
    case PluginFieldType::kINT4:
    case PluginFieldType::kFP4: return 4;
    case PluginFieldType::kINT8:
    case PluginFieldType::kFP8:
    case PluginFieldType::kCHAR:
    case PluginFieldType::kUNKNOWN: return 8;
    case PluginFieldType::kFLOAT16:
    case PluginFieldType::kBF16:
    case PluginFieldType::kINT16: return 16;
    case PluginFieldType::kFLOAT32:
    case PluginFieldType::kINT32: return 32;
    case PluginFieldType::kFLOAT64:
    case PluginFieldType::kINT64: return 64;
    case PluginFieldType::kDIMS: return 8 * static_cast<int64_t>(sizeof(nvinfer1::Dims));
    }
    return -1;
}
} // namespace

int64_t bytesOf(PluginField const& field) noexcept
{
    int64_t const bits = bitsOf(field.type);
    return bits < 0 || field.length < 0 ? -1 : (bits * field.length + 7) / 8;
}

Result<Bytes> encodeFields(nvinfer1::PluginFieldCollection const& fields)
{
    if (fields.nbFields < 0 || (fields.nbFields > 0 && fields.fields == nullptr))
        return badConfig("it holds {} fields at address {}", fields.nbFields, static_cast<void const*>(fields.fields));
    ByteWriter out;
    out.raw(fields.nbFields);
    for (int32_t i = 0; i < fields.nbFields; ++i)
    {
        PluginField const& field = fields.fields[i];
        std::string const name = field.name == nullptr ? "" : field.name;
        int64_t const size = bytesOf(field);
        if (size < 0 || (size > 0 && field.data == nullptr))
            return badConfig("field '{}' has type {}, length {} and data at {}", name, static_cast<int32_t>(field.type),
                field.length, field.data);
        store(out, name);
        out.raw(static_cast<int32_t>(field.type));
        out.raw(field.length);
        out.raw(ByteView{static_cast<uint8_t const*>(field.data), static_cast<size_t>(size)});
    }
    return out.take();
}

Result<DecodedFields> DecodedFields::decode(ByteView bytes)
{
    ByteReader in{bytes};
    int32_t count{0};
    TENON_TRY(in.raw(count));
    DecodedFields decoded;
    for (int32_t i = 0; i < count; ++i)
    {
        PluginField field;
        TENON_TRY(load(in, decoded.mNames.emplace_back()));
        int32_t type{0};
        TENON_TRY(in.raw(type));
        TENON_TRY(in.raw(field.length));
        field.type = static_cast<PluginFieldType>(type);
        int64_t const size = bytesOf(field);
        if (size < 0)
            return badArgument(
                "stored field '{}' has type {} and length {}", decoded.mNames.back(), type, field.length);
        ByteView const data = TENON_TRY(in.take(static_cast<uint64_t>(size)));
        // At least one word, so that a field of no elements has an address, too.
        auto& words = decoded.mData.emplace_back(data.size() / sizeof(uint64_t) + 1);
        if (!data.empty())
            std::memcpy(words.data(), data.data(), data.size());
        field.name = decoded.mNames.back().c_str();
        field.data = words.data();
        decoded.mFields.push_back(field);
    }
    if (in.left() != 0)
        return badArgument("{} bytes follow the stored fields", in.left());
    return decoded;
}

} // namespace tenon::plugins
