// Takes the big weights out of a serialized model: a walk over three nested messages of the protobuf encoding.
#include "wire.h"

#include <cstdint>

namespace tenon::onnx
{
namespace
{

// Field numbers of onnx.proto.
constexpr uint64_t kModelGraph{7};
constexpr uint64_t kGraphInitializer{5};
constexpr uint64_t kTensorRawData{9};
constexpr size_t kBigBytes{512}; //!< Smaller weights are cheaper to copy than to keep track of.

enum Wire : uint64_t
{
    kVarint = 0,
    kFixed64 = 1,
    kBytes = 2,
    kFixed32 = 5,
};

struct Field
{
    uint64_t number{0};
    uint64_t wire{0};
    std::span<char const> whole;   //!< With its tag.
    std::span<char const> payload; //!< Of kBytes only.
};

class Reader
{
  public:
    explicit Reader(std::span<char const> bytes)
        : mBytes{bytes}
    {
    }

    bool atEnd() const noexcept
    {
        return mAt == mBytes.size();
    }

    std::optional<Field> next()
    {
        size_t const begin = mAt;
        std::optional<uint64_t> const tag = varint();
        if (!tag)
        {
            return std::nullopt;
        }
        Field field{.number = *tag >> 3U, .wire = *tag & 7U, .whole = {}, .payload = {}};
        if (!skip(field))
        {
            return std::nullopt;
        }
        field.whole = mBytes.subspan(begin, mAt - begin);
        return field;
    }

  private:
    std::optional<uint64_t> varint()
    {
        uint64_t value{0};
        for (unsigned shift = 0; shift < 64 && mAt < mBytes.size(); shift += 7)
        {
            auto const byte = static_cast<uint8_t>(mBytes[mAt++]);
            value |= static_cast<uint64_t>(byte & 0x7FU) << shift;
            if ((byte & 0x80U) == 0)
            {
                return value;
            }
        }
        return std::nullopt;
    }

    bool advance(uint64_t count)
    {
        if (count > mBytes.size() - mAt)
        {
            return false;
        }
        mAt += static_cast<size_t>(count);
        return true;
    }

    bool skip(Field& field)
    {
        switch (field.wire)
        {
        case kVarint: return varint().has_value();
        case kFixed64: return advance(8);
        case kFixed32: return advance(4);
        case kBytes:
        {
            std::optional<uint64_t> const size = varint();
            size_t const begin = mAt;
            if (!size || !advance(*size))
            {
                return false;
            }
            field.payload = mBytes.subspan(begin, mAt - begin);
            return true;
        }
        default: return false; // Groups have no place in onnx.proto.
        }
    }

    std::span<char const> mBytes;
    size_t mAt{0};
};

void putVarint(std::string& out, uint64_t value)
{
    for (; value >= 0x80U; value >>= 7U)
    {
        out.push_back(static_cast<char>(value | 0x80U));
    }
    out.push_back(static_cast<char>(value));
}

void putMessage(std::string& out, uint64_t number, std::string const& payload)
{
    putVarint(out, number << 3U | kBytes);
    putVarint(out, payload.size());
    out += payload;
}

//! Copies a message field by field; `rewrite` may take a field over by returning true, and fail by returning nothing.
template <typename Rewrite>
bool copyFields(std::span<char const> message, std::string& out, Rewrite const& rewrite)
{
    for (Reader reader{message}; !reader.atEnd();)
    {
        std::optional<Field> const field = reader.next();
        if (!field)
        {
            return false;
        }
        std::optional<bool> const taken = rewrite(*field);
        if (!taken)
        {
            return false;
        }
        if (!*taken)
        {
            out.append(field->whole.data(), field->whole.size());
        }
    }
    return true;
}

bool slimTensor(std::span<char const> tensor, std::string& out, SlimModel& slim)
{
    std::optional<std::span<char const>> raw;
    bool const fine = copyFields(tensor, out, [&](Field const& field) -> std::optional<bool> {
        if (field.number != kTensorRawData || field.wire != kBytes || field.payload.size() < kBigBytes)
        {
            return false;
        }
        raw = field.payload;
        return true;
    });
    slim.rawData.push_back(raw);
    return fine;
}

bool slimGraph(std::span<char const> graph, std::string& out, SlimModel& slim)
{
    return copyFields(graph, out, [&](Field const& field) -> std::optional<bool> {
        if (field.number != kGraphInitializer || field.wire != kBytes)
        {
            return false;
        }
        std::string tensor;
        if (!slimTensor(field.payload, tensor, slim))
        {
            return std::nullopt;
        }
        putMessage(out, kGraphInitializer, tensor);
        return true;
    });
}

} // namespace

std::optional<SlimModel> takeOutWeights(std::span<char const> model)
{
    SlimModel slim;
    bool const fine = copyFields(model, slim.bytes, [&](Field const& field) -> std::optional<bool> {
        if (field.number != kModelGraph || field.wire != kBytes)
        {
            return false;
        }
        std::string graph;
        if (!slimGraph(field.payload, graph, slim))
        {
            return std::nullopt;
        }
        putMessage(slim.bytes, kModelGraph, graph);
        return true;
    });
    return fine ? std::optional{std::move(slim)} : std::nullopt;
}

} // namespace tenon::onnx
