import Glibc
import LagOutput

/// Writes lines as hostile as records can make them, for `make pipeline`: a third-party reader must accept each.
///
///     MonitorProbe lines COUNT MAX_LINE_BYTES SEED
enum Lines {
    static func write(arguments: [String]) throws {
        let numbers = arguments.compactMap { Int($0) }
        guard numbers.count == 3, numbers[0] >= 0, numbers[2] >= 0 else {
            _ = "usage: MonitorProbe lines COUNT MAX_LINE_BYTES SEED\n".withCString { Glibc.write(STDERR_FILENO, $0, strlen($0)) }
            exit(64)
        }
        let limits = try LineLimits(maxLineBytes: numbers[1])
        var source = HostileRecords(seed: UInt64(numbers[2]))
        for number in 0..<numbers[0] {
            var encoder = RecordEncoder(context: source.context(), limits: limits)
            // Every eighth line is of another type.
            switch number % 24 {
            case 7: encoder.encode(source.dropNotice(), put)
            case 15: encoder.encode(source.suppressionNotice(), put)
            case 23: encoder.encode(source.recurrenceNotice(), put)
            default: encoder.encode(source.record(), put)
            }
        }
    }

    private static func put(_ line: UnsafeRawBufferPointer) {
        var rest = line[...]
        while !rest.isEmpty {
            let count = Glibc.write(STDOUT_FILENO, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if count > 0 { rest = rest.dropFirst(count) } else if errno != EINTR { exit(71) }
        }
    }
}
