// What the process is, where it runs, and the operator's labels: the fields of ``ProcessContext``.
extension FieldTable {
    static let process: [FieldDefinition] = [
        .field(.bootID, "boot_id", .context(text: \.bootID, as: .bootID), required: .all, cap: .fixed, in: .fields)
            .means("The kernel's boot id; mono_us values compare only within one boot. Zeros: not known."),
        .field(.pid, "pid", .context(.taskID) { .int32($0.pid) }, required: .all, keep: .always, in: [])
            .means("The process."),
        .field(.processName, "process_name", .context(text: \.processName), required: .all, cap: .name, keep: .always, in: [])
            .means("The base name of the executable file."),
        .field(.hostName, "host_name", .context(text: \.hostName), required: .all, cap: .host, keep: .always, in: [])
            .means("The machine's name."),
        .field(.serviceName, "service_name", .context(text: \.serviceName), cap: .name, in: [])
            .means("OpenTelemetry's service.name."),
        .field(.serviceVersion, "service_version", .context(text: \.serviceVersion), in: [])
            .means("OpenTelemetry's service.version."),
    ]

    package static let surroundings: [FieldDefinition] = [
        .field(.podNamespace, "k8s_namespace_name", .context(text: \.resource.namespaceName), cap: .name, in: [])
            .resource("k8s.namespace.name").means("OpenTelemetry's k8s.namespace.name: the pod's."),
        .field(.podName, "k8s_pod_name", .context(text: \.resource.podName), cap: .host, in: [])
            .resource("k8s.pod.name").means("OpenTelemetry's k8s.pod.name."),
        .field(.podContainer, "k8s_container_name", .context(text: \.resource.containerName), cap: .name, in: [])
            .resource("k8s.container.name").means("OpenTelemetry's k8s.container.name: the container's name in its pod."),
        .field(.podNode, "k8s_node_name", .context(text: \.resource.nodeName), cap: .host, in: [])
            .resource("k8s.node.name").means("OpenTelemetry's k8s.node.name: the machine that the pod runs on."),
        .field(.containerID, "container_id", .context(text: \.resource.containerID), cap: .hash, in: [])
            .resource("container.id").means("OpenTelemetry's container.id."),
        .field(.labels, "labels", .context(.labels) { $0.labels.isEmpty ? nil : .labels($0.labels) }, keep: .essential, in: [])
            .means("The operator's own names and values (the setting labels)."),
    ]
}
