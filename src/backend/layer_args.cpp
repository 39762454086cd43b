// LayerArgs: storage. Written by hand rather than through a field list, so that field bytes are copied in one piece.
#include "backend/layer_args.h"

namespace tenon
{

namespace
{
void putBytes(ByteWriter& out, ByteView bytes)
{
    out.raw(static_cast<uint64_t>(bytes.size()));
    out.raw(bytes);
}

Result<ByteView> takeBytes(ByteReader& in)
{
    uint64_t size{0};
    TENON_TRY(in.raw(size));
    return in.take(size);
}
} // namespace

Bytes encodeLayerArgs(LayerArgs const& args)
{
    ByteWriter out;
    out.raw(args.unread);
    putBytes(out, {reinterpret_cast<uint8_t const*>(args.layer.data()), args.layer.size()});
    putBytes(out, args.fields);
    putBytes(out, args.choices);
    return out.take();
}

Result<LayerArgs> decodeLayerArgs(ByteView bytes)
{
    ByteReader in{bytes};
    LayerArgs args;
    TENON_TRY(in.raw(args.unread));
    ByteView const layer = TENON_TRY(takeBytes(in));
    ByteView const fields = TENON_TRY(takeBytes(in));
    ByteView const choices = TENON_TRY(takeBytes(in));
    if (in.left() != 0)
        return badArgument("kernel arguments have {} bytes too many", in.left());
    args.layer.assign(layer.begin(), layer.end());
    args.fields.assign(fields.begin(), fields.end());
    args.choices.assign(choices.begin(), choices.end());
    return args;
}

} // namespace tenon
