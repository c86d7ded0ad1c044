/// An error in an element of a list in the settings file: a target or a step.
struct ElementError: Equatable {
    /// The member of the element; empty: the element itself.
    let member: String
    let reason: String
    let allowed: String
}
