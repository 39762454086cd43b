// What storing, loading and showing fields has that is the same for all structs.
#include "base/fields.h"

namespace tenon::detail
{

namespace
{
//! A field as it is stored.
struct StoredField
{
    int32_t id;
    ByteReader bytes;
};

Result<StoredField> nextField(ByteReader& in)
{
    int32_t id{0};
    uint64_t size{0};
    TENON_TRY(in.raw(id));
    TENON_TRY(in.raw(size));
    return StoredField{id, ByteReader{TENON_TRY(in.take(size))}};
}

Bytes storedField(FieldAt const& field)
{
    ByteWriter out;
    field.kind->store(out, field.value);
    return out.take();
}

Result<Done> loadField(StoredField& stored, std::span<FieldAt const> fields, int32_t depth)
{
    for (FieldAt const& field : fields)
    {
        if (field.id != stored.id)
            continue;
        TENON_TRY(field.kind->load(stored.bytes, const_cast<void*>(field.value), depth));
        if (stored.bytes.left() != 0)
            return badArgument("field '{}' has {} bytes too many", field.name, stored.bytes.left());
        return Done{};
    }
    return badArgument("unknown field id {}", stored.id);
}
} // namespace

void storeFields(ByteWriter& out, std::span<FieldAt const> fields)
{
    out.raw(static_cast<uint32_t>(fields.size()));
    for (FieldAt const& field : fields)
    {
        Bytes const bytes = storedField(field);
        out.raw(field.id);
        out.raw(static_cast<uint64_t>(bytes.size()));
        out.raw(ByteView{bytes});
    }
}

Result<Done> loadFields(ByteReader& in, std::span<FieldAt const> fields, int32_t depth)
{
    uint32_t count{0};
    TENON_TRY(in.raw(count));
    for (uint32_t i = 0; i < count; ++i)
    {
        StoredField stored = TENON_TRY(nextField(in));
        TENON_TRY(loadField(stored, fields, depth + 1));
    }
    return Done{};
}

std::string showFields(std::span<FieldAt const> fields, std::span<FieldAt const> plain)
{
    std::string text;
    for (size_t i = 0; i < fields.size(); ++i)
        if (storedField(fields[i]) != storedField(plain[i]))
            text +=
                fmt::format("{}{}={}", text.empty() ? "" : ", ", fields[i].name, fields[i].kind->show(fields[i].value));
    return text;
}

} // namespace tenon::detail
