// writePlan: the same plan gives the same bytes.
#include "base/cancellation.h"
#include "base/cpus.h"
#include "base/out_of_memory.h"
#include "plan/check.h"
#include "plan/checksum.h"
#include "plan/format.h"
#include "plan/plan.h"
#include "plan/plan_generated.h"
#include "plan/plan_memory.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <utility>

namespace tenon
{

namespace
{
namespace fb = flatbuffers;

//! Where each weight lies in its section; equal bytes are stored once.
struct WeightPlaces
{
    std::vector<uint64_t> offsets;
    std::vector<bool> first; //!< False: the bytes of an earlier weight serve.
    uint64_t bytes{0};
};

//! A sum of some of a weight's bytes: what is alike here may be equal.
uint64_t sampleSum(ByteView bytes)
{
    constexpr size_t kSample{64};
    constexpr size_t kSamples{16};
    if (bytes.size() <= kSample * kSamples)
        return checksum(bytes);
    std::array<uint8_t, kSample * kSamples> all;
    for (size_t i = 0; i < kSamples; ++i)
        std::memcpy(&all[i * kSample], &bytes[(bytes.size() - kSample) / (kSamples - 1) * i], kSample);
    return checksum(all);
}

//! Finds weights whose bytes are equal. Few are alike in size and samples, and only of those all bytes are read.
class EqualWeights
{
  public:
    explicit EqualWeights(std::vector<PlanWeight> const& weights)
        : mWeights{weights},
          mSums(weights.size())
    {
    }
    //! The first among those that were asked for before; kNone: this one is.
    static constexpr size_t kNone{SIZE_MAX};
    size_t before(size_t i)
    {
        auto& alike = mAlike[{mWeights[i].bytes, sampleSum(bytesOf(i))}];
        for (size_t const other : alike)
            if (mWeights[i].bytes == 0
                || (sumOf(i) == sumOf(other)
                    && std::memcmp(mWeights[other].data, mWeights[i].data, mWeights[i].bytes) == 0))
                return other;
        alike.push_back(i);
        return kNone;
    }

  private:
    ByteView bytesOf(size_t i) const
    {
        return {static_cast<uint8_t const*>(mWeights[i].data), mWeights[i].bytes};
    }
    uint64_t sumOf(size_t i)
    {
        if (!mSums[i])
            mSums[i] = checksum(bytesOf(i));
        return *mSums[i];
    }

    std::vector<PlanWeight> const& mWeights;
    std::vector<std::optional<uint64_t>> mSums;
    std::map<std::pair<uint64_t, uint64_t>, std::vector<size_t>> mAlike;
};

WeightPlaces placeWeights(std::vector<PlanWeight> const& weights)
{
    WeightPlaces places;
    EqualWeights equal{weights};
    for (size_t i = 0; i < weights.size(); ++i)
    {
        cancellationPoint();
        size_t const earlier = weights[i].isStripped() ? EqualWeights::kNone : equal.before(i);
        places.first.push_back(!weights[i].isStripped() && earlier == EqualWeights::kNone);
        places.offsets.push_back(weights[i].isStripped() ? 0
                : places.first[i]                        ? places.bytes
                                                         : places.offsets[earlier]);
        if (places.first[i])
            places.bytes =
                (places.bytes + weights[i].bytes + kWeightAlignment - 1) / kWeightAlignment * kWeightAlignment;
    }
    return places;
}

//! The section of weights, part by part and from several threads; `written(i)` is called once all of weight i is.
class WeightSection
{
  public:
    WeightSection(
        std::vector<PlanWeight> const& weights, WeightPlaces const& places, std::function<void(size_t)> written)
        : mWeights{weights},
          mLeft(weights.size()),
          mWritten{std::move(written)}
    {
        for (size_t i = 0; i < weights.size(); ++i)
            if (places.first[i] && weights[i].bytes > 0)
            {
                mParts.push_back({places.offsets[i], i});
                mLeft[i] = weights[i].bytes;
            }
    }
    void write(uint8_t* to, uint64_t first, uint64_t count)
    {
        auto part = std::ranges::upper_bound(mParts, first, {}, &Part::offset);
        for (part -= part == mParts.begin() ? 0 : 1; part != mParts.end() && part->offset < first + count; ++part)
        {
            PlanWeight const& weight = mWeights[part->weight];
            uint64_t const begin = std::max(first, part->offset);
            uint64_t const end = std::min(first + count, part->offset + weight.bytes);
            if (begin >= end)
                continue;
            std::memcpy(
                to + (begin - first), static_cast<uint8_t const*>(weight.data) + (begin - part->offset), end - begin);
            if (mLeft[part->weight].fetch_sub(end - begin) == end - begin && mWritten)
                mWritten(part->weight);
        }
    }

