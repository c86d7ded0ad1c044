/// The reason why there is no verdict.
struct DiagnosisFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
