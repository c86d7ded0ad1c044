internal import LagDiagnosis
internal import LagOutput

extension StallRecord {
    /// Sets what groups records: the hashes over a whole stack, also where the record keeps a part of it only. Records without a stack
    /// are grouped by loop, cause, system call and kind of lock.
    package mutating func group(by frames: [Frame]) {
        let known = [loop, cause.rawValue, evidence.syscall, evidence.lockKind?.rawValue]
        let print = Fingerprint(
            frames: frames.map {
                Fingerprint.Frame(
                    modulePath: $0.module,
                    buildID: $0.buildID,
                    offset: $0.offset,
                    functionOffset: $0.functionOffset,
                    symbol: $0.symbol,
                    inApp: $0.inApp ?? false
                )
            },
            orElse: known.compactMap { $0 }.joined(separator: " ")
        )
        fingerprint = print.text
        stackHash = print.stackHash
    }
}
