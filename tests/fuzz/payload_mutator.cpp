// Mutations of payloads: half of them keep the form of stored fields.
#include "fuzz/payload_mutator.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace tenon::test
{

using nvinfer1::PluginField;
using nvinfer1::PluginFieldType;

Bytes PayloadMutator::mutated(Bytes payload, Bytes const& other)
{
    if (once(2))
        payload = withOtherFields(payload);
    else
        damage(payload, other);
    return payload;
}

void PayloadMutator::overwrite(Bytes& bytes)
{
    constexpr std::array<int32_t, 12> kInts{-1, 0, 1, 2, 3, 7, 255, 65536, 1 << 30, INT32_MAX, INT32_MIN, -100};
    constexpr std::array<float, 8> kFloats{0.0F, -1.0F, 1e-38F, 3e38F, 0.5F, -0.0F, 1e10F, 100.0F};
    if (bytes.size() < sizeof(int32_t))
        return;
    size_t const at = once(4) ? below(bytes.size() - 3) : below(bytes.size() / 4) * 4;
    int32_t word{0};
    switch (below(4))
    {
    case 0: word = std::bit_cast<int32_t>(kFloats[below(kFloats.size())]); break;
    case 1: word = static_cast<int32_t>(mRandom()); break;
    default: word = kInts[below(kInts.size())]; break;
    }
    std::memcpy(bytes.data() + at, &word, sizeof(word));
}

void PayloadMutator::damage(Bytes& bytes, Bytes const& other)
{
    auto const position = [&](Bytes const& within) { return static_cast<std::ptrdiff_t>(below(within.size() + 1)); };
    switch (below(6))
    {
    case 0: bytes.resize(below(bytes.size() + 1)); return;
    case 1: bytes.insert(bytes.begin() + position(bytes), below(64) + 1, static_cast<uint8_t>(mRandom())); return;
    case 2:
    case 3: overwrite(bytes); return;
    case 4:
    {
        auto const last = position(other);
        auto const first = static_cast<std::ptrdiff_t>(below(static_cast<uint64_t>(last) + 1));
        Bytes const piece(other.begin() + first, other.begin() + last);
        bytes.insert(bytes.begin() + position(bytes), piece.begin(), piece.end());
        return;
    }
    default:
        for (uint64_t i = below(4) + 1; i > 0 && !bytes.empty(); --i)
            bytes[below(bytes.size())] ^= static_cast<uint8_t>(1U << below(8));
    }
}

Bytes PayloadMutator::withOtherFields(Bytes const& payload)
{
    auto const decoded = plugins::DecodedFields::decode(payload);
    if (!decoded)
        return payload;
    std::vector<Field> fields;
    nvinfer1::PluginFieldCollection const stored = decoded->collection();
    for (PluginField const& field : std::span{stored.fields, static_cast<size_t>(stored.nbFields)})
    {
        auto const* const data = static_cast<uint8_t const*>(field.data);
        fields.push_back({field.name, field.type, field.length, Bytes(data, data + plugins::bytesOf(field))});
    }
    for (uint64_t i = below(2) + 1; i > 0; --i)
        change(fields);
    std::vector<PluginField> all;
    for (Field& field : fields)
    {
        all.push_back({field.name.c_str(), field.data.data(), field.type, field.length});
        field.data.resize(static_cast<size_t>(std::max<int64_t>(plugins::bytesOf(all.back()), 0)) + 1);
        all.back().data = field.data.data();
    }
    auto bytes = plugins::encodeFields({static_cast<int32_t>(all.size()), all.data()});
    return bytes ? *std::move(bytes) : payload;
}

void PayloadMutator::change(std::vector<Field>& fields)
{
    if (fields.empty() || once(20))
        fields.push_back({"other", PluginFieldType::kINT32, 1, Bytes(4, static_cast<uint8_t>(mRandom()))});
    auto const chosen = fields.begin() + static_cast<std::ptrdiff_t>(below(fields.size()));
    if (once(15))
        fields.erase(chosen);
    else if (once(20))
        fields.push_back(Field{*chosen});
    else
        change(*chosen);
}

void PayloadMutator::change(Field& field)
{
    if (once(6))
        resize(field);
    else if (once(12))
        field.type = static_cast<PluginFieldType>(below(16));
    else if (once(40) && !field.name.empty())
        field.name[below(field.name.size())] ^= 1;
    else if (field.type == PluginFieldType::kCHAR && !field.data.empty())
        field.data[below(field.data.size())] = static_cast<uint8_t>(mRandom());
    else
        overwrite(field.data);
}

//! Another number of elements, the new ones being those there are.
void PayloadMutator::resize(Field& field)
{
    size_t const element = field.length > 0 ? field.data.size() / static_cast<size_t>(field.length) : 0;
    if (element == 0)
        return;
    field.length = static_cast<int32_t>(once(8) ? below(300) : below(2 * static_cast<uint64_t>(field.length) + 1));
    Bytes const before = field.data;
    field.data.resize(element * static_cast<size_t>(field.length));
    for (size_t i = before.size(); i < field.data.size(); ++i)
        field.data[i] = before[i % before.size()];
}

} // namespace tenon::test
