internal import LagDiagnosis
internal import LagOutput

extension StallRecord {
    /// Sets the hashes that group records. They cover the whole stack, even if the record keeps only a part of it. Records
    /// without a stack are grouped by loop, cause, system call and kind of lock.
    /// - Parameter covers: whether a function was on the stack for most of the stall.
    package mutating func group(by frames: [Frame], covers: (Frame) -> Bool = { _ in true }) {
        let known = [loop, cause.rawValue, evidence.syscall, evidence.lockKind?.rawValue]
        let print = Fingerprint(
            frames: frames.withoutCallersOfOwnCode.map { ($0, covers($0)) },
            orElse: known.compactMap { $0 }.joined(separator: " ")
        )
        fingerprint = print.text
        stackHash = print.stackHash
    }
}
