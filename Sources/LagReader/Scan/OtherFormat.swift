internal import Glibc

/// A format that lagmond writes for other readers (`output.format`), but does not read itself.
package enum OtherFormat: String, Sendable, CaseIterable {
    case otlp, sentry, ecs

    /// Bytes that every line of the format contains, as our writers format them; in a string the quotes would be escaped. A
    /// Sentry event also contains the sign of ECS, so ECS is checked last; ECS also has the logger, as the last member of `log`.
    private var sign: StaticString {
        switch self {
        case .otlp: #""scope":{"name":"lagmonitor"}"#
        case .sentry: #""logger":"lagmonitor","server_name":"#
        case .ecs: #""lagmonitor":{"#
        }
    }

    /// Nil: none of these formats.
    init?(_ line: UnsafeRawBufferPointer) {
        guard let format = Self.allCases.first(where: { Self.contains($0.sign, line) }) else { return nil }
        self = format
    }

    /// - Parameter sign: begins with a quote.
    private static func contains(_ sign: StaticString, _ line: UnsafeRawBufferPointer) -> Bool {
        let count = sign.utf8CodeUnitCount
        var offset = 0
        while let start = line.baseAddress, line.count - offset >= count,
            let quote = memchr(start + offset, Int32(UInt8(ascii: "\"")), line.count - offset - count + 1)
        {
            if memcmp(quote, sign.utf8Start, count) == 0 { return true }
            offset = UnsafeRawPointer(quote) - start + 1
        }
        return false
    }
}
