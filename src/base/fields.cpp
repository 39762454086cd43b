// What storing and loading fields has that is the same for all structs.
#include "base/fields.h"

namespace tenon::detail
{

void storeField(ByteWriter& out, int32_t id, ByteWriter const& bytes)
{
    out.raw(id);
    out.raw(static_cast<uint64_t>(bytes.bytes().size()));
    out.raw(ByteView{bytes.bytes()});
}

Result<StoredField> nextField(ByteReader& in)
{
    int32_t id{0};
    uint64_t size{0};
    TENON_TRY(in.raw(id));
    TENON_TRY(in.raw(size));
    return StoredField{id, ByteReader{TENON_TRY(in.take(size))}};
}

Result<Done> readToEnd(Result<Done> read, std::string_view name, ByteReader const& bytes)
{
    if (read && bytes.left() != 0)
        return badArgument("field '{}' has {} bytes too many", name, bytes.left());
    return read;
}

Result<Done> unknownField(int32_t id)
{
    return badArgument("unknown field id {}", id);
}

} // namespace tenon::detail
