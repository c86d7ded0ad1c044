internal import LagDiagnosis
internal import LagOutput

extension StallRecord {
    /// Sets what groups records: the hashes over a whole stack, also where the record keeps a part of it only.
    package mutating func group(by frames: [Frame]) {
        let print = Fingerprint(
            frames: frames.map {
                Fingerprint.Frame(
                    modulePath: $0.module,
                    buildID: $0.buildID,
                    offset: $0.offset,
                    symbol: $0.symbol,
                    inApp: $0.inApp ?? false
                )
            }
        )
        fingerprint = print.text
        stackHash = print.stackHash
    }
}
