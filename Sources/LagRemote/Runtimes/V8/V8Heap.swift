/// Typed reads of a V8 heap in another process.
///
/// An object is a tagged pointer; before any of its fields is used, the type in its map is compared. An unexpected type gives
/// nil: the heap moves, and data of another process is a claim.
struct V8Heap {
    let layout: V8Layout
    /// `count` bytes from an address; nil if they cannot be read.
    let read: (_ address: UInt64, _ count: Int) -> [UInt8]?

    /// The maximum that is read of a table: some hundred times the size for large functions.
    static let maximumTableBytes = 1 << 20

    static let tagMask: UInt64 = 3
    /// A pointer to an object.
    static let strongTag: UInt64 = 1
    /// The same, which does not keep the object alive: in weak arrays.
    static let weakTag: UInt64 = 3

    static func isObject(_ tagged: UInt64) -> Bool { tagged & tagMask == strongTag }

    /// The same of a word that may be anything: objects begin at words, and addresses have 47 bits. (An address that cannot be read
    /// takes several system calls.)
    static func canBeObject(_ word: UInt64) -> Bool { word & 7 == strongTag && word >= 1 << 16 && word < 1 << 47 }

    /// The number in a small integer, which has its low half clear.
    static func small(_ word: UInt64) -> Int32? { word & 0xffff_ffff == 0 ? Int32(truncatingIfNeeded: word >> 32) : nil }

    func word(_ address: UInt64) -> UInt64? { read(address, 8)?.number(at: 0) }

    /// A field of an object.
    func field(_ object: UInt64, _ offset: UInt64) -> UInt64? {
        Self.isObject(object) ? word((object &- Self.strongTag) &+ offset) : nil
    }

    func small(_ object: UInt64, _ offset: UInt64) -> Int32? { field(object, offset).flatMap { Self.small($0) } }

    func number32(_ object: UInt64, _ offset: UInt64) -> UInt32? {
        guard Self.isObject(object) else { return nil }
        return read((object &- Self.strongTag) &+ offset, 4)?.number(at: 0)
    }

    /// The type of an object, by its map.
    func type(_ object: UInt64) -> UInt16? { field(object, 0).flatMap { instanceType(map: $0) } }

    func instanceType(map: UInt64) -> UInt16? {
        guard Self.isObject(map) else { return nil }
        return read((map &- Self.strongTag) &+ layout.mapInstanceType, 2)?.number(at: 0)
    }

    func isFunction(_ object: UInt64) -> Bool { type(object).map { layout.types.functions.contains($0) } ?? false }

    /// The bytes of a byte array.
    func table(_ object: UInt64) -> [UInt8]? {
        guard let type = type(object), layout.types.byteArrays.contains(type), let count = small(object, layout.arrayLength),
            (0...Int32(Self.maximumTableBytes)).contains(count)
        else { return nil }
        return read((object &- Self.strongTag) &+ layout.arrayData, Int(count))
    }

    /// An element of an array of tagged words.
    func element(_ array: UInt64, _ index: Int) -> UInt64? {
        guard index >= 0, index < 1 << 24, let count = small(array, layout.arrayLength), index < Int(count) else { return nil }
        return field(array, layout.arrayData &+ UInt64(index) &* 8)
    }

    // MARK: Strings

    /// Characters that lie in one piece.
    struct Flat {
        let address: UInt64
        let count: Int
        let isOneByte: Bool
    }

    /// The maximum of nested strings that are followed.
    private static let maximumNesting = 12
    /// Pieces of a name.
    private static let maximumPieces = 64

    /// The address of a string's characters; nil if they are in pieces.
    func flat(_ string: UInt64) -> Flat? {
        let strings = layout.strings
        var string = string
        var skipped: UInt64 = 0
        var wanted: Int?
        for _ in 0..<Self.maximumNesting {
            guard let type = type(string), type < strings.firstNonString, let length = number32(string, strings.length),
                let count = Int32(exactly: length)
            else { return nil }
            let total = wanted ?? Int(count)
            wanted = total
            let isOneByte = type & strings.encodingMask == strings.oneByte
            let width: UInt64 = isOneByte ? 1 : 2
            switch type & strings.representationMask {
            case strings.sequential, strings.external:
                guard UInt64(total) &+ skipped <= UInt64(length) else { return nil }
                let isExternal = type & strings.representationMask == strings.external
                guard
                    let begin = isExternal
                        ? field(string, strings.externalData) : (string &- Self.strongTag) &+ strings.characters
                else { return nil }
                return Flat(address: begin &+ skipped &* width, count: total, isOneByte: isOneByte)
            case strings.thin:
                guard let actual = field(string, strings.actual) else { return nil }
                string = actual
            case strings.sliced:
                guard let parent = field(string, strings.parent), let offset = small(string, strings.offset), offset >= 0 else {
                    return nil
                }
                skipped &+= UInt64(offset)
                string = parent
            case strings.cons:
                // A flattened string has an empty second part.
                guard let first = field(string, strings.first), let second = field(string, strings.second),
                    number32(second, strings.length) == 0
                else { return nil }
                string = first
            default: return nil
            }
        }
        return nil
    }

    /// A string of at most `limit` characters; nil if it is longer, damaged, or contains characters that no name has.
    func text(_ string: UInt64, limit: Int) -> String? {
        var rest = limit
        var pieces = Self.maximumPieces
        var text = ""
        guard append(string, to: &text, &rest, &pieces, Self.maximumNesting) else { return nil }
        return text.asName
    }

    private func append(_ string: UInt64, to text: inout String, _ rest: inout Int, _ pieces: inout Int, _ nesting: Int) -> Bool {
        guard nesting > 0, pieces > 0 else { return false }
        pieces -= 1
        if let flat = flat(string) {
            guard flat.count <= rest else { return false }
            rest -= flat.count
            if flat.count == 0 { return true }
            guard let bytes = read(flat.address, flat.count * (flat.isOneByte ? 1 : 2)) else { return false }
            if flat.isOneByte {
                for byte in bytes { text.unicodeScalars.append(Unicode.Scalar(byte)) }
            } else {
                let units = (0..<flat.count).map { bytes.number(at: $0 * 2, as: UInt16.self) ?? 0 }
                text += String(decoding: units, as: UTF16.self)
            }
            return true
        }
        let strings = layout.strings
        guard let type = type(string), type < strings.firstNonString, type & strings.representationMask == strings.cons,
            let first = field(string, strings.first), let second = field(string, strings.second)
        else { return false }
        return append(first, to: &text, &rest, &pieces, nesting - 1) && append(second, to: &text, &rest, &pieces, nesting - 1)
    }
}