  private:
    struct Part
    {
        uint64_t offset;
        size_t weight;
    };
    std::vector<PlanWeight> const& mWeights;
    std::vector<Part> mParts;                 //!< In order.
    std::vector<std::atomic<uint64_t>> mLeft; //!< Bytes of each weight.
    std::function<void(size_t)> mWritten;
};

//! Where the entry behind `code`, which lies at `offset`, begins.
uint64_t endOfCode(uint64_t offset, PlanCode const& code)
{
    return (offset + code.bytes + kWeightAlignment - 1) / kWeightAlignment * kWeightAlignment;
}

Bytes codeSection(std::vector<PlanCode> const& code)
{
    Bytes section;
    for (PlanCode const& each : code)
    {
        auto const* const first = static_cast<uint8_t const*>(each.data);
        uint64_t const end = endOfCode(section.size(), each);
        section.insert(section.end(), first, first + each.bytes);
        section.resize(end);
    }
    return section;
}

class Writer
{
  public:
    Bytes metadata(Plan const& plan, WeightPlaces const& places)
    {
        auto const name = text(plan.networkName);
        auto const io = tables<stored::IO>(plan.io, [&](PlanIO const& x) { return write(x); });
        auto const profiles = tables<stored::Profile>(plan.profiles, [&](PlanProfile const& x) { return write(x); });
        size_t next{0};
        auto const weights =
            tables<stored::Weight>(plan.weights, [&](PlanWeight const& x) { return write(x, places.offsets[next++]); });
        auto const nodes = tables<stored::Node>(plan.graph.nodes, [&](PlanNode const& x) { return write(x); });
        auto const values = tables<stored::Value>(
            plan.graph.values, [&](PlanValue const& x) { return stored::CreateValue(mOut, text(x.name), x.weight); });
        auto const programs = tables<stored::Program>(plan.programs, [&](Program const& x) { return write(x); });
        auto const decisions =
            tables<stored::Decision>(plan.decisions, [&](PlanDecision const& x) { return write(x); });
        auto const plugins = tables<stored::Plugin>(plan.plugins, [&](PlanPlugin const& x) { return write(x); });
        auto const memory = mOut.CreateVector(plan.memoryPerProfile);
        uint64_t at{0};
        auto const code = plan.code.empty() // Plans without code keep their bytes.
            ? fb::Offset<fb::Vector<fb::Offset<stored::Code>>>{}
            : tables<stored::Code>(plan.code, [&](PlanCode const& x) {
                  uint64_t const offset = std::exchange(at, endOfCode(at, x));
                  return write(x, offset);
              });
        auto const notes = plan.notes.empty() ? fb::Offset<fb::Vector<fb::Offset<stored::Note>>>{}
                                              : tables<stored::Note>(plan.notes, [&](PlanNote const& x) {
                                                    auto const layer = text(x.layer);
                                                    return stored::CreateNote(mOut, layer, text(x.text));
                                                });
        auto const bodies = write(plan.graph.bodies);
        auto const refit = plan.refit ? write(*plan.refit) : fb::Offset<stored::Refit>{};
        mOut.Finish(stored::CreatePlan(mOut, name, io, profiles, weights, nodes, values, programs, decisions, plugins,
            plan.profilingVerbosity, plan.networkLayers, memory, code, notes, plan.debugsUnfused,
            static_cast<uint8_t>(plan.batch.mode), plan.batch.most, plan.maxAuxStreams, bodies, refit,
            plan.keepsEntriesApart, plan.compatibility));
        cancellationPoint();
        return Bytes(mOut.GetBufferPointer(), mOut.GetBufferPointer() + mOut.GetSize());
    }

