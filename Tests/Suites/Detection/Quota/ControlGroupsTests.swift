import Testing

@testable import LagDetection

struct ControlGroupsTests {
    private func folders(_ cgroup: String, _ mountinfo: String, in hierarchy: ControlGroups.Hierarchy = .unified) -> [String] {
        ControlGroups(cgroup: cgroup, mountinfo: mountinfo).folders(in: hierarchy, limit: 8)
    }

    private func mount(root: String = "/", at point: String = "/sys/fs/cgroup") -> String {
        "30 23 0:26 \(root) \(point) rw,nosuid shared:9 - cgroup2 cgroup2 rw\n"
    }

    @Test func `the group of the process comes first, then its ancestors`() {
        #expect(folders("0::/a/b", mount()) == ["/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a", "/sys/fs/cgroup"])
        #expect(folders("0::/", mount()) == ["/sys/fs/cgroup"])
    }

    @Test func `the mount in a container begins at its own group`() {
        #expect(folders("0::/docker/c1/web", mount(root: "/docker/c1")) == ["/sys/fs/cgroup/web", "/sys/fs/cgroup"])
        #expect(folders("0::/docker/c1", mount(root: "/docker/c1")) == ["/sys/fs/cgroup"])
    }

    @Test func `a mount of another group does not show the group of the process`() {
        #expect(folders("0::/docker/c12", mount(root: "/docker/c1")).isEmpty)
        #expect(folders("0::/", mount(root: "/docker/c1")).isEmpty)
    }

    @Test func `a group outside the namespace is found only through a mount of it`() {
        #expect(folders("0::/../x", mount()).isEmpty)
        #expect(folders("0::/../x", mount(root: "/..")) == ["/sys/fs/cgroup/x", "/sys/fs/cgroup"])
        #expect(folders("0::/../../x", mount(root: "/..")).isEmpty)
    }

    @Test func `the mount that shows the most ancestors is used`() {
        #expect(
            folders("0::/a/b", mount(root: "/a", at: "/one") + mount(at: "/two") + mount(root: "/a/b", at: "/three"))
                == ["/two/a/b", "/two/a", "/two"]
        )
    }

    @Test func `the controller is found by its whole name`() {
        let cgroup = "3:cpuset:/s\n2:cpuacct:/t\n1:cpu:/c:d\n0::/u\n"
        let mounts = "33 31 0:30 / /m/cpuacct rw - cgroup cgroup rw,cpuacct\n32 31 0:29 / /m/cpu rw - cgroup cgroup rw,cpu\n"
        #expect(folders(cgroup, mounts, in: .controller("cpu")) == ["/m/cpu/c:d", "/m/cpu"])
        #expect(folders(cgroup, mounts, in: .controller("cpuset")).isEmpty)
        #expect(folders(cgroup, mounts).isEmpty)
    }

    @Test func `spaces in a mount point are escaped`() {
        #expect(folders("0::/a", mount(at: "/my\\040groups\\134x")) == ["/my groups\\x/a", "/my groups\\x"])
        #expect(folders("0::/a", mount(at: "/my\\9")) == ["/my\\9/a", "/my\\9"])
    }

    @Test func `the depth is limited to the innermost groups`() {
        let deep = ControlGroups(cgroup: "0::/1/2/3/4/5/6/7/8/9", mountinfo: mount()).folders(in: .unified, limit: 8)
        #expect(deep.count == 8)
        #expect(deep.first == "/sys/fs/cgroup/1/2/3/4/5/6/7/8/9")
        #expect(deep.last == "/sys/fs/cgroup/1/2")
    }

    @Test(arguments: ["", "\n", "0:", "::", "nonsense", "0::", " - ", "30 23 0:26 / /x rw - cgroup2"])
    func `lines in an unknown form are ignored`(text: String) {
        #expect(folders(text, mount()).count <= 1)
        #expect(folders("0::/a", text).isEmpty)
    }
}
