// Where the process runs, the operator's labels, and which loop it is.
extension FieldTable {
    package static let surroundings: [FieldDefinition] = [
        FieldDefinition(
            .podNamespace,
            "k8s_namespace_name",
            .text,
            cap: .name,
            in: [],
            resource: "k8s.namespace.name",
            value: .context { $0.resource.namespaceName.map(FieldValue.text) },
            "OpenTelemetry's k8s.namespace.name: the pod's."
        ),
        FieldDefinition(
            .podName,
            "k8s_pod_name",
            .text,
            cap: .host,
            in: [],
            resource: "k8s.pod.name",
            value: .context { $0.resource.podName.map(FieldValue.text) },
            "OpenTelemetry's k8s.pod.name."
        ),
        FieldDefinition(
            .podContainer,
            "k8s_container_name",
            .text,
            cap: .name,
            in: [],
            resource: "k8s.container.name",
            value: .context { $0.resource.containerName.map(FieldValue.text) },
            "OpenTelemetry's k8s.container.name: the container's name in its pod."
        ),
        FieldDefinition(
            .podNode,
            "k8s_node_name",
            .text,
            cap: .host,
            in: [],
            resource: "k8s.node.name",
            value: .context { $0.resource.nodeName.map(FieldValue.text) },
            "OpenTelemetry's k8s.node.name: the machine that the pod runs on."
        ),
        FieldDefinition(
            .containerID,
            "container_id",
            .text,
            cap: .hash,
            in: [],
            resource: "container.id",
            value: .context { $0.resource.containerID.map(FieldValue.text) },
            "OpenTelemetry's container.id."
        ),
        FieldDefinition(
            .labels,
            "labels",
            .labels,
            keep: .essential,
            in: [],
            value: .context { $0.labels.isEmpty ? nil : .labels($0.labels) },
            "The operator's own names and values (the setting labels)."
        ),
    ]

    static let loop: [FieldDefinition] = [
        FieldDefinition(
            .loop,
            "loop",
            .text,
            required: .stall,
            cap: .name,
            keep: .essential,
            value: .text(\.loop),
            "The loop's name."
        ),
        FieldDefinition(
            .activity,
            "activity",
            .text,
            value: .text(\.activity),
            "What the loop was doing, such as before_sources."
        ),
        FieldDefinition(.mode, "mode", .text, value: .text(\.mode), "The mode the loop ran in."),
    ]
}