  private:
    fb::Offset<fb::String> text(std::string const& value)
    {
        return mOut.CreateSharedString(value);
    }
    fb::Offset<fb::Vector<fb::Offset<fb::String>>> texts(std::vector<std::string> const& values)
    {
        std::vector<fb::Offset<fb::String>> offsets;
        for (std::string const& value : values)
            offsets.push_back(text(value));
        return mOut.CreateVector(offsets);
    }
    fb::Offset<fb::Vector<int64_t>> dims(nvinfer1::Dims64 const& value)
    {
        return mOut.CreateVector(value.d, static_cast<size_t>(std::max(value.nbDims, 0)));
    }
    template <typename Table, typename T, typename Write>
    fb::Offset<fb::Vector<fb::Offset<Table>>> tables(std::vector<T> const& values, Write&& writeOne)
    {
        std::vector<fb::Offset<Table>> offsets;
        for (T const& value : values)
        {
            cancellationPoint();
            offsets.push_back(writeOne(value));
        }
        return mOut.CreateVector(offsets);
    }

    fb::Offset<stored::IO> write(PlanIO const& x)
    {
        auto const name = text(x.name);
        auto const extents = dims(x.dims);
        auto const names = texts(x.dimensionNames);
        return stored::CreateIO(mOut, name, x.isInput, x.isShape, static_cast<int32_t>(x.dtype), extents, x.graphValue,
            x.formats, names, static_cast<uint8_t>(x.layout));
    }
    fb::Offset<stored::Profile> write(PlanProfile const& x)
    {
        auto const inputs = tables<stored::ProfileInput>(x.inputs, [&](PlanProfileInput const& y) {
            auto const min = dims(y.min);
            auto const opt = dims(y.opt);
            auto const max = dims(y.max);
            auto const minValues = mOut.CreateVector(y.minValues);
            auto const optValues = mOut.CreateVector(y.optValues);
            auto const maxValues = mOut.CreateVector(y.maxValues);
            return stored::CreateProfileInput(mOut, y.io, min, opt, max, minValues, optValues, maxValues, y.isNarrow);
        });
        return stored::CreateProfile(mOut, inputs);
    }
    fb::Offset<stored::Weight> write(PlanWeight const& x, uint64_t offset)
    {
        auto const extents = mOut.CreateVector(x.extents);
        auto const packing = text(x.packing);
        auto const name = text(x.name);
        auto const refit = x.refit.empty() ? fb::Offset<fb::Vector<int32_t>>{} : mOut.CreateVector(x.refit);
        return stored::CreateWeight(
            mOut, static_cast<int32_t>(x.dtype), extents, packing, offset, x.bytes, name, refit, x.isStripped());
    }
    fb::Offset<stored::RefitWeights> write(PlanRefitWeights const& x)
    {
        auto const name = text(x.name);
        auto const uses = tables<stored::WeightsUse>(x.uses, [&](PlanWeightsUse const& y) {
            auto const layer = text(y.layer);
            return stored::CreateWeightsUse(mOut, layer, y.role);
        });
        return stored::CreateRefitWeights(mOut, name, static_cast<int32_t>(x.dtype), x.count, uses, x.fixed);
    }
    fb::Offset<stored::Refit> write(PlanRefit const& x)
    {
        auto const nodes = tables<stored::Node>(x.graph.nodes, [&](PlanNode const& y) { return write(y); });
        auto const values = tables<stored::Value>(
            x.graph.values, [&](PlanValue const& y) { return stored::CreateValue(mOut, text(y.name), y.weight); });
        auto const constants = tables<stored::RefitConstant>(x.constants, [&](PlanRefitConstant const& y) {
            auto const extents = mOut.CreateVector(y.extents);
            return stored::CreateRefitConstant(mOut, y.value, y.weights, extents);
        });
        auto const io = mOut.CreateVector(x.io);
        auto const weights =
            tables<stored::RefitWeights>(x.weights, [&](PlanRefitWeights const& y) { return write(y); });
        return stored::CreateRefit(mOut, nodes, values, constants, io, weights, write(x.graph.bodies));
    }
    fb::Offset<fb::Vector<fb::Offset<stored::Body>>> write(std::vector<PlanBody> const& bodies)
    {
        if (bodies.empty())
            return {};
        return tables<stored::Body>(bodies, [&](PlanBody const& x) {
            auto const inputs = mOut.CreateVector(x.inputs);
            auto const outputs = mOut.CreateVector(x.outputs);
            return stored::CreateBody(mOut, x.first, x.count, inputs, outputs);
        });
    }
    fb::Offset<stored::Node> write(PlanNode const& x)
    {
        auto const layer = text(x.layer);
        auto const fields = mOut.CreateVector(x.fields);
        auto const name = text(x.name);
        auto const origins = texts(x.origins);
        auto const inputs = mOut.CreateVector(x.inputs);
        auto const outputs = mOut.CreateVector(x.outputs);
        auto const bodies = x.bodies.empty() ? fb::Offset<fb::Vector<int32_t>>{} : mOut.CreateVector(x.bodies);
        return stored::CreateNode(mOut, layer, fields, name, origins, inputs, outputs, bodies);
    }
    fb::Offset<stored::Decision> write(PlanDecision const& x)
    {
        auto const kind = text(x.kind);
        auto const layer = text(x.layer);
        auto const why = text(x.text);
        return stored::CreateDecision(mOut, kind, layer, why);
    }
    fb::Offset<stored::Code> write(PlanCode const& x, uint64_t offset)
    {
        auto const name = text(x.name);
        auto const digest = mOut.CreateVector(x.sha256.data(), x.sha256.size());
        auto const target = text(x.target);
        return stored::CreateCode(mOut, name, digest, offset, x.bytes, static_cast<uint8_t>(x.form), target);
    }
    fb::Offset<stored::Plugin> write(PlanPlugin const& x)
    {
        auto const name = text(x.name);
        auto const version = text(x.version);
        auto const space = text(x.nameSpace);
        auto const library = text(x.library);
        auto const generation = text(x.generation);
        return stored::CreatePlugin(mOut, name, version, space, library, generation);
    }
    fb::Offset<stored::Tensor> write(PlanTensor const& x)
    {
        auto const extents = mOut.CreateVector(x.extents);
        auto const name = text(x.name);
        return stored::CreateTensor(mOut, static_cast<uint8_t>(x.kind), static_cast<int32_t>(x.dtype),
            static_cast<uint8_t>(x.layout), x.index, extents, x.graphValue, name, static_cast<uint8_t>(x.place));
    }
    fb::Offset<stored::Step> write(PlanStep const& x)
    {
        auto const kernel = text(x.kernel);
        auto const args = mOut.CreateVector(x.args);
        auto const inputs = mOut.CreateVector(x.inputs);
        auto const outputs = mOut.CreateVector(x.outputs);
        std::vector<stored::Pair> pairs;
        for (auto const& [output, input] : x.inPlace)
            pairs.emplace_back(output, input);
        auto const inPlace = mOut.CreateVectorOfStructs(pairs);
        auto const produces = mOut.CreateVector(x.produces);
        auto const name = text(x.name);
        auto const candidate = text(x.candidate);
        return stored::CreateStep(mOut, kernel, args, inputs, outputs, inPlace, produces, x.graphNode, name, candidate,
            x.tactic, x.code, x.stream, x.isFence, x.cost, static_cast<uint8_t>(x.place));
    }
    fb::Offset<stored::Control> write(PlanControl const& x)
    {
        std::vector<stored::Part> parts;
        for (PlanPart const& part : x.parts)
            parts.emplace_back(part.tensor, part.length, part.fromBehind);
        std::vector<stored::Join> joins;
        for (PlanJoin const& join : x.joins)
            joins.emplace_back(join.symbol, join.whenTrue, join.whenFalse);
        auto const storedParts = mOut.CreateVectorOfStructs(parts);
        auto const storedJoins = mOut.CreateVectorOfStructs(joins);
        return stored::CreateControl(mOut, static_cast<uint8_t>(x.kind), x.first, x.middle, x.last, x.condition,
            x.count, storedParts, storedJoins, text(x.name));
    }
    fb::Offset<stored::Program> write(Program const& x)
    {
        auto const device = text(x.device);
        auto const symbols = tables<stored::Symbol>(x.symbols, [&](PlanSymbol const& y) {
            return stored::CreateSymbol(
                mOut, static_cast<uint8_t>(y.kind), y.source, y.index, y.min, y.max, y.upper, text(y.name));
        });
        std::vector<stored::Instruction> instructions;
        for (PlanShapeInstruction const& y : x.shapes)
            instructions.emplace_back(static_cast<uint8_t>(y.op), y.a, y.b, y.value);
        auto const shapes = mOut.CreateVectorOfStructs(instructions);
        auto const tensors = tables<stored::Tensor>(x.tensors, [&](PlanTensor const& y) { return write(y); });
        auto const steps = tables<stored::Step>(x.steps, [&](PlanStep const& y) { return write(y); });
        auto const controls = x.controls.empty()
            ? fb::Offset<fb::Vector<fb::Offset<stored::Control>>>{}
            : tables<stored::Control>(x.controls, [&](PlanControl const& y) { return write(y); });
        auto const some = [&](std::string const& y) { return y.empty() ? fb::Offset<fb::String>{} : text(y); };
        auto const architecture = some(x.architecture);
        auto const libraries = some(x.libraries);
        return stored::CreateProgram(mOut, device, symbols, shapes, tensors, steps, controls, architecture, libraries);
    }

