internal import Foundation

/// A stack like those of real programs: Swift functions with different frame sizes, closures, callbacks from libc, Dispatch.
enum DeepStack {
    /// The number of rounds through the functions below, each with about five frames of Swift and libc.
    private static let rounds = 6

    /// Runs `leaf` at the bottom of the stack.
    @inline(never)
    static func descend(to leaf: () -> Void) {
        withoutActuallyEscaping(leaf) { rung(rounds, $0) }
    }

    @inline(never)
    private static func rung(_ left: Int, _ leaf: @escaping () -> Void) {
        guard left > 0 else { return leaf() }
        keep(left)
        if left == rounds / 2 { return queued(left, leaf) }
        sorted(left, leaf)
        keep(left)
    }

    /// Through libc's `bsearch`, which calls back into Swift.
    @inline(never)
    private static func sorted(_ left: Int, _ leaf: @escaping () -> Void) {
        var next = Next(left: left, leaf: leaf)
        var element = 0
        withUnsafeMutablePointer(to: &next) { next in
            _ = bsearch(next, &element, 1, MemoryLayout<Int>.size) { key, _ in
                DeepStack.buffered(key!.assumingMemoryBound(to: Next.self).pointee)
                return 0
            }
        }
        keep(left)
    }

    private struct Next {
        let left: Int
        let leaf: () -> Void
    }

    /// A frame with a large area on the stack.
    @inline(never)
    private static func buffered(_ next: Next) {
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: 40 + next.left * 8) { room in
            room.initialize(repeating: UInt64(next.left))
            throwing(next)
            keep(Int(room[next.left]))
        }
    }

    /// A frame of a throwing function with many live values.
    @inline(never)
    private static func throwing(_ next: Next) {
        do {
            try mapped(next)
        } catch {
            keep(next.left)
        }
    }

    @inline(never)
    private static func mapped(_ next: Next) throws {
        let results = try [next.left].map { left -> Int in
            guard left > 0 else { throw CancellationError() }
            rung(left - 1, next.leaf)
            return left
        }
        keep(results.count)
    }

    /// Through libdispatch, on this thread.
    @inline(never)
    private static func queued(_ left: Int, _ leaf: @escaping () -> Void) {
        let queue = DispatchQueue(label: "bench")
        queue.sync { sorted(left, leaf) }
        keep(left)
    }

    /// Work after a call, so that the call is not a tail call.
    @inline(never)
    @_optimize(none)
    private static func keep(_ value: Int) {}
}
