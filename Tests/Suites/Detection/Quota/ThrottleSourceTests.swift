import Testing

@testable import LagDetection

struct ThrottleSourceTests {
    private let mount = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"

    private func tree() throws -> FakeTree {
        try FakeTree(
            cgroup: "0::/a\n",
            mountinfo: mount,
            files: [
                "/sys/fs/cgroup/a/cpu.stat.local": "throttled_usec 100\n",
                "/sys/fs/cgroup/b/cpu.stat.local": "throttled_usec 5000\n",
                "/sys/fs/cgroup/b/cpu.max": "10000 100000\n",
            ]
        )
    }

    @Test func `a reading shows the growth since an earlier one`() throws {
        let tree = try tree()
        let source = ThrottleSource(root: tree.root)
        let before = try #require(source.read(at: 10))
        #expect(before == ThrottleReading(time: 10, throttledNanoseconds: 100_000))
        try tree.write("throttled_usec 180\n", to: "/sys/fs/cgroup/a/cpu.stat.local")
        let after = try #require(source.read(at: 20))
        #expect(after.growth(since: before) == 80_000 && before.growth(since: after) == 0)
    }

    @Test func `a process that moves to another group is followed, and its readings are not mixed`() throws {
        let tree = try tree()
        let source = ThrottleSource(root: tree.root)
        let before = try #require(source.read(at: 10))
        #expect(source.confirm())
        try tree.write("0::/b\n", to: "/proc/self/cgroup")
        // Not noticed yet.
        #expect(source.read(at: 11)?.throttledNanoseconds == 100_000)
        #expect(!source.confirm())
        let after = try #require(source.read(at: 12))
        #expect(after.throttledNanoseconds == 5_000_000)
        #expect(after.growth(since: before) == nil)
        #expect(source.confirm())
    }

    @Test func `a process that is gone keeps its groups`() throws {
        let tree = try tree()
        let source = ThrottleSource(root: tree.root)
        try tree.remove("/proc/self/cgroup")
        #expect(source.confirm())
        #expect(source.read(at: 10) != nil)
    }

    @Test func `invisible groups give no reading`() throws {
        let source = ThrottleSource(root: "/nonexistent")
        #expect(source.read(at: 10) == nil && source.confirm())
    }
}
