/// The reason why a measurement failed.
struct AccuracyFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
