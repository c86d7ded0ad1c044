internal import CLibunwind

/// The control flow through optimised code of x86-64: finds what certainly ran before a place in it.
///
/// A table of positions has an entry where the position changes, in the order of the code. A jump target may belong to another
/// line than the preceding code: there the paths are followed back.
struct V8Blocks {
    /// The maximum of paths that are followed back.
    private static let maximumWays = 64

    /// Jump targets, in order, with their sources; -1: from a table.
    private let joins: [(target: Int, source: Int)]
    /// Where calls begin, in order.
    private let calls: [Int]

    /// The handlers of calls' exceptions: paths that no jump shows. Offsets in the code.
    struct Handler {
        let returnAddress, target: Int
    }

    /// Nil if the instructions cannot be read.
    /// - Parameters:
    ///   - start: the address of the first one.
    ///   - end: after it follow exits to the interpreter, and jump tables.
    init?(_ code: [UInt8], start: UInt64, end: Int, handlers: [Handler] = []) {
        guard end > 0, end <= code.count else { return nil }
        var joins: [(target: Int, source: Int)] = []
        var calls: [Int] = []
        // A place that is only reached by jumps, because it follows the end of a path.
        var begins: Set<Int> = []
        var targets: Set<Int> = []
        var padding: [(place: Int, next: Int)] = []
        let isRead = code.withUnsafeBufferPointer { code in
            var place = 0
            while place < end {
                var step = clu_step()
                guard clu_code_step(code.baseAddress! + place, code.count - place, &step) != 0 else { return false }
                let next = place + Int(step.length)
                switch step.flow {
                case CLU_CALLS: calls.append(place)
                case CLU_BRANCHES, CLU_JUMPS:
                    guard let target = Int(exactly: step.target).map({ next + $0 }) else { return false }
                    // A short forward jump stays within V8's code for one operation.
                    if target <= place || step.length > Self.shortJumpBytes {
                        joins.append((target, place))
                    } else {
                        targets.insert(target)
                    }
                    if step.flow == CLU_JUMPS { begins.insert(next) }
                case CLU_LEAVES: begins.insert(next)
                default: if Self.isPadding(code[place..<next]) { padding.append((place, next)) }
                }
                place = next
            }
            return true
        }
        guard isRead else { return nil }
        for place in stride(from: (end + 7) & ~7, through: code.count - 8, by: 8) {
            guard let address: UInt64 = code.number(at: place), address >= start, address - start < UInt64(end) else { continue }
            joins.append((Int(address - start), Self.unknown))
        }
        for handler in handlers where (0..<end).contains(handler.target) && (1...end).contains(handler.returnAddress) {
            joins.append((handler.target, handler.returnAddress - 1))
        }
        targets.formUnion(joins.map(\.target))
        // Loops begin at a cache line: the padding before it only runs if it is reached.
        for (place, next) in padding where !targets.contains(place) && begins.remove(place) != nil { begins.insert(next) }
        // The sources of the jump are not known.
        for target in begins.subtracting(targets) { joins.append((target, Self.unknown)) }
        // The preceding code continues there.
        for target in Set(joins.map(\.target)) where !begins.contains(target) { joins.append((target, target - 1)) }
        self.joins = joins.sorted { $0.target < $1.target }
        self.calls = calls
    }

    /// `nop`, of any length, and `int3`.
    private static func isPadding(_ instruction: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
        let rest = instruction.drop { $0 == 0x66 || $0 == 0x2e }
        return rest.first == 0x90 || rest.first == 0xcc || rest.starts(with: [0x0f, 0x1f])
    }

    private static let shortJumpBytes = 2
    private static let unknown = -1

    /// Whether the table has positions other than those of calls: V8 may only keep those of calls.
    func isDense(_ entries: [V8Positions.Entry]) -> Bool {
        zip(entries, entries.dropFirst()).contains { entry, next in
            next.code > entry.code && !hasCall(from: entry.code, before: next.code)
        }
    }

    private func hasCall(from begin: Int, before end: Int) -> Bool {
        let place = Self.first(calls.count) { calls[$0] >= begin }
        return place < calls.count && calls[place] < end
    }

    /// The entries, one of which was passed last before the instruction at or around a place; empty: not known.
    func entries(before place: Int, of entries: [V8Positions.Entry]) -> [V8Positions.Entry] {
        var found: [V8Positions.Entry] = []
        var places = [place]
        var followed: Set<Int> = []
        for _ in 0..<Self.maximumWays {
            guard let place = places.popLast() else { return found }
            let index = Self.first(entries.count) { entries[$0].code > place } - 1
            let entry = index >= 0 ? entries[index] : nil
            var join = Self.first(joins.count) { joins[$0].target > place } - 1
            guard join >= 0, joins[join].target > entry?.code ?? -1 else {
                guard let entry else { return [] }
                found.append(entry)
                continue
            }
            let target = joins[join].target
            guard followed.insert(target).inserted else { continue }
            while join >= 0, joins[join].target == target {
                guard joins[join].source >= 0 else { return [] }
                places.append(joins[join].source)
                join -= 1
            }
        }
        return places.isEmpty ? found : []
    }

    /// The first of `count` numbers for which a condition holds that stays true.
    private static func first(_ count: Int, where holds: (Int) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if holds(middle) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
