// Convolution of int8 images by minimal filtering: lanes share tiles and maps, and transform what they need themselves.
#include "backends/cpu/int8_convolution.h"
#include "backends/cpu/int8_functions.h"
#include "backends/cpu/int8_winograd.h"
#include "base/isa.h"

#include <algorithm>

namespace tenon::cpu
{

namespace
{
constexpr int64_t kLeastInt8Channels{16};
constexpr int64_t kMaxInt8Weights{256 * 256}; //!< Transformed weights take 32/9 of the memory of the original ones.
constexpr int64_t kLeastInt8Tiles{4};
constexpr int64_t kInt8BlockBytes{int64_t{256} << 10}; //!< Of one lane's transformed tiles.
constexpr int64_t kMaxInt8Block{48};

//! Four times G g Gᵀ, whose entries are whole numbers.
void transformKernel(int8_t const (&g)[3][3], int16_t (&to)[kTileIn][kTileIn])
{
    int32_t t[kTileIn][3];
    for (int32_t x = 0; x < 3; ++x)
    {
        t[0][x] = 2 * g[0][x];
        t[1][x] = g[0][x] + g[1][x] + g[2][x];
        t[2][x] = g[0][x] - g[1][x] + g[2][x];
        t[3][x] = 2 * g[2][x];
    }
    for (int32_t y = 0; y < kTileIn; ++y)
    {
        to[y][0] = static_cast<int16_t>(2 * t[y][0]);
        to[y][1] = static_cast<int16_t>(t[y][0] + t[y][1] + t[y][2]);
        to[y][2] = static_cast<int16_t>(t[y][0] - t[y][1] + t[y][2]);
        to[y][3] = static_cast<int16_t>(2 * t[y][2]);
    }
}
} // namespace

Result<int16_t const*> LoadedInt8Convolution::transformed(int64_t channels, int64_t maps) const
{
    std::scoped_lock const lock{mMutex};
    if (mTransformed != nullptr)
        return static_cast<int16_t const*>(mTransformed.get());
    auto const count = static_cast<size_t>(int8TileKernelSize(channels, maps));
    std::shared_ptr<void> memory = TENON_TRY(KernelMemory::allocate(kernel.memory(), count * sizeof(int16_t)));
    auto* const to = static_cast<int16_t*>(memory.get());
    std::fill_n(to, count, int16_t{0});
    int64_t const depth = paddedChannels(channels);
    int64_t const part = panelsOf(maps) * depth * kPanel;
    for (int64_t map = 0; map < maps; ++map)
        for (int64_t c = 0; c < channels; ++c)
        {
            int8_t g[3][3];
            for (int64_t tap = 0; tap < 9; ++tap)
                g[tap / 3][tap % 3] = weights.data()[quadPosition(matrix, tap, c, map)];
            int16_t numbers[kTileIn][kTileIn];
            transformKernel(g, numbers);
            int64_t const at = (map / kPanel * depth / 2 + c / 2) * 2 * kPanel + map % kPanel * 2 + c % 2;
            for (int64_t i = 0; i < kTileParts; ++i)
                to[i * part + at] = numbers[i / kTileIn][i % kTileIn];
        }
    mTransformed = std::move(memory);
    return to;
}

bool wantsInt8Tiles(LoadedInt8Convolution const& loaded, Geometry const& g)
{
    GemmWindow const& w = g.window;
    bool const isThree = w.kernelHeight == 3 && w.kernelWidth == 3 && !loaded.isLines;
    bool const isPlain = w.strideY == 1 && w.strideX == 1 && w.dilationY == 1 && w.dilationX == 1 && g.groups == 1;
    int64_t const tiles = (w.outHeight + kTileOut - 1) / kTileOut * ((w.outWidth + kTileOut - 1) / kTileOut);
    return activeIsa() < Isa::kAvx512Vnni && loaded.layer.inputZero == 0 && isThree && isPlain
        && g.channels >= kLeastInt8Channels && g.channels <= kMaxInt8TileChannels && g.maps >= kLeastInt8Channels
        && g.channels * g.maps <= kMaxInt8Weights && g.images * tiles >= kLeastInt8Tiles;
}

Step int8TilesStep(std::shared_ptr<LoadedInt8Convolution const> loaded, Geometry const& geometry,
    Int8Epilogue const& epilogue, Int8Scaling scaling, int32_t threads)
{
    Int8Tiles3x3 form;
    form.window = geometry.window;
    form.channels = geometry.channels;
    form.maps = geometry.maps;
    form.tilesY = (geometry.window.outHeight + kTileOut - 1) / kTileOut;
    form.tilesX = (geometry.window.outWidth + kTileOut - 1) / kTileOut;
    form.kernel = TENON_TRY(loaded->transformed(geometry.channels, geometry.maps));
    int64_t const tileBytes = int8TileScratch(geometry.channels, 1);
    form.block = std::clamp<int64_t>(kInt8BlockBytes / tileBytes / 6 * 6, 6, kMaxInt8Block);
    for (float& factor : scaling.factors)
        factor /= static_cast<float>(kInt8TileScale);
    for (float& offset : scaling.offsets)
        offset *= static_cast<float>(kInt8TileScale);
    int64_t const tiles = geometry.images * form.tilesY * form.tilesX;
    int64_t const laneBytes = int8TileScratch(geometry.channels, form.block);
    auto run = [loaded = std::move(loaded), form, epilogue, scaling = std::move(scaling), tiles, laneBytes, threads,
                   zeros = std::vector<int8_t>(static_cast<size_t>(geometry.channels))](
                   Call const& call, Lane const& lane) {
        int32_t const lanes = std::min(lane.count, threads); // More than were prepared for have no memory.
        if (lane.index >= lanes)
            return;
        Int8Tiles3x3 work = form;
        work.in = static_cast<int8_t const*>(call.inputs[0]);
        work.zeros = zeros.data();
        work.finish = epilogue.bind(call, scaling, 0, 0);
        int8Functions().runInt8Tiles(work, shareOf({tiles, work.maps, work.channels, work.channels}, lane.index, lanes),
            static_cast<int8_t*>(call.scratch) + lane.index * laneBytes);
    };
    return teamStep(std::move(run), static_cast<size_t>(threads * laneBytes));
}

} // namespace tenon::cpu
