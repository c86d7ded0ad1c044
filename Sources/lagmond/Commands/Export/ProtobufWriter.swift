/// Writes messages of Protocol Buffers (https://protobuf.dev/programming-guides/encoding/): varints and length-delimited fields.
struct ProtobufWriter {
    private(set) var bytes: [UInt8] = []

    /// A number; 0, the default, is omitted.
    mutating func field(_ number: Int, _ value: UInt64) {
        guard value != 0 else { return }
        varint(UInt64(number) << 3)
        varint(value)
    }

    mutating func field(_ number: Int, text: String) { field(number, bytes: Array(text.utf8)) }

    /// A packed repeated field of numbers.
    mutating func field(_ number: Int, packed values: [UInt64]) {
        guard !values.isEmpty else { return }
        var inner = ProtobufWriter()
        for value in values { inner.varint(value) }
        field(number, bytes: inner.bytes)
    }

    mutating func field(_ number: Int, _ message: (inout ProtobufWriter) -> Void) {
        var inner = ProtobufWriter()
        message(&inner)
        field(number, bytes: inner.bytes)
    }

    private mutating func field(_ number: Int, bytes content: [UInt8]) {
        varint(UInt64(number) << 3 | 2)
        varint(UInt64(content.count))
        bytes += content
    }

    private mutating func varint(_ value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }
}
