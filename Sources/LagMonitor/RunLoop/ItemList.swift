/// The items of one kind in a mode, in serving order: by `order`, and equal ones in the order in which they were added.
///
/// A value that is kept in pieces. While the loop's thread still uses the old list, a change copies one piece and the list of
/// pieces, not all items. Adding and removing cost a binary search and the copying of one piece, with a list of n / 256 pieces.
struct ItemList<Item: RunLoopItem>: Sendable {
    fileprivate struct Entry: Sendable {
        let order: Int
        /// When it was added to the loop: a unique number.
        let sequence: UInt64
        let item: Item

        func isBefore(_ order: Int, _ sequence: UInt64) -> Bool {
            self.order < order || (self.order == order && self.sequence < sequence)
        }
    }

    /// No piece is empty.
    fileprivate var pieces: [[Entry]] = []
    private static var mostInPiece: Int { 256 }

    init() {}

    var isEmpty: Bool { pieces.isEmpty }

    /// Adds an item that is not in the list.
    /// - Parameter sequence: not used by another item.
    mutating func insert(_ item: Item, sequence: UInt64) {
        let entry = Entry(order: item.order, sequence: sequence, item: item)
        let piece = Swift.min(pieceIndex(of: entry.order, sequence), pieces.count - 1)
        guard piece >= 0 else {
            pieces = [[entry]]
            return
        }
        let place = index(of: entry.order, sequence, in: pieces[piece])
        if piece == pieces.count - 1, place == pieces[piece].count, place >= Self.mostInPiece { return pieces.append([entry]) }
        pieces[piece].insert(entry, at: place)
        guard pieces[piece].count > Self.mostInPiece else { return }
        let half = Self.mostInPiece / 2
        pieces.insert(Array(pieces[piece][half...]), at: piece + 1)
        pieces[piece].removeSubrange(half...)
    }

    /// Removes an item.
    /// - Parameter sequence: the one with which it was added.
    mutating func remove(_ item: Item, sequence: UInt64) {
        let piece = pieceIndex(of: item.order, sequence)
        guard piece < pieces.count else { return }
        let place = index(of: item.order, sequence, in: pieces[piece])
        guard place < pieces[piece].count, pieces[piece][place].item === item else { return }
        pieces[piece].remove(at: place)
        if pieces[piece].isEmpty {
            pieces.remove(at: piece)
        } else if piece + 1 < pieces.count, pieces[piece].count + pieces[piece + 1].count <= Self.mostInPiece / 2 {
            pieces[piece] += pieces.remove(at: piece + 1)
        }
    }

    /// The items in this list that are not in `earlier` (an older state of this list, or the list of another mode of the same
    /// loop), and the reverse. An item that was removed and added again is in both results. Takes as many steps as there are
    /// pieces; items are compared only where pieces differ.
    func difference(from earlier: ItemList) -> (removed: [Item], added: [Item]) {
        let shorter = Swift.min(pieces.count, earlier.pieces.count)
        var (begin, end) = (0, 0)
        while begin < shorter, Self.isSame(pieces[begin], earlier.pieces[begin]) { begin += 1 }
        while end < shorter - begin,
            Self.isSame(pieces[pieces.count - 1 - end], earlier.pieces[earlier.pieces.count - 1 - end])
        {
            end += 1
        }
        let here = pieces[begin..<(pieces.count - end)].joined()
        let there = earlier.pieces[begin..<(earlier.pieces.count - end)].joined()
        let known = (here: Set(here.map(\.sequence)), there: Set(there.map(\.sequence)))
        return (
            there.filter { !known.here.contains($0.sequence) }.map(\.item),
            here.filter { !known.there.contains($0.sequence) }.map(\.item)
        )
    }

    /// Whether both use the same memory. Each holds it, so the content is the same.
    private static func isSame(_ left: [Entry], _ right: [Entry]) -> Bool {
        left.count == right.count
            && left.withUnsafeBufferPointer(\.baseAddress) == right.withUnsafeBufferPointer(\.baseAddress)
    }

    /// The first piece that does not end before that position; the number of pieces if all do.
    private func pieceIndex(of order: Int, _ sequence: UInt64) -> Int {
        var (low, high) = (0, pieces.count)
        while low < high {
            let middle = (low + high) / 2
            let last = pieces[middle].count - 1
            if pieces[middle][last].isBefore(order, sequence) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// The first entry that is not before that position.
    private func index(of order: Int, _ sequence: UInt64, in piece: [Entry]) -> Int {
        var (low, high) = (0, piece.count)
        while low < high {
            let middle = (low + high) / 2
            if piece[middle].isBefore(order, sequence) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

extension ItemList: Sequence {
    struct Iterator: IteratorProtocol {
        fileprivate let pieces: [[Entry]]
        fileprivate var piece = 0
        fileprivate var place = 0

        mutating func next() -> Item? {
            guard piece < pieces.count else { return nil }
            let item = pieces[piece][place].item
            place += 1
            if place == pieces[piece].count { (piece, place) = (piece + 1, 0) }
            return item
        }
    }

    func makeIterator() -> Iterator { Iterator(pieces: pieces) }
}
