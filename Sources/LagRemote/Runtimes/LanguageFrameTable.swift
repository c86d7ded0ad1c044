internal import LagCapture
internal import LagModel

/// Assigns numbers to the frames of languages, and stores their names once they are known.
///
/// A number identifies one frame forever; the frame is forgotten after ``capacity`` others, and then has no name. So the memory
/// is bounded whatever the process does.
struct LanguageFrameTable {
    struct Entry: Sendable {
        let frame: LanguageFrame
        let runtime: any LanguageRuntime
        fileprivate(set) var name: LanguageFrameName?
        fileprivate var isUnresolved = true
        fileprivate var attempts = 0

        /// Without a name, or a line in its file.
        fileprivate var isIncomplete: Bool { name.map { $0.file != nil && $0.line == nil } ?? true }
    }

    private struct Key: Hashable {
        let frame: LanguageFrame
        let runtime: ObjectIdentifier
    }

    /// The number of remembered frames: several hundred deep stacks.
    static let capacity = 16_384
    /// A name that cannot be read may be readable when the frame appears again, because the garbage collector was moving objects.
    static let maximumAttempts = 8

    private var numbers: [Key: UInt32] = [:]
    private var entries: [UInt32: Entry] = [:]
    private var next: UInt32 = 1
    private var unresolved: [UInt32] = []

    /// Whether there are frames whose names were not queried.
    var hasUnresolved: Bool { !unresolved.isEmpty }

    mutating func number(_ frame: LanguageFrame, of runtime: any LanguageRuntime) -> UInt32 {
        let key = Key(frame: frame, runtime: ObjectIdentifier(runtime))
        if let known = numbers[key] {
            if let entry = entries[known], entry.isIncomplete, !entry.isUnresolved, entry.attempts < Self.maximumAttempts {
                entries[known]?.isUnresolved = true
                unresolved.append(known)
            }
            return known
        }
        let number = next
        // 0 is a native frame.
        next = next == .max ? 1 : next + 1
        if let former = entries.removeValue(forKey: number) { forget(former) }
        if entries.count >= Self.capacity {
            let oldest =
                number > UInt32(Self.capacity) ? number - UInt32(Self.capacity) : UInt32.max - (UInt32(Self.capacity) - number)
            if let former = entries.removeValue(forKey: oldest) { forget(former) }
        }
        numbers[key] = number
        entries[number] = Entry(frame: frame, runtime: runtime)
        unresolved.append(number)
        return number
    }

    private mutating func forget(_ entry: Entry) {
        numbers[Key(frame: entry.frame, runtime: ObjectIdentifier(entry.runtime))] = nil
    }

    subscript(number: UInt32) -> Entry? { entries[number] }

    /// The frames whose names must be found now.
    mutating func takeUnresolved() -> [(UInt32, Entry)] {
        defer { unresolved.removeAll(keepingCapacity: true) }
        for number in unresolved {
            entries[number]?.isUnresolved = false
            entries[number]?.attempts += 1
        }
        return unresolved.compactMap { number in entries[number].map { (number, $0) } }
    }

    /// - Parameter name: nil: it could not be read now.
    mutating func setName(_ name: LanguageFrameName?, of number: UInt32) {
        guard let name, entries[number]?.isIncomplete == true else { return }
        entries[number]?.name = name
    }

    /// The key that frames of one function share.
    func function(of number: UInt32) -> UInt64 {
        guard let entry = entries[number] else { return UInt64(number) }
        var hash = StableHash()
        hash.combine(word: entry.frame.code)
        hash.combine(word: entry.frame.check)
        return hash.value
    }
}
