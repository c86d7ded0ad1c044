/// Where a process runs and what service it is, from its environment and the kernel, with the names of OpenTelemetry's resource
/// conventions.
///
/// The process that started this one can write anything into the environment: the values are bounded, cleaned of control
/// characters, and used only in records. They are read from `/proc`, not by `getenv`: this works for any process, and other
/// threads may change their environment meanwhile. So it is the environment with which the process was started.
package struct ProcessResource: Sendable, Equatable {
    /// `service.name`.
    package var serviceName: String?
    /// `service.version`.
    package var serviceVersion: String?
    /// `k8s.namespace.name`.
    package var namespaceName: String?
    /// `k8s.pod.name`.
    package var podName: String?
    /// `k8s.container.name`.
    package var containerName: String?
    /// `k8s.node.name`.
    package var nodeName: String?
    /// `container.id`.
    package var containerID: String?

    package init() {}

    /// The longest accepted text; a longer one is cut.
    static let maximumBytes = 255

    /// - Parameters:
    ///   - environment: `NAME=value`, each followed by a zero byte; an entry without it was cut, and does not count.
    ///   - controlGroups: as for ``ContainerID/inControlGroups(_:)``.
    ///   - mounts: as for ``ContainerID/inMounts(_:)``.
    package init(environment: [UInt8], controlGroups: String, mounts: @autoclosure () -> String) {
        let variables = Self.variables(environment)
        let attributes = Self.attributes(variables["OTEL_RESOURCE_ATTRIBUTES"] ?? "")
        serviceName = Self.cleaned(variables["OTEL_SERVICE_NAME"] ?? "") ?? attributes["service.name"]
        serviceVersion = attributes["service.version"]
        podName = attributes["k8s.pod.name"] ?? Self.cleaned(variables["POD_NAME"] ?? "")
        namespaceName = attributes["k8s.namespace.name"] ?? Self.cleaned(variables["POD_NAMESPACE"] ?? "")
        containerName = attributes["k8s.container.name"]
        // Other programs have a NODE_NAME as well: it counts only beside a pod's name.
        nodeName = attributes["k8s.node.name"] ?? (podName == nil ? nil : Self.cleaned(variables["NODE_NAME"] ?? ""))
        // The kernel's information takes precedence over the environment.
        containerID = ContainerID.inControlGroups(controlGroups) ?? attributes["container.id"] ?? ContainerID.inMounts(mounts())
    }

    private static let names: Set<String> = [
        "OTEL_RESOURCE_ATTRIBUTES", "OTEL_SERVICE_NAME", "POD_NAME", "POD_NAMESPACE", "NODE_NAME",
    ]

    /// The requested ones; if a name appears twice, the first counts, as for `getenv`.
    private static func variables(_ environment: [UInt8]) -> [String: String] {
        var found: [String: String] = [:]
        var rest = environment[...]
        while let end = rest.firstIndex(of: 0) {
            let entry = rest[..<end]
            rest = rest[(end + 1)...]
            guard let equals = entry.firstIndex(of: UInt8(ascii: "=")), entry.distance(from: entry.startIndex, to: equals) <= 32
            else {
                continue
            }
            let name = String(decoding: entry[..<equals], as: UTF8.self)
            if names.contains(name), found[name] == nil {
                found[name] = String(decoding: entry[(equals + 1)...], as: UTF8.self)
            }
        }
        return found
    }

    /// `key=value,key=value`, values percent-encoded (OpenTelemetry, "Resource SDK", from W3C Baggage). Other pairs are left out.
    private static func attributes(_ text: String) -> [String: String] {
        var attributes: [String: String] = [:]
        for pair in text.split(separator: ",") {
            let parts = pair.split(separator: "=", maxSplits: 1)
            guard parts.count == 2 else { continue }
            attributes[trimmed(parts[0])] = cleaned(percentDecoded(trimmed(parts[1])))
        }
        return attributes
    }

    private static func trimmed(_ text: Substring) -> String {
        let begun = text.drop { $0 == " " || $0 == "\t" }
        return String(begun.prefix(begun.count - begun.reversed().prefix { $0 == " " || $0 == "\t" }.count))
    }

    private static func percentDecoded(_ text: String) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), rest.count >= 2, let high = Hexadecimal.value(rest[rest.startIndex]),
                let low = Hexadecimal.value(rest[rest.startIndex + 1])
            {
                bytes.append(high << 4 | low)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Nil for an empty text.
    private static func cleaned(_ text: String) -> String? {
        guard !text.isEmpty else { return nil }
        let clean = PlainText.sanitized(text)
        guard clean.utf8.count > maximumBytes else { return clean }
        var end = clean.utf8.index(clean.startIndex, offsetBy: maximumBytes)
        // Not within a scalar.
        while end.samePosition(in: clean.unicodeScalars) == nil { end = clean.utf8.index(before: end) }
        return String(clean[..<end])
    }
}
