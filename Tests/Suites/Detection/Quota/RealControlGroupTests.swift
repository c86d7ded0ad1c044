import Foundation
import TestSupport
import Testing

@testable import LagDetection

/// With the kernel's own control groups, if this machine permits creating some.
struct RealControlGroupTests {
    @Test(
        .enabled(if: ControlGroupFolder.canLimitCPU, "no permission to make a group with a quota in /sys/fs/cgroup/cpu"),
        arguments: ["the group", "its parent"]
    )
    func `a quota makes the throttled time grow`(limited: String) throws {
        let outer = try #require(ControlGroupFolder(in: ControlGroupFolder.cpu, having: "cpu.cfs_quota_us"))
        defer { outer.remove() }
        try outer.write("100000", to: "cpu.cfs_period_us")
        try outer.write("5000", to: "cpu.cfs_quota_us")
        let group = limited == "the group" ? outer : try #require(ControlGroupFolder(in: outer.path, having: "cpu.cfs_quota_us"))
        // The inner one first. Removing one twice is not an error.
        defer { group.remove() }
        let child = try ChildProcess("while :; do :; done")
        defer { child.end() }
        try group.write("\(child.pid)", to: "cgroup.procs")

        let meter = try #require(ThrottleMeter(process: child.pid))
        let before = try #require(meter.read())
        let throttled = eventually { (meter.read() ?? 0) - before > 300_000_000 }
        #expect(throttled)
    }
}
