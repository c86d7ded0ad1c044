/// `co_linetable`: which instructions belong to which line, from CPython 3.11 on.
///
/// Format: Objects/locations.md of CPython (PEP 657). An entry's first byte has the highest bit set, a code of four bits, and the number of its
/// instructions less one in the lowest three.
struct PythonLineTable {
    private enum Code {
        /// 0…9: the line stays; one byte of columns follows.
        static let short = 0...9
        /// 10…12: 0 to 2 lines on; two bytes follow.
        static let oneLine = 10...12
        static let withoutColumns = 13
        static let long = 14
        static let none = 15
    }

    let bytes: [UInt8]
    let firstLine: Int

    /// The line of an instruction; nil: no line, or a damaged table.
    func line(ofInstruction index: Int) -> Int? {
        // Before the first instruction, Python itself reports the function's first line.
        guard index >= 0 else { return firstLine > 0 ? firstLine : nil }
        var position = 0
        var instruction = 0
        var line = firstLine
        while position < bytes.count {
            let head = bytes[position]
            guard head & 0x80 != 0 else { return nil }
            position += 1
            let code = Int(head >> 3 & 15)
            let length = Int(head & 7) + 1
            var hasLine = true
            switch code {
            case Code.short: position += 1
            case Code.oneLine:
                line = line &+ (code - 10)
                position += 2
            case Code.withoutColumns:
                guard let delta = signed(&position) else { return nil }
                line = line &+ delta
            case Code.long:
                guard let delta = signed(&position) else { return nil }
                line = line &+ delta
                for _ in 0..<3 { guard unsigned(&position) != nil else { return nil } }
            default: hasLine = false
            }
            if index < instruction + length { return hasLine && line > 0 ? line : nil }
            instruction += length
        }
        return nil
    }

    /// Six bits a byte, the lowest first; another byte follows where bit 6 is set.
    private func unsigned(_ position: inout Int) -> Int? {
        var value = 0
        var shift = 0
        while position < bytes.count, shift <= 30 {
            let byte = bytes[position]
            position += 1
            value |= Int(byte & 63) << shift
            guard byte & 64 != 0 else { return value }
            shift += 6
        }
        return nil
    }

    /// The lowest bit is the sign.
    private func signed(_ position: inout Int) -> Int? {
        unsigned(&position).map { $0 & 1 != 0 ? -($0 >> 1) : $0 >> 1 }
    }
}
