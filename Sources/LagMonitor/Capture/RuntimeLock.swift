/// A lock of a language's runtime, such as CPython's.
package struct RuntimeLock: Sendable, Equatable {
    /// Its address.
    package let address: UInt64
    /// The thread that holds it; 0: none, or not certain.
    package let owner: Int32
    /// How often it has passed from one thread to another: if unchanged, the same thread has held it all the time.
    package let switches: UInt64

    package init(address: UInt64, owner: Int32, switches: UInt64) {
        self.address = address
        self.owner = owner
        self.switches = switches
    }
}
