/// Caches the functions at places in optimised code for one stack, because the frames of a recursion share them. Used by one
/// thread.
///
/// The program determines the amount that is read for a place, so the total for one stack is bounded.
final class V8Levels {
    private struct Place: Hashable {
        let pc: UInt64
        let isReturnAddress: Bool
    }

    /// Instructions of all places together. Most functions have some KiB.
    private static let maximumBytes = 1 << 20
    /// For the tables of a place.
    private static let tableBytes = 16 * 1024

    private var found: [Place: [V8Code.Level]?] = [:]
    private var bytesLeft = maximumBytes

    /// - Returns: as ``V8Code/levels(at:isReturnAddress:)``; also nil if the stack has used up its budget.
    func of(_ code: V8Code, at pc: UInt64, isReturnAddress: Bool) -> [V8Code.Level]? {
        let place = Place(pc: pc, isReturnAddress: isReturnAddress)
        if let known = found[place] { return known }
        bytesLeft -= code.instructionBytes + Self.tableBytes
        guard bytesLeft >= 0 else { return nil }
        let levels = code.levels(at: pc, isReturnAddress: isReturnAddress)
        found[place] = .some(levels)
        return levels
    }
}
