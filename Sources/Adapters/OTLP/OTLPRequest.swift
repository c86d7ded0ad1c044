internal import FoundationEssentials
internal import LagMonitorDelivery
internal import LagOutput

/// Combines lines into one `ExportLogsServiceRequest`: each line is such a request itself, with one element.
enum OTLPRequest {
    private static let opening = OTLPEnvelope.opening
    private static let closing = OTLPEnvelope.closing

    /// Whether a line is in the form of ``RecordFormat/otlp``.
    static func isLine(_ line: UnsafeRawBufferPointer) -> Bool {
        line.count > opening.count + closing.count && line.starts(with: opening)
            && line.suffix(closing.count).elementsEqual(closing)
    }

    /// - Parameter lines: each accepted by ``isLine(_:)``.
    static func body(of lines: [[UInt8]]) -> Data {
        var body = Data(opening)
        for (index, line) in lines.enumerated() {
            if index > 0 { body.append(UInt8(ascii: ",")) }
            body.append(contentsOf: line[opening.count..<line.count - closing.count])
        }
        body.append(contentsOf: closing.dropLast())
        return body
    }
}
