import Foundation
import Testing

@testable import LagDetection

struct ThrottleMeterTests {
    private let unifiedMount = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 master:1 - cgroup2 cgroup2 rw,nsdelegate\n"

    private func quota(_ nanoseconds: UInt64, count: UInt64) -> String {
        "nr_periods 90\nnr_throttled \(count)\nthrottled_time \(nanoseconds)\nnr_bursts 0\nburst_time 0\n"
    }

    private func unifiedQuota(_ microseconds: UInt64, count: UInt64) -> String {
        "usage_usec 5\nuser_usec 3\nsystem_usec 2\nnr_periods 90\nnr_throttled \(count)\nthrottled_usec \(microseconds)\nnr_bursts 0\n"
    }

    @Test func `the throttled times of all ancestors are added up`() throws {
        let tree = try FakeTree(
            cgroup: "0::/a/b\n",
            mountinfo: unifiedMount,
            files: [
                "/sys/fs/cgroup/cpu.stat": "usage_usec 5\n",  // the root group has no quota
                "/sys/fs/cgroup/a/cpu.stat": unifiedQuota(700, count: 3),
                "/sys/fs/cgroup/a/b/cpu.stat": unifiedQuota(50, count: 2),
            ]
        )
        let meter = try #require(ThrottleMeter(root: tree.root))
        #expect(meter.read() == 750_000)
    }

    @Test func `the sum of the kernel is preferred to the calculated sum`() throws {
        let tree = try FakeTree(
            cgroup: "0::/a/b\n",
            mountinfo: unifiedMount,
            files: [
                "/sys/fs/cgroup/a/cpu.stat": unifiedQuota(700, count: 3),
                "/sys/fs/cgroup/a/b/cpu.stat": unifiedQuota(50, count: 2),
                "/sys/fs/cgroup/a/b/cpu.stat.local": "throttled_usec 420\n",
            ]
        )
        let meter = try #require(ThrottleMeter(root: tree.root))
        #expect(meter.read() == 420_000)
    }

    @Test func `a group without the controller is scheduled like its parent`() throws {
        let tree = try FakeTree(
            cgroup: "0::/a/b\n",
            mountinfo: unifiedMount,
            files: [
                "/sys/fs/cgroup/a/cpu.stat": unifiedQuota(700, count: 3),
                "/sys/fs/cgroup/a/cpu.stat.local": "throttled_usec 690\n",
                "/sys/fs/cgroup/a/b/cpu.stat": "usage_usec 5\n",
                "/sys/fs/cgroup/a/b/cpu.stat.local": "",
            ]
        )
        let meter = try #require(ThrottleMeter(root: tree.root))
        #expect(meter.read() == 690_000)
    }

    @Test func `the times of cgroup v1 are in nanoseconds`() throws {
        let tree = try FakeTree(
            cgroup: "12:cpuset:/other\n4:cpu,cpuacct:/a\n0::/elsewhere\n",
            mountinfo: "29 23 0:25 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
                + "31 23 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" + unifiedMount,
            files: [
                "/sys/fs/cgroup/cpu,cpuacct/cpu.stat": quota(0, count: 0),
                "/sys/fs/cgroup/cpu,cpuacct/a/cpu.stat": quota(123_456, count: 7),
                "/sys/fs/cgroup/elsewhere/cpu.stat": unifiedQuota(9, count: 9),
            ]
        )
        let meter = try #require(ThrottleMeter(root: tree.root))
        #expect(meter.read() == 123_456)
    }

    @Test func `frozen time is not throttled time`() throws {
        let tree = try FakeTree(
            cgroup: "0::/a\n",
            mountinfo: unifiedMount,
            files: [
                "/sys/fs/cgroup/a/cpu.stat.local": "throttled_usec 7\n",
                "/sys/fs/cgroup/a/cgroup.stat.local": "frozen_usec 8000000\n",
            ]
        )
        #expect(try #require(ThrottleMeter(root: tree.root)).read() == 7_000)
    }

    /// For a process in a container, `mountinfo` shows the container's folders, which are different or missing here.
    @Test func `the groups of another process are found in the mounts of this process`() throws {
        let tree = try FakeTree(
            cgroup: "0::/monitor\n",
            mountinfo: unifiedMount,
            files: [
                "/proc/77/cgroup": "0::/web/app\n",
                "/proc/77/mountinfo": "30 23 0:26 /web /inside rw - cgroup2 cgroup2 rw\n",
                "/sys/fs/cgroup/monitor/cpu.stat": unifiedQuota(1, count: 1),
                "/sys/fs/cgroup/web/app/cpu.stat": unifiedQuota(40, count: 2),
                "/inside/app/cpu.stat": unifiedQuota(999, count: 9),
            ]
        )
        #expect(try #require(ThrottleMeter(root: tree.root, process: 77)).read() == 40_000)
        #expect(try #require(ThrottleMeter(root: tree.root)).read() == 1_000)
    }

    @Test func `the throttled time of a removed group is unknown`() throws {
        let tree = try FakeTree(
            cgroup: "0::/a\n",
            mountinfo: unifiedMount,
            files: ["/sys/fs/cgroup/a/cpu.stat": unifiedQuota(100, count: 1)]
        )
        let meter = try #require(ThrottleMeter(root: tree.root))
        try tree.write(unifiedQuota(180, count: 4), to: "/sys/fs/cgroup/a/cpu.stat")
        #expect(meter.read() == 180_000)
        try tree.remove("/sys/fs/cgroup/a/cpu.stat")
        #expect(meter.read() == nil)
    }

    @Test func `without a group there is no meter`() throws {
        #expect(ThrottleMeter(root: "/nonexistent") == nil)
        let unmounted = try FakeTree(cgroup: "0::/a\n", mountinfo: "")
        #expect(ThrottleMeter(root: unmounted.root) == nil)
        let empty = try FakeTree(cgroup: "0::/a\n", mountinfo: unifiedMount)
        #expect(ThrottleMeter(root: empty.root) == nil)
    }

    @Test(
        arguments: [
            ("throttled_usec 12\n", 12), ("a 1\nthrottled_usec 12", 12), ("throttled_usec 18446744073709551615\n", .max),
            ("throttled_usec 18446744073709551616\n", nil), ("throttled_usec \n", nil), ("throttled_usec", nil),
            ("xthrottled_usec 12\n", nil), ("throttled_usec-12\n", nil), ("", nil), ("\n\n", nil),
        ] as [(String, UInt64?)]
    )
    func `a number is found by its whole name`(text: String, value: UInt64?) {
        #expect(Array(text.utf8).withUnsafeBytes { KernelFile.number(named: "throttled_usec", in: $0) } == value)
    }

    @Test func `readings of this process never decrease`() {
        guard let meter = ThrottleMeter(), let before = meter.read(), let after = meter.read() else { return }
        #expect(after >= before)
    }
}
