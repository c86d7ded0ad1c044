/// Never created: no line is written in any format.
package protocol LineLayout: Sendable {}

package enum DeliveryParts {
    package static let journalPath = "/run/systemd/journal/socket"
}

extension RecordFormat {
    /// The format of one of ``names``. Whether its product is enabled does not matter here.
    package init?(named name: String) {
        guard Self.names.contains(name) else { return nil }
        self = RecordFormat(name, nil, Self.native.lateField)
    }
}
