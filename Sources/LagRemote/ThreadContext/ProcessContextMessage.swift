/// The part of a process's published context (OTEP 4719) that concerns its threads' contexts (OTEP 4947): a protobuf
/// message, `opentelemetry.proto.processcontext.v1development.ProcessContext`.
///
/// Another process wrote it: damaged or overlong data ends the reading, with the result so far.
struct ProcessContextMessage: Sendable, Equatable {
    /// `threadlocal.schema_version`: how the threads' contexts are published.
    private(set) var schemaVersion: String?
    /// `threadlocal.attribute_key_map`: the attributes' names, by their index in a thread's context.
    private(set) var keys: [String] = []

    /// An index has one byte.
    private static let maximumKeys = 256
    private static let maximumTextBytes = 255

    /// Field numbers of the messages.
    private enum Field {
        static let attributes: UInt64 = 2
        static let key: UInt64 = 1
        static let value: UInt64 = 2
        static let stringValue: UInt64 = 1
        static let arrayValue: UInt64 = 5
        static let values: UInt64 = 1
    }

    init(_ bytes: [UInt8]) {
        for attribute in ProtobufFields(bytes[...]) where attribute.number == Field.attributes {
            var key: String?
            var value: ArraySlice<UInt8>?
            for field in ProtobufFields(attribute.bytes) {
                if field.number == Field.key { key = Self.text(field.bytes) }
                if field.number == Field.value { value = field.bytes }
            }
            guard let value else { continue }
            switch key {
            case "threadlocal.schema_version": schemaVersion = Self.string(value)
            case "threadlocal.attribute_key_map": keys = Self.strings(value)
            default: break
            }
        }
    }

    /// Whether ``ThreadContextRecord`` can read the contexts. The name of the development version stays in use.
    var hasKnownSchema: Bool { schemaVersion == "tls_v1" || schemaVersion == "tlsdesc_v1_dev" }

    private static func string(_ value: ArraySlice<UInt8>) -> String? {
        var found: String?
        for field in ProtobufFields(value) where field.number == Field.stringValue { found = text(field.bytes) }
        return found
    }

    /// A value that is not a string still has its index.
    private static func strings(_ value: ArraySlice<UInt8>) -> [String] {
        var found: [String] = []
        for field in ProtobufFields(value) where field.number == Field.arrayValue {
            for element in ProtobufFields(field.bytes) where element.number == Field.values {
                guard found.count < maximumKeys else { return found }
                found.append(string(element.bytes) ?? "")
            }
        }
        return found
    }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String? {
        bytes.count <= maximumTextBytes ? String(decoding: bytes, as: UTF8.self) : nil
    }
}

/// The length-delimited fields of a protobuf message: strings and messages; others are skipped. Ends at damaged data.
struct ProtobufFields: Sequence, IteratorProtocol {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    mutating func next() -> (number: UInt64, bytes: ArraySlice<UInt8>)? {
        while !rest.isEmpty {
            guard let tag = takeNumber() else { return nil }
            switch tag & 7 {
            case 0: guard takeNumber() != nil else { return nil }
            case 1: guard take(8) != nil else { return nil }
            case 2: return takeNumber().flatMap { take(Int(clamping: $0)) }.map { (tag >> 3, $0) }
            case 5: guard take(4) != nil else { return nil }
            default: return nil
            }
        }
        return nil
    }

    private mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
        guard count <= rest.count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    private mutating func takeNumber() -> UInt64? {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            guard let byte = rest.popFirst() else { return nil }
            number |= UInt64(byte & 0x7f) << shift
            if byte & 0x80 == 0 { return number }
        }
        return nil
    }
}
