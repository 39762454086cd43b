// WireMessage: a message in the encoding of protocol buffers, written field by field.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace tenon::inspect
{

class WireMessage
{
  public:
    WireMessage& number(int32_t field, int64_t value)
    {
        key(field, kVarint);
        varint(static_cast<uint64_t>(value));
        return *this;
    }
    WireMessage& real(int32_t field, float value)
    {
        key(field, kFixed32);
        auto const bits = std::bit_cast<uint32_t>(value);
        for (int32_t shift = 0; shift < 32; shift += 8)
            mBytes += static_cast<char>(bits >> shift & 0xFF);
        return *this;
    }
    //! A text, bytes, or a message within this one.
    WireMessage& text(int32_t field, std::string_view value)
    {
        key(field, kDelimited);
        varint(value.size());
        mBytes += value;
        return *this;
    }
    WireMessage& message(int32_t field, WireMessage const& inner)
    {
        return text(field, inner.mBytes);
    }
    std::string take()
    {
        return std::move(mBytes);
    }

  private:
    static constexpr int32_t kVarint{0};
    static constexpr int32_t kDelimited{2};
    static constexpr int32_t kFixed32{5};

    void key(int32_t field, int32_t form)
    {
        varint(static_cast<uint64_t>(field << 3 | form));
    }
    void varint(uint64_t value)
    {
        for (; value >= 0x80; value >>= 7)
            mBytes += static_cast<char>((value & 0x7F) | 0x80);
        mBytes += static_cast<char>(value);
    }

    std::string mBytes;
};

} // namespace tenon::inspect
