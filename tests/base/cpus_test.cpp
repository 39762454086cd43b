// Quotas of control groups, read below a root folder that the test writes.
#include "base/cpus.h"

#include <fstream>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

namespace tenon::test
{

namespace
{
namespace fs = std::filesystem;

class Quota : public ::testing::Test
{
  protected:
    void SetUp() override
    {
        root = fs::temp_directory_path() / ("tenon_quota_" + std::to_string(::getpid()));
        fs::remove_all(root);
    }
    void TearDown() override
    {
        fs::remove_all(root);
    }
    void write(fs::path const& path, std::string const& text) const
    {
        fs::path const full = root / path.relative_path();
        fs::create_directories(full.parent_path());
        std::ofstream{full} << text;
    }
    void limit1(fs::path const& group, int64_t quota, int64_t period = 100000) const
    {
        write(group / "cpu.cfs_quota_us", std::to_string(quota) + "\n");
        write(group / "cpu.cfs_period_us", std::to_string(period) + "\n");
    }

    fs::path root;
};

constexpr char const* kVersion2{"24 1 0:22 / /proc rw,nosuid - proc proc rw\n"
                                "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"};
constexpr char const* kVersion1{
    "31 23 0:28 / /sys/fs/cgroup ro,nosuid shared:4 - tmpfs tmpfs ro,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:5 master:7 - cgroup cgroup rw,cpu,cpuacct\n"
    "33 31 0:30 / /sys/fs/cgroup/cpuset rw,nosuid shared:6 - cgroup cgroup rw,cpuset\n"};
} // namespace

TEST_F(Quota, thereIsNoneWithoutFiles)
{
    EXPECT_EQ(cpuQuota(root), std::nullopt);
    write("/proc/self/cgroup", "no line of the kind\n0::\n");
    write("/proc/self/mountinfo", "nor here\n\n1 2 3:4 /\n");
    EXPECT_EQ(cpuQuota(root), std::nullopt);
}

TEST_F(Quota, theSmallestOnTheWayUpCountsInVersion2)
{
    write("/proc/self/cgroup", "0::/system.slice/job.service/inner\n");
    write("/proc/self/mountinfo", kVersion2);
    write("/sys/fs/cgroup/system.slice/job.service/inner/cpu.max", "max 100000\n");
    EXPECT_EQ(cpuQuota(root), std::nullopt);
    write("/sys/fs/cgroup/system.slice/job.service/cpu.max", "200000 100000\n");
    EXPECT_EQ(cpuQuota(root), 2.0);
    write("/sys/fs/cgroup/system.slice/cpu.max", "75000 50000\n");
    EXPECT_EQ(cpuQuota(root), 1.5);
    write("/sys/fs/cgroup/system.slice/job.service/inner/cpu.max", "300000 100000\n");
    EXPECT_EQ(cpuQuota(root), 1.5);
    write("/sys/fs/cgroup/other.slice/cpu.max", "10000 100000\n"); // Not on the way.
    EXPECT_EQ(cpuQuota(root), 1.5);
    write("/sys/fs/cgroup/system.slice/job.service/inner/cpu.max", "50000 100000\n");
    EXPECT_EQ(cpuQuota(root), 0.5);
}

TEST_F(Quota, theSmallestOnTheWayUpCountsInVersion1)
{
    write("/proc/self/cgroup", "4:cpuset:/\n3:cpu,cpuacct:/outer/inner\n1:name=systemd:/\n0::/\n");
    write("/proc/self/mountinfo", kVersion1);
    limit1("/sys/fs/cgroup/cpu,cpuacct", -1);
    limit1("/sys/fs/cgroup/cpu,cpuacct/outer/inner", -1);
    EXPECT_EQ(cpuQuota(root), std::nullopt);
    limit1("/sys/fs/cgroup/cpu,cpuacct/outer", 400000);
    EXPECT_EQ(cpuQuota(root), 4.0);
    limit1("/sys/fs/cgroup/cpu,cpuacct/outer/inner", 500000);
    EXPECT_EQ(cpuQuota(root), 4.0);
    limit1("/sys/fs/cgroup/cpu,cpuacct/outer/inner", 50000, 50000);
    EXPECT_EQ(cpuQuota(root), 1.0);
    limit1("/sys/fs/cgroup/cpuset/outer", 10000); // Another hierarchy.
    EXPECT_EQ(cpuQuota(root), 1.0);
}

TEST_F(Quota, aContainerSeesItsOwnGroupAsTheTop)
{
    // Docker without a name space of its own for groups: the mount shows a part of the hierarchy.
    write("/proc/self/cgroup", "3:cpu,cpuacct:/docker/abc/deeper\n");
    write("/proc/self/mountinfo",
        "32 31 0:29 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n");
    limit1("/sys/fs/cgroup/cpu,cpuacct", 300000);
    EXPECT_EQ(cpuQuota(root), 3.0);
    limit1("/sys/fs/cgroup/cpu,cpuacct/deeper", 100000);
    EXPECT_EQ(cpuQuota(root), 1.0);
}

TEST_F(Quota, aGroupOutsideOfTheMountIsBoundByWhatCanBeSeen)
{
    write("/proc/self/cgroup", "0::/../sibling\n");
    write("/proc/self/mountinfo", kVersion2);
    write("/sys/fs/cgroup/cpu.max", "250000 100000\n");
    write("/sys/fs/sibling/cpu.max", "100000 100000\n"); // No group at all.
    EXPECT_EQ(cpuQuota(root), 2.5);
}

TEST_F(Quota, bothVersionsAtOnceAndMountPointsWithBlanks)
{
    write("/proc/self/cgroup", "3:cpu:/one\n0::/two\n");
    write("/proc/self/mountinfo",
        "32 31 0:29 / /groups\\040of\\134mine rw - cgroup cgroup rw,cpu\n"
        "33 31 0:30 / /unified rw - cgroup2 none rw\n");
    limit1("/groups of\\mine/one", 300000);
    EXPECT_EQ(cpuQuota(root), 3.0);
    write("/unified/two/cpu.max", "200000 100000\n");
    EXPECT_EQ(cpuQuota(root), 2.0);
}

TEST(UsableCpus, areAtLeastOneAndNoMoreThanTheAffinityAllows)
{
    cpu_set_t before;
    ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
    EXPECT_LE(usableCpus(), CPU_COUNT(&before));
    cpu_set_t one;
    CPU_ZERO(&one);
    for (size_t cpu = 0; CPU_COUNT(&one) == 0; ++cpu)
        if (CPU_ISSET(cpu, &before))
            CPU_SET(cpu, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    EXPECT_EQ(usableCpus(), 1);
    EXPECT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}

} // namespace tenon::test
