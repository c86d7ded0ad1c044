// Where the process runs, the operator's labels, and which loop it is.
extension FieldTable {
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

    static let loop: [FieldDefinition] = [
        .field(.loop, "loop", .text(\.loop), required: .stall, cap: .name, keep: .essential)
            .means("The loop's name."),
        .field(.activity, "activity", .text(\.activity))
            .means("What the loop was doing, such as before_sources."),
        .field(.mode, "mode", .text(\.mode))
            .means("The mode in which the loop ran."),
    ]
}
