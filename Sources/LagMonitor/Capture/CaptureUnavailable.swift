/// Why stacks cannot be captured in this process at all.
package struct CaptureUnavailable: Error {
    package let reason: String

    package init(reason: String) { self.reason = reason }
}
