/// Objects of CPython that hold text or bytes.
struct PythonText {
    let memory: RemoteMemory
    let layout: PythonLayout

    /// Of a function's name with what it is in, and of a path.
    static let maximumNameCharacters: UInt64 = 1024
    static let maximumPathCharacters: UInt64 = 4096
    private static let maximumBytes: UInt64 = 1 << 18

    /// A `str` in its compact form, as all names are; nil if there is none.
    /// - Parameter least: the minimum number of characters: a name is never empty, but a file's name may be.
    func string(_ address: UInt64, least: UInt64 = 1, limit: UInt64) -> String? {
        Self.string(address, least: least, limit: limit, layout) { memory.bytes($0, $1) }
    }

    /// - Parameter bytes: reads this many bytes from an address; nil if they cannot be read.
    static func string(
        _ address: UInt64,
        least: UInt64 = 1,
        limit: UInt64,
        _ layout: PythonLayout,
        _ bytes: (UInt64, Int) -> [UInt8]?
    ) -> String? {
        guard let head = bytes(address, Int(PythonLayout.textState) + 4),
            let length: UInt64 = head.number(at: Int(PythonLayout.size)), (least...limit).contains(length),
            let state: UInt32 = head.number(at: Int(PythonLayout.textState))
        else { return nil }
        // interned: 2 bits, kind: 3, compact: 1, ascii: 1
        let kind = Int(state >> 2 & 7)
        let isCompact = state >> 5 & 1 == 1
        let isASCII = state >> 6 & 1 == 1
        guard isCompact, [1, 2, 4].contains(kind), !isASCII || kind == 1,
            let data = bytes(address &+ (isASCII ? layout.asciiData : layout.compactData), Int(length) * kind)
        else { return nil }
        var scalars = String.UnicodeScalarView()
        for index in 0..<Int(length) {
            let value: UInt32? =
                switch kind {
                case 1: UInt32(data[index])
                case 2: data.number(at: index * 2, as: UInt16.self).map { UInt32($0) }
                default: data.number(at: index * 4)
                }
            guard let value, value != 0, !isASCII || value < 128 else { return nil }
            // A file name that is not valid UTF-8 contains surrogates; one with newlines would give several lines of text.
            let scalar = Unicode.Scalar(value).flatMap { $0.properties.generalCategory == .control ? nil : $0 }
            scalars.append(scalar ?? "\u{fffd}")
        }
        return String(scalars)
    }

    /// A `tuple` of `str`, up to the first element that is not one.
    func strings(_ address: UInt64, count limit: UInt64) -> [String] {
        guard let length: UInt64 = memory.load(address &+ PythonLayout.size) else { return [] }
        var found: [String] = []
        for index in 0..<min(length, limit) {
            guard let item: UInt64 = memory.load(address &+ PythonLayout.tupleItems &+ index &* 8),
                let text = string(item, limit: Self.maximumNameCharacters)
            else { break }
            found.append(text)
        }
        return found
    }

    /// A `bytes`.
    func bytes(_ address: UInt64) -> [UInt8]? {
        guard let length: UInt64 = memory.load(address &+ PythonLayout.size), length <= Self.maximumBytes else { return nil }
        return length == 0 ? [] : memory.bytes(address &+ PythonLayout.byteData, Int(length))
    }
}
