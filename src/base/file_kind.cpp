// FileKind: signatures, and a walk over the outermost fields of what may be an ONNX model.
#include "base/file_kind.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fmt/format.h>
#include <optional>
#include <string_view>

namespace tenon
{

namespace
{
using namespace std::string_view_literals;

struct Signature
{
    size_t at;
    std::string_view bytes;
    std::string_view kind;
};

constexpr std::string_view kPickle{"a Python pickle: export the model to ONNX first"};
constexpr std::string_view kOwnPlan{"a plan of Tenon, which is built already: load it as one (tenon run, deserialize)"};
constexpr std::string_view kForeignPlan{
    "a plan of TensorRT, which runs on the GPU that it was built for: build one from the model"};

// From the formats' own documents; https://www.garykessler.net/library/file_sigs.html lists most.
constexpr std::array kSignatures{
    Signature{0, "version https://git-lfs.github.com/"sv,
        "a pointer of Git LFS in the place of the file: git lfs pull fetches it"},
    Signature{8, "TENONPLN"sv, kOwnPlan},
    Signature{0, "TENONPLN"sv, kOwnPlan},
    Signature{4, "TFL3"sv, "a model of TensorFlow Lite: convert it to ONNX first (tf2onnx)"},
    Signature{
        0, "\x89HDF\r\n\x1a\n"sv, "an HDF5 file, as Keras writes them: convert the model to ONNX first (tf2onnx)"},
    Signature{
        0, "\x80\x02\x8a\nl\xfc\x9c"sv, "a pickle of PyTorch: export the model to ONNX first (torch.onnx.export)"},
    Signature{0, "\x80\x02"sv, kPickle},
    Signature{0, "\x80\x03"sv, kPickle},
    Signature{0, "\x80\x04\x95"sv, kPickle},
    Signature{0, "\x80\x05\x95"sv, kPickle},
    Signature{0, "GGUF"sv, "a GGUF file, weights of a language model without a graph"},
    Signature{0, "ftrt"sv, kForeignPlan},
    Signature{0, "ptrt"sv, kForeignPlan},
    Signature{0, "\x93NUMPY"sv, "an array of NumPy"},
    Signature{0, "\x1f\x8b"sv, "compressed by gzip: unpack it first (gunzip)"},
    Signature{0, "BZh"sv, "compressed by bzip2: unpack it first (bunzip2)"},
    Signature{0,
        "\xfd"
        "7zXZ"sv,
        "compressed by xz: unpack it first (unxz)"},
    Signature{0, "\x28\xb5\x2f\xfd"sv, "compressed by zstd: unpack it first (unzstd)"},
    Signature{0, "7z\xbc\xaf\x27\x1c"sv, "a 7z archive: unpack it first"},
    Signature{257, "ustar"sv, "a tar archive: unpack it first"},
    Signature{0,
        "\x7f"
        "ELF"sv,
        "a program or library"},
};

bool contains(std::string_view text, std::string_view part)
{
    return text.find(part) != std::string_view::npos;
}

std::string kindOfArchive(std::string_view text)
{
    std::string_view const names = text.substr(0, 4096); // The first entries' names stand there.
    if (contains(names, "data.pkl") || contains(names, "/version") || contains(names, ".data/serialization_id"))
        return "a ZIP archive of PyTorch: export the model to ONNX first (torch.onnx.export)";
    if (contains(names, "config.json") && contains(text, "model.weights.h5"))
        return "a ZIP archive of Keras: convert the model to ONNX first (tf2onnx)";
    if (contains(names, ".npy"))
        return "a ZIP archive of NumPy arrays";
    return "a ZIP archive: unpack it first";
}

//! Text that somebody's server, or another program, has written.
std::string kindOfText(std::string_view text)
{
    size_t const first = text.find_first_not_of(" \t\r\n\xef\xbb\xbf");
    if (first == std::string_view::npos)
        return {};
    std::string start{text.substr(first, 256)};
    std::transform(start.begin(), start.end(), start.begin(), [](unsigned char c) { return std::tolower(c); });
    if (start.starts_with("<!doctype html") || start.starts_with("<html"))
        return "an HTML page: the download gave a page of the server instead of the file";
    if (start.starts_with("<?xml") || start.starts_with("<net"))
        return contains(start, "<net") ? "a model of OpenVINO: Tenon wants the ONNX model that it was made from"
                                       : "an XML text, perhaps the message of a server instead of the file";
    if (start.starts_with("{") && std::all_of(start.begin(), start.end(), [](unsigned char c) { return c >= 9; }))
        return "a JSON text, perhaps the message of a server instead of the file";
    return {};
}

//! Weights of Hugging Face: the size of a JSON header, and the header.
bool isSafetensors(std::span<uint8_t const> bytes)
{
    uint64_t size{0};
    for (size_t i = 0; i < 8 && i < bytes.size(); ++i)
        size |= static_cast<uint64_t>(bytes[i]) << 8 * i;
    return bytes.size() > 9 && size < bytes.size() && bytes[8] == '{' && bytes[9] == '"';
}

std::optional<uint64_t> varintAt(std::span<uint8_t const> bytes, size_t& at)
{
    uint64_t value{0};
    for (unsigned shift = 0; shift < 64 && at < bytes.size(); shift += 7)
    {
        uint8_t const byte = bytes[at++];
        value |= static_cast<uint64_t>(byte & 0x7FU) << shift;
        if ((byte & 0x80U) == 0)
            return value;
    }
    return std::nullopt;
}

//! The fields of a ModelProto, as far as they go (onnx.proto: ir_version 1, graph 7, opset_import 8, functions 25).
struct ModelFields
{
    bool hasVersion{false};
    bool areKnown{true};
    bool isCut{false};  //!< The last one reaches beyond the end.
    uint64_t wanted{0}; //!< Bytes that the file would need to have then.
};

ModelFields fieldsOf(std::span<uint8_t const> bytes)
{
    ModelFields fields;
    for (size_t at = 0; at < bytes.size();)
    {
        size_t const start{at};
        std::optional<uint64_t> const tag = varintAt(bytes, at);
        std::optional<uint64_t> const value = tag ? varintAt(bytes, at) : std::nullopt;
        uint64_t const number = tag.value_or(0) >> 3U;
        bool const isVersion = tag == uint64_t{8};
        bool const isOther = tag && (*tag & 7U) <= 2
            && ((number >= 2 && number <= 8) || number == 14 || number == 20 || number == 25 || number == 26);
        fields.hasVersion = fields.hasVersion || isVersion;
        fields.areKnown = fields.areKnown && (isVersion || isOther || (!value && bytes.size() - start < 12));
        if (!fields.areKnown)
            return fields;
        uint64_t const payload = tag && (*tag & 7U) == 2 ? value.value_or(0) : 0;
        if (value && payload <= bytes.size() - at)
        {
            at += static_cast<size_t>(payload);
            continue;
        }
        fields.isCut = true;
        fields.wanted = std::max<uint64_t>(at + payload, bytes.size() + 1);
        return fields;
    }
    return fields;
}
} // namespace

std::string kindOfFile(std::span<uint8_t const> bytes, bool wantsModel)
{
    std::string_view const text{reinterpret_cast<char const*>(bytes.data()), bytes.size()};
    if (bytes.empty())
        return "an empty file";
    for (Signature const& signature : kSignatures)
        if (text.size() > signature.at && text.substr(signature.at).starts_with(signature.bytes))
            return std::string{signature.kind};
    if (text.starts_with("PK\x03\x04"))
        return kindOfArchive(text);
    if (std::string kind = kindOfText(text); !kind.empty())
        return kind;
    if (isSafetensors(bytes))
        return "weights in the form of safetensors, without a graph: export the model to ONNX first";
    if (std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte == 0; }))
        return "nothing but zeros, as a download leaves it that was broken off";
    ModelFields const fields = fieldsOf(bytes);
    if (!fields.hasVersion || !fields.areKnown)
        return {};
    if (!wantsModel)
        return "an ONNX model, it seems: build a plan of it (tenon build); its name should end in .onnx";
    if (fields.isCut)
        return fmt::format("the first part of one: it should have {} bytes at least, and has {}; fetch it again",
            fields.wanted, bytes.size());
    return {};
}

} // namespace tenon
