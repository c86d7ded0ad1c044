import LagOutput
import Testing

/// The container and pod of a process, from its environment and the kernel.
struct ProcessResourceTests {
    private static let id = "4f1c" + String(repeating: "0123456789ab", count: 5)
    private static let other = String(repeating: "e", count: 64)

    @Test(arguments: [
        "12:memory:/docker/ID", "0::/docker/ID", "0::/system.slice/docker-ID.scope",
        "11:cpu,cpuacct:/kubepods/burstable/pod8d1ec9e1-6b1d-4d3a-9c1e-0d4a5c0c7a11/ID",
        "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod8d1e.slice/cri-containerd-ID.scope",
        "0::/../cri-containerd-ID.scope",
        "1:name=systemd:/system.slice/containerd.service/kubepods-pod8d.slice:cri-containerd:ID",
        "0::/kubepods.slice/kubepods-pod8d.slice/crio-ID.scope/container", "0::/machine.slice/libpod-ID.scope/container",
        "0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-ID.scope", "3:pids:/ecs/0f1e2d3c/ID",
        "0::/system.slice/nerdctl-ID.scope",
        "12:cpu:/\n11:memory:/docker/ID\n0::/init.scope",
        // The inner one of nested containers.
        "0::/docker/\(Self.other)/docker/ID",
    ])
    func `the container ID is found in the control group`(lines: String) {
        #expect(ContainerID.inControlGroups(lines.replacing("ID", with: Self.id) + "\n") == Self.id)
    }

    @Test(arguments: [
        "0::/", "", "0::/user.slice/user-0.slice/session-1.scope", "0::/machine.slice/libpod-conmon-ID.scope",
        "0::/crio-conmon-ID.scope",
        "0::/system.slice/backup-ID.scope", "0::/docker/IDa", "0::/docker/4f1c0123", "no colon/docker/ID", "0:/docker/ID",
    ])
    func `other control group names are not taken for a container ID`(lines: String) {
        #expect(ContainerID.inControlGroups(lines.replacing("ID", with: Self.id)) == nil)
        #expect(ContainerID.inControlGroups("0::/docker/\(Self.id.uppercased())") == nil)
    }

    private static let docker = """
        1004 995 0:93 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw
        1010 995 254:1 /docker/containers/ID/resolv.conf /etc/resolv.conf rw,relatime - ext4 /dev/vda1 rw
        1011 995 254:1 /docker/containers/ID/hostname /etc/hostname rw,relatime - ext4 /dev/vda1 rw
        """
    private static let podman = """
        800 780 0:25 /containers/storage/overlay-containers/OTHER/userdata/hostname /etc/hostname rw - tmpfs tmpfs rw
        801 780 0:25 /containers/storage/overlay-containers/ID/userdata/.containerenv /run/.containerenv rw - tmpfs tmpfs rw
        """

    @Test func `the container ID is found in the mounts`() {
        let docker = Self.docker.replacing("ID", with: Self.id)
        #expect(ContainerID.inMounts(docker) == Self.id)
        #expect(ContainerID.inMounts(Self.podman.replacing("ID", with: Self.id).replacing("OTHER", with: Self.other)) == Self.id)
        #expect(ContainerID.inMounts("") == nil && ContainerID.inMounts("1 2 3\n") == nil)
    }

    @Test(arguments: [
        "1012 995 254:1 /var/lib/kubelet/pods/8d1e/etc-hosts /etc/hosts rw - ext4 /dev/vda1 rw",
        "1012 995 254:9 /pods/8d1e/containers/web/0f1e /dev/termination-log rw - ext4 /dev/vdb rw",
    ])
    func `mounts inside a pod, which name the sandbox, are not used`(mount: String) {
        #expect(ContainerID.inMounts(Self.docker.replacing("ID", with: Self.id) + "\n" + mount) == nil)
    }

    private func resource(_ variables: [String], groups: String = "", mounts: String = "") -> ProcessResource {
        ProcessResource(environment: variables.flatMap { Array($0.utf8) + [0] }, controlGroups: groups, mounts: mounts)
    }

    @Test func `the OpenTelemetry resource attributes are read`() {
        let found = resource([
            "PATH=/bin",
            "OTEL_RESOURCE_ATTRIBUTES=service.name=shop, service.version=1%2E2 ,k8s.pod.name=shop-7d9c,k8s.namespace.name=store,"
                + "k8s.container.name=web,k8s.node.name=node-3,container.id=abc,other=x,=y,broken",
        ])
        #expect(found.serviceName == "shop" && found.serviceVersion == "1.2")
        #expect(found.podName == "shop-7d9c" && found.namespaceName == "store")
        #expect(found.containerName == "web" && found.nodeName == "node-3" && found.containerID == "abc")
    }

    @Test func `variables of the Kubernetes downward API are read`() {
        let found = resource(["POD_NAME=shop-7d9c", "POD_NAMESPACE=store", "NODE_NAME=node-3"])
        #expect(found.podName == "shop-7d9c" && found.namespaceName == "store" && found.nodeName == "node-3")
        // Build servers set this variable too.
        #expect(resource(["NODE_NAME=node-3"]).nodeName == nil)
    }

    @Test func `the more specific source takes precedence`() {
        let variables = [
            "OTEL_RESOURCE_ATTRIBUTES=service.name=a,k8s.pod.name=b,container.id=c", "OTEL_SERVICE_NAME=shop", "POD_NAME=d",
            "OTEL_SERVICE_NAME=second",
        ]
        let found = resource(variables, groups: "0::/docker/\(Self.id)")
        #expect(found.serviceName == "shop" && found.podName == "b" && found.containerID == Self.id)
        let mounted = resource(["A=b"], groups: "0::/", mounts: Self.docker.replacing("ID", with: Self.id))
        #expect(mounted.containerID == Self.id)
    }

    @Test func `values from the environment are bounded and sanitized`() {
        let long = String(repeating: "é", count: 400)
        let found = resource(["POD_NAME=\u{1b}[2Jx", "POD_NAMESPACE=\(long)", "OTEL_SERVICE_NAME="])
        #expect(found.podName == "\u{fffd}[2Jx" && found.serviceName == nil)
        #expect(found.namespaceName == String(repeating: "é", count: 127))
        #expect(resource(["OTEL_RESOURCE_ATTRIBUTES=k8s.pod.name=%1b%zz%ff"]).podName == "\u{fffd}%zz\u{fffd}")
        // The last variable is cut where reading stopped.
        let cut = ProcessResource(environment: Array("A=b\0POD_NAME=sho".utf8), controlGroups: "", mounts: "")
        #expect(cut.podName == nil)
        #expect(ProcessResource(of: "4194305") == ProcessResource())
    }
}
