// Our numbers and types of NVTX against the toolkit's headers, where there are any.
#include "base/nvtx.h"

#include <gtest/gtest.h>

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>

namespace tenon::test
{

TEST(NvtxHeaders, eventsLieAsTheToolkitSays)
{
    EXPECT_EQ(sizeof(NvtxEvent), sizeof(nvtxEventAttributes_t));
    EXPECT_EQ(offsetof(NvtxEvent, payload), offsetof(nvtxEventAttributes_t, payload));
    EXPECT_EQ(offsetof(NvtxEvent, messageType), offsetof(nvtxEventAttributes_t, messageType));
    EXPECT_EQ(offsetof(NvtxEvent, message), offsetof(nvtxEventAttributes_t, message));
    NvtxEvent const event;
    EXPECT_EQ(event.version, NVTX_VERSION);
    EXPECT_EQ(event.size, NVTX_EVENT_ATTRIB_STRUCT_SIZE);
    EXPECT_EQ(event.messageType, int{NVTX_MESSAGE_TYPE_ASCII});
}

TEST(NvtxHeaders, callsHaveTheNumbersOfTheToolkit)
{
    EXPECT_EQ(uint32_t{kNvtxDomainRangeStart}, uint32_t{NVTX_CBID_CORE2_DomainRangeStartEx});
    EXPECT_EQ(uint32_t{kNvtxDomainRangeEnd}, uint32_t{NVTX_CBID_CORE2_DomainRangeEnd});
    EXPECT_EQ(uint32_t{kNvtxDomainRangePush}, uint32_t{NVTX_CBID_CORE2_DomainRangePushEx});
    EXPECT_EQ(uint32_t{kNvtxDomainRangePop}, uint32_t{NVTX_CBID_CORE2_DomainRangePop});
    EXPECT_EQ(uint32_t{kNvtxDomainCreate}, uint32_t{NVTX_CBID_CORE2_DomainCreateA});
}

} // namespace tenon::test
#endif
