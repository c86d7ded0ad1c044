/// A frame of a language, without its name.
struct LanguageFrame: Sendable, Hashable {
    /// The runtime's address of the function.
    let code: UInt64
    /// A hash of the data there, so that another function at the same address is not confused with it; 0: nothing to compare.
    var check: UInt64 = 0
    /// The position in the function, in the runtime's unit.
    var position: UInt64 = 0
    /// The address that the record shows.
    let pc: UInt64
    /// Whether it is the runtime's own function, although written in the language.
    var isRuntime = false
    /// Whether, according to the runtime, no code of the program has called it.
    var isOutermost = false
}
