internal import LagModel

/// Finds the statement that an operation is in.
///
/// Perl leaves the first statement of a block without variables out, so that the last statement that has run is the one around the block:
///
///     if ($number == 3) {
///         wait_for($price);
///     }
///
/// The optimised-away statement still has its line. As for Perl's own messages (`closest_cop` of `util.c`), it is searched in the
/// tree of operations from the statement on.
struct PerlOperation {
    private static let maximumOperations = 4096
    private static let maximumDepth = 64
    /// `OPf_KIDS`, `op_moresib` and `op_type` (`op.h`).
    private static let hasOperationsBelow: UInt8 = 4
    private static let isNotLast: UInt16 = 0x4000
    private static let kind: UInt16 = 0x1ff
    private static let goesOn: UInt64 = 1

    private let layout: PerlLayout
    private let read: (_ address: UInt64, _ count: Int) -> [UInt8]?

    init(_ layout: PerlLayout, _ read: @escaping (_ address: UInt64, _ count: Int) -> [UInt8]?) {
        self.layout = layout
        self.read = read
    }

    /// For a function that has called another one, its continuation is known: it is marked by a bit that no address has.
    static func returned(to operation: UInt64) -> UInt64 { operation == 0 ? 0 : operation | goesOn }

    /// The optimised-away statement that contains the operation; nil: the statement itself, or not found. Takes up to some
    /// milliseconds.
    func statement(of operation: UInt64, after statement: UInt64) -> UInt64? {
        guard operation != 0, let found = Operation(read, layout, at: statement), let first = found.next else { return nil }
        var left = Self.maximumOperations
        let wanted = (operation & ~Self.goesOn, goesOn: operation & Self.goesOn != 0)
        let closest = closest(wanted, at: first, after: statement, depth: 0, &left)
        return closest == statement ? nil : closest
    }

    private static let maximumShapeOperations = 256

    /// A hash of the kinds of the first operations from one on, in the order of the tree; nil if one cannot be read. Takes some 1
    /// µs for each.
    func shape(of root: UInt64) -> String? {
        var hash = StableHash()
        var places = [root]
        for _ in 0..<Self.maximumShapeOperations {
            guard let place = places.popLast() else { break }
            guard let operation = Operation(read, layout, at: place) else { return nil }
            hash.combine(word: operation.kind)
            places += [place == root ? nil : operation.next, operation.first].compactMap(\.self)
        }
        return hash.text
    }

    private func closest(
        _ wanted: (operation: UInt64, goesOn: Bool),
        at place: UInt64,
        after statement: UInt64,
        depth: Int,
        _ left: inout Int
    ) -> UInt64? {
        guard depth < Self.maximumDepth, let operation = Operation(read, layout, at: place) else { return nil }
        let isWanted =
            wanted.goesOn ? operation.nextToRun == wanted.operation && !operation.isScope : place == wanted.operation
        if isWanted { return statement }
        var statement = statement
        var below = operation.first
        while let place = below, left > 0, let operation = Operation(read, layout, at: place) {
            // Bounded, because a tree of another process may be cyclic.
            left -= 1
            if operation.wasStatement { statement = place }
            if let found = closest(wanted, at: place, after: statement, depth: depth + 1, &left) { return found }
            below = operation.next
        }
        return nil
    }

    private struct Operation {
        let nextToRun: UInt64
        /// The next one beside it, and the first one below it.
        let next, first: UInt64?
        let wasStatement: Bool
        /// The operations that enclose the statements of a block, and continue where the last one does.
        let isScope: Bool
        let kind: UInt64

        init?(_ read: (_ address: UInt64, _ count: Int) -> [UInt8]?, _ layout: PerlLayout, at place: UInt64) {
            guard place != 0, place % 8 == 0, let bytes = read(place, layout.operationBytes),
                let nextToRun: UInt64 = bytes.number(at: Int(layout.operationNext)),
                let sibling: UInt64 = bytes.number(at: Int(layout.operationSibling)),
                let was: UInt64 = bytes.number(at: Int(layout.operationWas)),
                let bits: UInt16 = bytes.number(at: Int(layout.operationKind)),
                let flags: UInt8 = bytes.number(at: Int(layout.operationFlags)),
                let first: UInt64 = bytes.number(at: Int(layout.operationFirst))
            else { return nil }
            self.nextToRun = nextToRun
            next = bits & isNotLast != 0 ? sibling : nil
            self.first = flags & hasOperationsBelow != 0 ? first : nil
            kind = UInt64(bits & PerlOperation.kind)
            wasStatement = kind == 0 && was == layout.statementKind
            isScope = kind == layout.scopeKind
        }
    }
}
