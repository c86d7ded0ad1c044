import Foundation
import TestSupport
import Testing

@testable import LagDetection

/// With the kernel's own control groups, where this machine lets us make some.
struct RealControlGroupTests {
    @Test(.enabled(if: ControlGroupFolder.canLimitCPU, "no permission to make a group with a quota in /sys/fs/cgroup/cpu"))
    func `a quota makes the throttled time grow`() throws {
        let group = try #require(ControlGroupFolder(in: ControlGroupFolder.cpu, having: "cpu.cfs_quota_us"))
        defer { group.remove() }
        try group.write("100000", to: "cpu.cfs_period_us")
        try group.write("5000", to: "cpu.cfs_quota_us")
        let child = try ChildProcess("while :; do :; done")
        defer { child.end() }
        try group.write("\(child.pid)", to: "cgroup.procs")

        let meter = try #require(ThrottleMeter(process: child.pid))
        let before = try #require(meter.read())
        let throttled = eventually { (meter.read()?.since(before).throttledNanoseconds ?? 0) > 300_000_000 }
        #expect(throttled)
        #expect(try #require(meter.read()?.since(before).throttledCount) > 0)
        #expect(meter.isCurrent())
    }

    @Test(.enabled(if: ControlGroupFolder.canLimitCPU, "no permission to make a group with a quota in /sys/fs/cgroup/cpu"))
    func `the quota of an ancestor is seen too`() throws {
        let outer = try #require(ControlGroupFolder(in: ControlGroupFolder.cpu, having: "cpu.cfs_quota_us"))
        defer { outer.remove() }
        try outer.write("100000", to: "cpu.cfs_period_us")
        try outer.write("5000", to: "cpu.cfs_quota_us")
        let inner = try #require(ControlGroupFolder(in: outer.path, having: "cpu.cfs_quota_us"))
        defer { inner.remove() }
        let child = try ChildProcess("while :; do :; done")
        defer { child.end() }
        try inner.write("\(child.pid)", to: "cgroup.procs")

        let meter = try #require(ThrottleMeter(process: child.pid))
        let before = try #require(meter.read())
        let throttled = eventually { (meter.read()?.since(before).throttledNanoseconds ?? 0) > 300_000_000 }
        #expect(throttled)
    }

    @Test(.enabled(if: ControlGroupFolder.freezerParent != nil, "no permission to make a group with a freezer"))
    func `a freeze is measured where the kernel reports it`() throws {
        let parent = try #require(ControlGroupFolder.freezerParent)
        let group = try #require(ControlGroupFolder(in: parent, having: "cgroup.freeze"))
        defer { group.remove() }
        let child = try ChildProcess("exec sleep 1000")
        defer { child.end() }
        try group.write("\(child.pid)", to: "cgroup.procs")
        guard let meter = ThrottleMeter(process: child.pid), let before = meter.read(), before.frozenNanoseconds != nil else {
            print("not tested: the kernel has no frozen_usec (before 6.17)")
            return
        }
        try group.write("1", to: "cgroup.freeze")
        usleep(200_000)
        try group.write("0", to: "cgroup.freeze")
        let frozen = try #require(meter.read()?.since(before).frozenNanoseconds)
        #expect(frozen >= 200_000_000)
        usleep(50_000)
        #expect(meter.read()?.since(before).frozenNanoseconds == frozen)
    }
}
