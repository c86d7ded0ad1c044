/// Why there are no figures.
struct AccuracyFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
