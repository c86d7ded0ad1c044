internal import LagModel

/// The process context that a process publishes: a protobuf message,
/// `opentelemetry.proto.processcontext.v1development.ProcessContext` (OTEP 4719), with the data needed to read its threads'
/// contexts (OTEP 4947).
enum ProcessContextWriter {
    /// Field numbers of the messages.
    private enum Field {
        static let resource: UInt8 = 1
        static let attributes: UInt8 = 2
        static let resourceAttributes: UInt8 = 1
        static let key: UInt8 = 1
        static let value: UInt8 = 2
        static let stringValue: UInt8 = 1
        static let arrayValue: UInt8 = 5
        static let values: UInt8 = 1
    }

    static func message(_ process: ProcessContext) -> [UInt8] {
        let pairs = [
            ("service.name", process.serviceName ?? "unknown_service:\(process.processName)"),
            ("service.version", process.serviceVersion ?? ""),
            ("host.name", process.hostName),
            ("process.executable.name", process.processName),
        ]
        let resource = pairs.filter { !$0.1.isEmpty }
            .flatMap { field(Field.resourceAttributes, attribute($0.0, text($0.1))) }
        // Only the name: the C part defines its index.
        let keys = field(Field.arrayValue, field(Field.values, text(StallRecord.Request.publishedKey)))
        // The development version's name, used until the standard was merged: the profiler does not support another one yet.
        return field(Field.resource, resource)
            + field(Field.attributes, attribute("threadlocal.schema_version", text("tlsdesc_v1_dev")))
            + field(Field.attributes, attribute("threadlocal.attribute_key_map", keys))
    }

    private static func attribute(_ key: String, _ value: [UInt8]) -> [UInt8] {
        field(Field.key, Array(key.utf8)) + field(Field.value, value)
    }

    private static func text(_ value: String) -> [UInt8] { field(Field.stringValue, Array(value.utf8)) }

    /// A field with a length (wire type 2).
    private static func field(_ number: UInt8, _ bytes: [UInt8]) -> [UInt8] {
        var head = [number << 3 | 2]
        var count = bytes.count
        while count > 127 {
            head.append(UInt8(count & 127) | 128)
            count >>= 7
        }
        return head + [UInt8(count)] + bytes
    }
}