    fb::FlatBufferBuilder mOut{1 << 16};
};

//! The first touch of some hundred megabytes takes long enough for its user to give up meanwhile.
Bytes zerosInParts(size_t size)
{
    constexpr size_t kPart{size_t{8} << 20};
    Bytes bytes;
    bytes.reserve(size);
    while (bytes.size() < size)
    {
        cancellationPoint();
        bytes.resize(std::min(size, bytes.size() + kPart));
    }
    return bytes;
}

//! All of a plan's file but its weights.
struct PlanParts
{
    explicit PlanParts(Plan const& plan)
        : places{placeWeights(plan.weights)},
          metadata{Writer{}.metadata(plan, places)},
          code{codeSection(plan.code)},
          form{planForm(
              metadata.size(), places.bytes, code.size(), plan.streamsWeights ? uint32_t{kPlanStreamsWeights} : 0)}
    {
        cancellationPoint();
    }
    WeightPlaces places;
    Bytes metadata;
    Bytes code;
    PlanForm form;
};
} // namespace

Result<Bytes> writePlan(Plan const& plan)
{
    TENON_TRY(checkPlan(plan));
    return writeUncheckedPlan(plan);
}

Bytes writeUncheckedPlan(Plan const& plan)
{
    PlanParts const parts{plan};
    WeightSection section{plan.weights, parts.places, nullptr};
    Bytes file = zerosInParts(parts.form.header.size);
    sealPlan(
        parts.form, parts.metadata, [&](uint8_t* to, size_t first, size_t count) { section.write(to, first, count); },
        usableCpus(), parts.code, file);
    return file;
}

Result<std::shared_ptr<PlanMemory>> writePlanOnce(Plan plan, int32_t maxThreads)
{
    TENON_TRY(checkPlan(plan));
    PlanParts const parts{plan};
    // No large pages are asked for: small ones may be those of weights that have gone. Large ones come from further
    // away: a virtual machine may have given them back to its host, and waits for each to be filled there.
    std::shared_ptr<PlanMemory> const memory = PlanMemory::make(parts.form.header.size, false);
    if (memory == nullptr)
        throw OutOfMemory{fmt::format("{} bytes for a plan", parts.form.header.size)};
    WeightSection section{plan.weights, parts.places, [&](size_t i) { plan.weights[i].owner.reset(); }};
    std::span<uint8_t> const file = memory->writable();
    sealPlan(
        parts.form, parts.metadata,
        [&](uint8_t* to, size_t first, size_t count) {
            memory->touch(static_cast<size_t>(to - file.data()), count);
            section.write(to, first, count);
        },
        maxThreads, parts.code, file);
    return memory;
}

} // namespace tenon
