/// A process of which at least one loop is, or was, watched.
package struct WatchedProcess: Sendable {
    package let pid: Int32
    /// When it began, in clock ticks since the machine started: with the pid it names the process, which the pid alone does not.
    package let startTicks: UInt64
    /// As it is in its records.
    package let name: String
    package let loops: [any ForeignLoop]
}
