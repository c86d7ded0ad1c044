internal import FoundationEssentials
internal import LagMonitorDelivery
internal import LagOutput

/// Lines put together to one `ExportLogsServiceRequest`: each is such a request itself, with one element.
enum OTLPRequest {
    private static let opening = OTLPEnvelope.opening
    private static let closing = OTLPEnvelope.closing

    /// Whether a line is one that ``RecordFormat/otlp`` makes.
    static func isLine(_ line: UnsafeRawBufferPointer) -> Bool {
        line.count > opening.count + closing.count && line.starts(with: opening)
            && line.suffix(closing.count).elementsEqual(closing)
    }

    /// - Parameter lines: each as ``isLine(_:)`` wants it.
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
