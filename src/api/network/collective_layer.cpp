// CollectiveLayer: checks that one device is all that takes part.
#include "api/network/collective_layer.h"

#include "api/network/add_layer.h"
#include "layers/identity.h"

namespace tenon::api
{

using namespace nvinfer1;

namespace
{
bool isReducing(CollectiveOperation operation)
{
    return operation == CollectiveOperation::kALL_REDUCE || operation == CollectiveOperation::kREDUCE
        || operation == CollectiveOperation::kREDUCE_SCATTER;
}

bool hasRoot(CollectiveOperation operation)
{
    return operation == CollectiveOperation::kBROADCAST || operation == CollectiveOperation::kREDUCE
        || operation == CollectiveOperation::kGATHER || operation == CollectiveOperation::kSCATTER;
}
} // namespace

Result<Done> CollectiveLayer::Exchange::verify() const
{
    if (operation < CollectiveOperation::kALL_REDUCE || operation > CollectiveOperation::kSCATTER)
        return badArgument("unknown operation {}", static_cast<int32_t>(operation));
    if (reduction < ReduceOperation::kSUM || reduction > ReduceOperation::kNONE)
        return badArgument("unknown reduction {}", static_cast<int32_t>(reduction));
    if (isReducing(operation) && reduction == ReduceOperation::kNONE)
        return badArgument("operation {} reduces, and kNONE says nothing of how", static_cast<int32_t>(operation));
    return Done{};
}

CollectiveLayer::CollectiveLayer(Network& network, Exchange exchange)
    : LayerBase{network, "DistCollective", {.type = LayerType::kDIST_COLLECTIVE}},
      mExchange{std::move(exchange)}
{
    mLayer = static_cast<LayerBase*>(this);
    mImpl = static_cast<missing::DistCollectiveLayer*>(this);
}

LayerPtr CollectiveLayer::fieldsAsLayer() const
{
    return makeLayer(Identity{});
}

Result<std::vector<Operand>> CollectiveLayer::operands() const
{
    if (mNbRanks > 1)
        return badConfig("layer '{}': it spreads over {} ranks; a network runs on one device here", name(), mNbRanks);
    if (mExchange.groups.size() > 1 || (mExchange.groups.size() == 1 && mExchange.groups.front() != 0))
        return badConfig("layer '{}': its group of {} begins with rank {}; a network runs on one device here, rank 0",
            name(), mExchange.groups.size(), mExchange.groups.front());
    if (hasRoot(mExchange.operation) && mExchange.root != 0)
        return badConfig(
            "layer '{}': rank {} is its root; a network runs on one device here, rank 0", name(), mExchange.root);
    return LayerBase::operands();
}

bool CollectiveLayer::setNbRanks(int32_t nbRanks) noexcept
{
    if (nbRanks < 1)
        return false;
    mNbRanks = nbRanks;
    edited();
    return true;
}

int32_t CollectiveLayer::getNbRanks() const noexcept
{
    return mNbRanks;
}

IDistCollectiveLayer* Network::addDistCollective(ITensor& input, CollectiveOperation distCollectiveOp,
    ReduceOperation reduceOp, int64_t root, int64_t* groups, int64_t groupSize) noexcept
{
    using Made = IDistCollectiveLayer*;
    return fenced(mReporting.log(), "INetworkDefinition::addDistCollective", Made{nullptr}, [&]() -> Result<Made> {
        if (groupSize < 0 || (groupSize > 0 && groups == nullptr))
            return badArgument("a group of {} ranks{}", groupSize, groups == nullptr ? " and no address" : "");
        CollectiveLayer::Exchange exchange{distCollectiveOp, reduceOp, root, {groups, groups + groupSize}};
        TENON_TRY(exchange.verify());
        std::vector<Tensor*> own = TENON_TRY(ownTensors({&input}));
        return take(std::make_unique<CollectiveLayer>(*this, std::move(exchange)), std::move(own));
    });
}

} // namespace tenon::api
