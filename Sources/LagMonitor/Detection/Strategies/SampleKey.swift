/// The top of a stack in one sample: the functions from the leaf on, by their addresses.
package struct SampleKey: Sendable, Equatable {
    /// How many functions from the leaf on can be compared.
    package static let maximumFunctions = 4

    private var functions: (UInt64, UInt64, UInt64, UInt64)

    package init(_ first: UInt64, _ second: UInt64 = 0, _ third: UInt64 = 0, _ fourth: UInt64 = 0) {
        functions = (first, second, third, fourth)
    }

    package static func == (left: SampleKey, right: SampleKey) -> Bool { left.functions == right.functions }
}
